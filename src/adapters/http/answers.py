"""What endpoints answer with."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from aiohttp import web

from ...domain.execution import JobExecution
from ...domain.job import ScheduledJob
from .etag import entity_tag
from .wire import BASE
from .wire.executions import ExecutionOut
from .wire.jobs import JobOut
from .wire.model import Output


def json_answer(
    shown: Output, *, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Answer a JSON document."""
    body = shown.model_dump_json().encode()
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


def job_answer(job: ScheduledJob, *, status: int = HTTPStatus.OK) -> web.Response:
    """Answer a job under its version as entity tag."""
    headers = {"ETag": entity_tag(job.version)}
    if status == HTTPStatus.CREATED:
        headers["Location"] = f"{BASE}/jobs/{job.id}"
    return json_answer(JobOut.of(job), status=status, headers=headers)


def execution_answer(execution: JobExecution, status: HTTPStatus) -> web.Response:
    """Answer an execution that a request made."""
    headers = {"Location": f"{BASE}/executions/{execution.id}"}
    return json_answer(ExecutionOut.of(execution), status=status, headers=headers)
