"""What may be done to executions."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from .answers import execution_answer, json_answer
from .endpoint import Call, Section, endpoint
from .wire import BASE
from .wire.executions import ExecutionOut, LogLineOut
from .wire.model import Nothing
from .wire.pages import ExecutionPage, LogPage, page_of
from .wire.queries import ExecutionQuery, LogQuery

_EXECUTION: Final = f"{BASE}/executions/{{execution_id}}"


@endpoint("GET", f"{BASE}/executions", {200: ExecutionPage})
async def list_executions(call: Call[ExecutionQuery, Nothing]) -> web.Response:
    """List executions of all jobs, deleted ones included, newest nominal time first."""
    page = await call.scheduler.list_executions(call.query.filter())
    return json_answer(page_of(ExecutionPage, page, ExecutionOut.of))


@endpoint("GET", _EXECUTION, {200: ExecutionOut})
async def get_execution(call: Call[Nothing, Nothing]) -> web.Response:
    """Read an execution."""
    return json_answer(ExecutionOut.of(await call.scheduler.get_execution(call.execution_id)))


@endpoint("GET", f"{_EXECUTION}/logs", {200: LogPage})
async def get_execution_logs(call: Call[LogQuery, Nothing]) -> web.Response:
    """Read what an execution logged, past its first lines."""
    page = await call.scheduler.get_execution_logs(call.execution_id, after=call.query.after, limit=call.query.limit)
    return json_answer(page_of(LogPage, page, LogLineOut.of))


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
