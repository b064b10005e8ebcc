"""The client's requests about jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Unpack
from uuid import UUID

from ...domain.errors import InvalidInput, InvalidJob
from ...domain.execution import JobExecution
from ...domain.job import JobDefinition, JobType, OverlapPolicy, ScheduledJob
from ...domain.json import Json
from ...domain.ledger import LedgerReport
from ...domain.plan import JobChange
from ...domain.timing import read_schedule, type_of
from ...ports.conflicts import OnConflict
from ...ports.job_options import JobChanges, JobOptions
from ...ports.queries import ExecutionFilter, JobFilter
from ...ports.reports import JobStatistics, Preview
from ...ports.scheduler import Timing
from ...ports.stores import Page
from .client_words import definition_document, named, text, written
from .transport import Transport
from .wire.executions import ExecutionOut
from .wire.fields import written_instant
from .wire.fleet import StatsOut
from .wire.jobs import JobOut
from .wire.ledger import JobChangeOut, LedgerOut
from .wire.pages import ChangePage, ExecutionPage, JobPage, read_page
from .wire.schedules import PreviewOut


class JobRequests:
    """The part of `IScheduler` that is about jobs."""

    _transport: Transport

    async def schedule(
        self,
        definition: JobDefinition,
        *,
        on_conflict: OnConflict = OnConflict.ERROR,
        enabled: bool = True,
        allow_unknown_handler: bool = False,
    ) -> ScheduledJob:
        """Store a job (`IScheduler.schedule`)."""
        how = {"enabled": enabled, "allow_unknown_handler": allow_unknown_handler}
        body = definition_document(definition) | how
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
        body = {name: written(name, value) for name, value in changes.items()}
        if (body.get("overlap_policy"), body.get("concurrency")) == (OverlapPolicy.ALLOW_ALL, 1):
            del body["concurrency"]
        return await self._change("PATCH", f"/jobs/{job_id}", expected_version, body)

    async def get_job(self, job_id: UUID) -> ScheduledJob:
        """Read one job."""
        return (await self._transport.ask(JobOut, "GET", f"/jobs/{job_id}")).value()

    async def list_jobs(self, query: JobFilter | None = None) -> Page[ScheduledJob]:
        """Read the jobs that match."""
        shown = await self._transport.ask(JobPage, "GET", "/jobs", query=named(query))
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
            query = [("count", str(count)), *([("after", text(after))] if after else [])]
            shown = await self._transport.ask(PreviewOut, "GET", f"/jobs/{subject}/preview", query=query)
        else:
            timing = {field.name: written(field.name, getattr(subject, field.name)) for field in fields(Timing)}
            body = timing | {"after": written("after", after), "count": count}
            shown = await self._transport.ask(PreviewOut, "POST", "/schedules/preview", body=body)
        return shown.value()

    async def get_job_history(self, job_id: UUID, query: ExecutionFilter | None = None) -> Page[JobExecution]:
        """Read the executions of one job."""
        conditions = [(name, value) for name, value in named(query) if name != "job_id"]
        shown = await self._transport.ask(ExecutionPage, "GET", f"/jobs/{job_id}/executions", query=conditions)
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

    async def get_job_stats(self, job_id: UUID) -> JobStatistics:
        """Add up one job's stored executions."""
        return (await self._transport.ask(StatsOut, "GET", f"/jobs/{job_id}/stats")).value()

    async def _change(
        self, method: str, path: str, version: int | None, body: Mapping[str, Json] | None = None
    ) -> ScheduledJob:
        return (await self._transport.ask(JobOut, method, path, body=body, version=version)).value()

    async def _run(self, path: str, body: Mapping[str, Json] | None = None) -> JobExecution:
        return (await self._transport.ask(ExecutionOut, "POST", path, body=body)).value()
