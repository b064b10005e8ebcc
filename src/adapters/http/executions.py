"""What may be done to executions."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Final
from uuid import UUID

from aiohttp import web

from ...domain.json import encoded
from ...ports.scheduler import IScheduler
from .answers import execution_answer, json_answer
from .endpoint import Call, Section, endpoint
from .streams import EVENT_STREAM, LAST_EVENT_ID, STREAMS, Message
from .wire import BASE
from .wire.executions import ExecutionOut, LogLineOut
from .wire.model import Nothing
from .wire.pages import ExecutionPage, LogPage, page_of
from .wire.queries import ExecutionQuery, LogQuery

_EXECUTION: Final = f"{BASE}/executions/{{execution_id}}"
_NUMBER: Final = re.compile(r"[0-9]{1,15}")


@endpoint("GET", f"{BASE}/executions", {200: ExecutionPage})
async def list_executions(call: Call[ExecutionQuery, Nothing]) -> web.Response:
    """List executions of all jobs, deleted ones included, newest nominal time first."""
    page = await call.scheduler.list_executions(call.query.filter())
    return json_answer(page_of(ExecutionPage, page, ExecutionOut.of))


@endpoint("GET", _EXECUTION, {200: ExecutionOut})
async def get_execution(call: Call[Nothing, Nothing]) -> web.Response:
    """Read an execution."""
    return json_answer(ExecutionOut.of(await call.scheduler.get_execution(call.execution_id)))


@endpoint(
    "GET",
    f"{_EXECUTION}/logs",
    {200: (LogPage, EVENT_STREAM)},
    headers={LAST_EVENT_ID: "Follow behind this line."},
)
async def get_execution_logs(call: Call[LogQuery, Nothing]) -> web.StreamResponse:
    """
    Read what an execution logged, past its first lines.

    With `follow`, or if an event stream is what is accepted, it is sent as it comes: each line is a message `line` with
    its number as id, and a message `end` tells how the execution stands.
    """
    if call.query.follow or call.request.headers.get("Accept", "").strip().startswith(EVENT_STREAM):
        execution_id = (await call.scheduler.get_execution(call.execution_id)).id
        messages = _followed(call.scheduler, execution_id, after=_line(call))
        return await call.request.app[STREAMS].answer(call.request, messages)
    page = await call.scheduler.get_execution_logs(call.execution_id, after=call.query.after, limit=call.query.limit)
    return json_answer(page_of(LogPage, page, LogLineOut.of))


def _line(call: Call[LogQuery, Nothing]) -> int:
    """Give the number of the line to go on behind; what no line has as its id counts for nothing."""
    named = call.request.headers.get(LAST_EVENT_ID, "")
    return int(named) if _NUMBER.fullmatch(named) else call.query.after


async def _followed(scheduler: IScheduler, execution_id: UUID, *, after: int) -> AsyncGenerator[Message, None]:
    number = after
    async for line in scheduler.follow_execution_logs(execution_id, after=after):
        number += 1
        yield Message(id=str(number), event="line", data=LogLineOut.of(line).model_dump_json())
    execution = await scheduler.get_execution(execution_id)
    yield Message(event="end", data=encoded({"status": execution.status.value}))


@endpoint("POST", f"{_EXECUTION}/cancel", {200: ExecutionOut}, conflicts=True)
async def cancel_execution(call: Call[Nothing, Nothing]) -> web.Response:
    """End one pending or running execution."""
    return json_answer(ExecutionOut.of(await call.scheduler.cancel_execution(call.execution_id)))


@endpoint("POST", f"{_EXECUTION}/retry", {201: ExecutionOut}, conflicts=True)
async def retry_execution(call: Call[Nothing, Nothing]) -> web.Response:
    """Run a failed or timed-out execution again, as a new one."""
    return execution_answer(await call.scheduler.retry_execution(call.execution_id), HTTPStatus.CREATED)


EXECUTIONS: Final = Section(
    name="Executions", endpoints=(list_executions, get_execution, get_execution_logs, cancel_execution, retry_execution)
)
