"""What may be done to jobs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from ...domain.errors import FieldError, InvalidInput
from ...domain.job import JobStatus
from ...ports.conflicts import OnConflict
from ...ports.queries import JobFilter
from .answers import execution_answer, job_answer, json_answer
from .endpoint import Call, Section, endpoint
from .wire import BASE
from .wire.executions import ExecutionOut, TriggerIn
from .wire.fleet import StatsOut
from .wire.jobs import JobIn, JobOut, JobPatch, ScheduleIn
from .wire.ledger import JobChangeOut, LedgerOut
from .wire.model import Nothing
from .wire.pages import ChangePage, ExecutionPage, JobPage, page_of
from .wire.queries import ChangeQuery, ConflictQuery, HistoryQuery, JobQuery, LedgerQuery, PreviewQuery
from .wire.schedules import PreviewOut

_JOB: Final = f"{BASE}/jobs/{{job_id}}"


@endpoint("POST", f"{BASE}/jobs", {201: JobOut, 200: JobOut}, conflicts=True)
async def create_job(call: Call[ConflictQuery, JobIn]) -> web.Response:
    """Store a job; 200 when one with its key was replaced or kept."""
    definition = call.body.definition()
    on_conflict = call.query.on_conflict
    existing = set()
    if on_conflict is not OnConflict.ERROR and definition.key is not None:
        query = JobFilter(key=(definition.key,), handler_name=(definition.handler_name,), status=_HOLDING_A_KEY)
        existing = {job.id for job in (await call.scheduler.list_jobs(query)).items}
    job = await call.scheduler.schedule(
        definition,
        on_conflict=on_conflict,
        enabled=call.body.enabled,
        allow_unknown_handler=call.body.allow_unknown_handler,
    )
    return job_answer(job, status=HTTPStatus.OK if job.id in existing else HTTPStatus.CREATED)


_HOLDING_A_KEY: Final = tuple(status for status in JobStatus if status is not JobStatus.CANCELLED)


@endpoint("GET", f"{BASE}/jobs", {200: JobPage})
async def list_jobs(call: Call[JobQuery, Nothing]) -> web.Response:
    """List jobs, newest first unless asked otherwise."""
    page = await call.scheduler.list_jobs(call.query.filter())
    return json_answer(page_of(JobPage, page, JobOut.of))


@endpoint("GET", _JOB, {200: JobOut})
async def get_job(call: Call[Nothing, Nothing]) -> web.Response:
    """Read a job."""
    return job_answer(await call.scheduler.get_job(call.job_id))


@endpoint("PATCH", _JOB, {200: JobOut}, conflicts=True, versioned=True)
async def update_job(call: Call[Nothing, JobPatch]) -> web.Response:
    """Change the named fields of a job's definition."""
    job = await call.scheduler.update_job(call.job_id, expected_version=call.expected_version, **call.body.changes())
    return job_answer(job)


@endpoint("DELETE", _JOB, {204: None}, versioned=True)
async def delete_job(call: Call[Nothing, Nothing]) -> web.Response:
    """Delete a job and cancel what of it is pending or running; its executions stay until retention."""
    await call.scheduler.unschedule(call.job_id, expected_version=call.expected_version)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@endpoint("PUT", f"{_JOB}/schedule", {200: JobOut}, conflicts=True, versioned=True)
async def reschedule_job(call: Call[Nothing, ScheduleIn]) -> web.Response:
    """Give a job another schedule; a completed or failed one becomes active again."""
    job = await call.scheduler.reschedule(
        call.job_id,
        schedule=call.body.schedule,
        timezone=call.body.timezone,
        expected_version=call.expected_version,
    )
    return job_answer(job)


@endpoint("POST", f"{_JOB}/pause", {200: JobOut}, conflicts=True, versioned=True)
async def pause_job(call: Call[Nothing, Nothing]) -> web.Response:
    """Stop new fires of an active job."""
    return job_answer(await call.scheduler.pause_job(call.job_id, expected_version=call.expected_version))


@endpoint("POST", f"{_JOB}/resume", {200: JobOut}, conflicts=True, versioned=True)
async def resume_job(call: Call[Nothing, Nothing]) -> web.Response:
    """Let a paused job fire again from now on."""
    return job_answer(await call.scheduler.resume_job(call.job_id, expected_version=call.expected_version))


@endpoint("POST", f"{_JOB}/cancel", {200: JobOut}, conflicts=True, versioned=True)
async def cancel_job(call: Call[Nothing, Nothing]) -> web.Response:
    """End a job for good, with what of it is pending or running."""
    return job_answer(await call.scheduler.cancel_job(call.job_id, expected_version=call.expected_version))


@endpoint("POST", f"{_JOB}/trigger", {202: ExecutionOut}, conflicts=True)
async def trigger_job(call: Call[Nothing, TriggerIn]) -> web.Response:
    """Run a job now, beside its schedule; the same idempotency key answers the first execution again."""
    execution = await call.scheduler.trigger_job(
        call.job_id, payload=call.body.payload, idempotency_key=call.body.idempotency_key
    )
    return execution_answer(execution, HTTPStatus.ACCEPTED)


@endpoint("POST", f"{_JOB}/retry", {201: ExecutionOut}, conflicts=True)
async def retry_job(call: Call[Nothing, Nothing]) -> web.Response:
    """Retry a job's newest execution, if it failed or timed out."""
    return execution_answer(await call.scheduler.retry_job(call.job_id), HTTPStatus.CREATED)


@endpoint("GET", f"{_JOB}/executions", {200: ExecutionPage})
async def list_job_executions(call: Call[HistoryQuery, Nothing]) -> web.Response:
    """List a job's executions, newest nominal time first."""
    page = await call.scheduler.get_job_history(call.job_id, call.query.filter())
    return json_answer(page_of(ExecutionPage, page, ExecutionOut.of))


@endpoint("GET", f"{_JOB}/changes", {200: ChangePage})
async def list_job_changes(call: Call[ChangeQuery, Nothing]) -> web.Response:
    """List who changed a job, when and to what, newest first; also of a deleted job, until retention removes it."""
    page = await call.scheduler.get_job_changes(call.job_id, limit=call.query.limit, cursor=call.query.cursor)
    return json_answer(page_of(ChangePage, page, JobChangeOut.of))


@endpoint("GET", f"{_JOB}/ledger", {200: LedgerOut})
async def verify_job_ledger(call: Call[LedgerQuery, Nothing]) -> web.Response:
    """Account for every nominal time of a job in a window, and list what is missing, doubled, early or unexplained."""
    try:
        report = await call.scheduler.verify_ledger(call.job_id, since=call.query.since, until=call.query.until)
    except InvalidInput as error:
        named = {name: field.alias for name, field in LedgerQuery.model_fields.items()}
        errors = [FieldError(named.get(each.field) or each.field, each.message) for each in error.errors]
        raise InvalidInput(errors) from None
    return json_answer(LedgerOut.of(report))


@endpoint("GET", f"{_JOB}/stats", {200: StatsOut})
async def get_job_stats(call: Call[Nothing, Nothing]) -> web.Response:
    """Add up a job's stored executions."""
    return json_answer(StatsOut.of(await call.scheduler.get_job_stats(call.job_id)))


@endpoint("GET", f"{_JOB}/preview", {200: PreviewOut})
async def preview_job(call: Call[PreviewQuery, Nothing]) -> web.Response:
    """Show a job's next fires."""
    preview = await call.scheduler.preview(call.job_id, after=call.query.after, count=call.query.count)
    return json_answer(PreviewOut.of(preview))


JOBS: Final = Section(
    name="Jobs",
    endpoints=(
        create_job,
        list_jobs,
        get_job,
        update_job,
        delete_job,
        reschedule_job,
        pause_job,
        resume_job,
        cancel_job,
        trigger_job,
        retry_job,
        list_job_executions,
        list_job_changes,
        verify_job_ledger,
        get_job_stats,
        preview_job,
    ),
)
