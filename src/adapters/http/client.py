"""The client: `IScheduler` against a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self, Unpack
from urllib.parse import quote
from uuid import UUID

from aiohttp import ClientSession

from ...domain.definition import document, validate
from ...domain.errors import InvalidInput, InvalidJob, WorkerNotFound
from ...domain.execution import JobExecution
from ...domain.job import JobDefinition, JobType, OverlapPolicy, ScheduledJob
from ...domain.json import Json
from ...domain.ledger import LedgerReport
from ...domain.plan import JobChange
from ...domain.timing import read_schedule, type_of
from ...ports.ledger import LogLine
from ...ports.queries import ExecutionFilter, JobFilter
from ...ports.reports import Health, JobStatistics, Metrics, Period, Preview
from ...ports.scheduler import JobChanges, JobOptions, OnConflict, Timing
from ...ports.stores import Page, Worker
from .transport import TOTAL_SECONDS, Transport
from .wire.executions import ExecutionOut, LogLineOut
from .wire.fields import written_instant
from .wire.fleet import HealthOut, MetricsOut, StatsOut, WorkerOut
from .wire.jobs import JobOut
from .wire.ledger import JobChangeOut, LedgerOut
from .wire.pages import ChangePage, ExecutionPage, JobPage, LogPage, WorkerPage, read_page
from .wire.schedules import PreviewOut

_NO_SEGMENTS: Final = frozenset({"", ".", ".."})
"""What no path can carry as a name; no worker is called so."""


class HttpScheduler:
    """
    Implements `IScheduler` over HTTP: same arguments, same values, same errors.

    What the API does not show of a value has its default there (`JobOut.value`, `ExecutionOut.value`).
    Beside the port's errors a call raises ServerUnreachable, a StoreUnavailable, when nobody answers.

    Raises (construction):
        InvalidInput: `base_url` is no http or https address.
    """

    def __init__(
        self, base_url: str, *, session: ClientSession | None = None, total_seconds: float = TOTAL_SECONDS
    ) -> None:
        self._transport = Transport(base_url, session=session, total_seconds=total_seconds)

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection pool."""
        await self._transport.__aexit__(kind, error, trace)

    async def schedule(
        self,
        definition: JobDefinition,
        *,
        on_conflict: OnConflict = OnConflict.ERROR,
        enabled: bool = True,
        allow_unknown_handler: bool = False,
    ) -> ScheduledJob:
        """Store a job (`IScheduler.schedule`)."""
        validate(definition)
        body = document(definition) | {"enabled": enabled, "allow_unknown_handler": allow_unknown_handler}
        if definition.overlap_policy is OverlapPolicy.ALLOW_ALL:
            del body["concurrency"]
        query = [("on_conflict", on_conflict.value)]
        return (await self._transport.ask(JobOut, "POST", "/jobs", query=query, body=body)).value()

    async def schedule_once(
        self, name: str, *, execute_at: datetime, handler_name: str, **options: Unpack[JobOptions]
    ) -> ScheduledJob:
        """Store a job that fires once (`IScheduler.schedule_once`)."""
        if execute_at.tzinfo is None:
            raise InvalidJob.of("execute_at", "must have a UTC offset")
        instant = written_instant(execute_at)
        return await self.schedule(
            JobDefinition(name=name, type=JobType.ONE_TIME, schedule=instant, handler_name=handler_name, **options)
        )

    async def schedule_recurring(
        self, name: str, *, schedule: str, handler_name: str, **options: Unpack[JobOptions]
    ) -> ScheduledJob:
        """Store a job that fires by a cron or an interval (`IScheduler.schedule_recurring`)."""
        bounded = options.get("end_date") is not None or options.get("max_executions") is not None
        kind = JobType.RECURRING if bounded else type_of(read_schedule(schedule))
        return await self.schedule(
            JobDefinition(name=name, type=kind, schedule=schedule, handler_name=handler_name, **options)
        )

    async def reschedule(
        self, job_id: UUID, *, schedule: str, timezone: str | None = None, expected_version: int | None = None
    ) -> ScheduledJob:
        """Give a job another schedule (`IScheduler.reschedule`)."""
        body: dict[str, Json] = {"schedule": schedule, "timezone": timezone}
        return await self._change("PUT", f"/jobs/{job_id}/schedule", expected_version, body)

    async def unschedule(self, job_id: UUID, *, expected_version: int | None = None) -> None:
        """Delete a job softly (`IScheduler.unschedule`)."""
        await self._transport.tell("DELETE", f"/jobs/{job_id}", version=expected_version)

    async def update_job(
        self, job_id: UUID, *, expected_version: int | None = None, **changes: Unpack[JobChanges]
    ) -> ScheduledJob:
        """Change the named fields of a definition (`IScheduler.update_job`)."""
        body = {name: _written(name, value) for name, value in changes.items()}
        if (body.get("overlap_policy"), body.get("concurrency")) == (OverlapPolicy.ALLOW_ALL, 1):
            del body["concurrency"]
        return await self._change("PATCH", f"/jobs/{job_id}", expected_version, body)

    async def get_job(self, job_id: UUID) -> ScheduledJob:
        """Read one job."""
        return (await self._transport.ask(JobOut, "GET", f"/jobs/{job_id}")).value()

    async def list_jobs(self, query: JobFilter | None = None) -> Page[ScheduledJob]:
        """Read the jobs that match."""
        shown = await self._transport.ask(JobPage, "GET", "/jobs", query=_named(query))
        return read_page(shown, JobOut.value)

    async def pause_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """Stop new fires."""
        return await self._change("POST", f"/jobs/{job_id}/pause", expected_version)

    async def resume_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """Fire again from now on."""
        return await self._change("POST", f"/jobs/{job_id}/resume", expected_version)

    async def cancel_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """End a job for good."""
        return await self._change("POST", f"/jobs/{job_id}/cancel", expected_version)

    async def trigger_job(
        self, job_id: UUID, *, payload: Json = None, idempotency_key: str | None = None
    ) -> JobExecution:
        """Run a job now, beside its schedule (`IScheduler.trigger_job`)."""
        return await self._run(f"/jobs/{job_id}/trigger", {"payload": payload, "idempotency_key": idempotency_key})

    async def retry_job(self, job_id: UUID) -> JobExecution:
        """Retry the newest execution of a job (`IScheduler.retry_job`)."""
        return await self._run(f"/jobs/{job_id}/retry")

    async def preview(self, subject: Timing | UUID, *, after: datetime | None = None, count: int = 10) -> Preview:
        """Show the next fires (`IScheduler.preview`)."""
        if isinstance(subject, UUID):
            query = [("count", str(count)), *([("after", _text(after))] if after else [])]
            shown = await self._transport.ask(PreviewOut, "GET", f"/jobs/{subject}/preview", query=query)
        else:
            timing = {field.name: _written(field.name, getattr(subject, field.name)) for field in fields(Timing)}
            body = timing | {"after": _written("after", after), "count": count}
            shown = await self._transport.ask(PreviewOut, "POST", "/schedules/preview", body=body)
        return shown.value()

    async def get_job_history(self, job_id: UUID, query: ExecutionFilter | None = None) -> Page[JobExecution]:
        """Read the executions of one job."""
        named = [(name, value) for name, value in _named(query) if name != "job_id"]
        shown = await self._transport.ask(ExecutionPage, "GET", f"/jobs/{job_id}/executions", query=named)
        return read_page(shown, ExecutionOut.value)

    async def get_job_changes(self, job_id: UUID, *, limit: int = 50, cursor: str | None = None) -> Page[JobChange]:
        """Read who changed a job, when and to what (`IScheduler.get_job_changes`)."""
        query = [("limit", str(limit)), *([("cursor", cursor)] if cursor is not None else [])]
        shown = await self._transport.ask(ChangePage, "GET", f"/jobs/{job_id}/changes", query=query)
        return read_page(shown, JobChangeOut.value)

    async def verify_ledger(
        self, job_id: UUID, *, since: datetime | None = None, until: datetime | None = None
    ) -> LedgerReport:
        """Account for every nominal time of a job in a window (`IScheduler.verify_ledger`)."""
        bounds = (("from", "since", since), ("to", "until", until))
        for _, field, at in bounds:
            if at is not None and at.tzinfo is None:
                raise InvalidInput.of(field, "must have a UTC offset")
        query = [(name, written_instant(at)) for name, _, at in bounds if at is not None]
        return (await self._transport.ask(LedgerOut, "GET", f"/jobs/{job_id}/ledger", query=query)).value()

    async def list_executions(self, query: ExecutionFilter | None = None) -> Page[JobExecution]:
        """Read executions of all jobs."""
        shown = await self._transport.ask(ExecutionPage, "GET", "/executions", query=_named(query))
        return read_page(shown, ExecutionOut.value)

    async def get_execution(self, execution_id: UUID) -> JobExecution:
        """Read one execution."""
        return (await self._transport.ask(ExecutionOut, "GET", f"/executions/{execution_id}")).value()

    async def get_execution_logs(self, execution_id: UUID, *, after: int = 0, limit: int = 250) -> Page[LogLine]:
        """Read what the handler logged."""
        query = [("after", str(after)), ("limit", str(limit))]
        shown = await self._transport.ask(LogPage, "GET", f"/executions/{execution_id}/logs", query=query)
        return read_page(shown, LogLineOut.value)

    async def cancel_execution(self, execution_id: UUID) -> JobExecution:
        """End one pending or running execution."""
        return await self._run(f"/executions/{execution_id}/cancel")

    async def retry_execution(self, execution_id: UUID) -> JobExecution:
        """Run a failed or timed-out execution again (`IScheduler.retry_execution`)."""
        return await self._run(f"/executions/{execution_id}/retry")

    async def list_workers(self) -> Sequence[Worker]:
        """Read the nodes."""
        shown = await self._transport.ask(WorkerPage, "GET", "/workers")
        return [worker.value() for worker in shown.items]

    async def drain_worker(self, worker_id: str) -> Worker:
        """Have a node take no more work (`IScheduler.drain_worker`)."""
        return await self._ask_worker(worker_id, "drain")

    async def resume_worker(self, worker_id: str) -> Worker:
        """Have a node take work again."""
        return await self._ask_worker(worker_id, "resume")

    async def get_job_stats(self, job_id: UUID) -> JobStatistics:
        """Add up one job's stored executions."""
        return (await self._transport.ask(StatsOut, "GET", f"/jobs/{job_id}/stats")).value()

    async def get_metrics(self, period: Period = Period.DAY) -> Metrics:
        """Add up this tenant's executions over a period."""
        query = [("period", period.value)]
        return (await self._transport.ask(MetricsOut, "GET", "/scheduler/metrics", query=query)).value()

    async def health_check(self) -> Health:
        """Say how the node that answers is doing."""
        return (await self._transport.ask(HealthOut, "GET", "/scheduler/health", also={503})).value()

    async def _change(
        self, method: str, path: str, version: int | None, body: Mapping[str, Json] | None = None
    ) -> ScheduledJob:
        return (await self._transport.ask(JobOut, method, path, body=body, version=version)).value()

    async def _ask_worker(self, worker_id: str, action: str) -> Worker:
        if worker_id in _NO_SEGMENTS:
            raise WorkerNotFound(worker_id)
        path = f"/workers/{quote(worker_id, safe='')}/{action}"
        return (await self._transport.ask(WorkerOut, "POST", path)).value()

    async def _run(self, path: str, body: Mapping[str, Json] | None = None) -> JobExecution:
        return (await self._transport.ask(ExecutionOut, "POST", path, body=body)).value()


def _named(query: JobFilter | ExecutionFilter | None) -> Iterator[tuple[str, str]]:
    """List what a filter names; a condition with several values is named once for each."""
    for field in fields(query) if query else ():
        value = getattr(query, field.name)
        if value is None or value == field.default:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            yield field.name, _text(each)


def _text(value: object) -> str:
    return written_instant(value) if isinstance(value, datetime) else str(value)


def _written(name: str, value: Any) -> Json:  # noqa: ANN401 - the values of a definition's fields
    if not isinstance(value, datetime):
        plain: Json = value
        return plain
    if value.tzinfo is None:
        raise InvalidJob.of(name, "must have a UTC offset")
    return written_instant(value)
