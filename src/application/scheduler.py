"""The use cases: `IScheduler` over the stores, as one tenant."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Unpack
from uuid import UUID

from ..domain import lifecycle, runs
from ..domain.definition import TENANT_BOUNDS, amended, check_text, kept_document, validate
from ..domain.errors import Conflict, ExecutionNotFound, InvalidJob, InvalidTransition, JobNotFound
from ..domain.execution import ExecutionStatus, JobExecution
from ..domain.job import DEFAULT_TENANT, JobDefinition, JobStatus, JobType, ScheduledJob
from ..domain.json import Json
from ..domain.ledger import LedgerReport
from ..domain.lifecycle import Moment
from ..domain.plan import JobChange, Plan
from ..domain.runs import ManualRun
from ..domain.timing import read_schedule, type_of
from ..ports.conflicts import OnConflict
from ..ports.dispatcher import Dispatcher
from ..ports.handlers import Handlers
from ..ports.job_options import JobChanges, JobOptions
from ..ports.ledger import LogLine
from ..ports.queries import LIMIT_BOUNDS, ExecutionFilter, JobFilter
from ..ports.reports import Health, JobStatistics, Metrics, Period, Preview
from ..ports.scheduler import IDEMPOTENCY_KEY_BOUNDS, LOG_BOUNDS, Timing
from ..ports.storage import Storage
from ..ports.stores import Page, Worker
from ..ports.telemetry import Telemetry
from .auditing import Auditor
from .batches import BatchRequests
from .changing import Change, Wakers
from .event_requests import EventRequests
from .events import Events
from .known_handlers import KnownHandlers
from .overviews import OverviewRequests
from .planning import Planning
from .previewing import Previews
from .reporting import Reports

_VERSION: Final = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler(BatchRequests, EventRequests, OverviewRequests):
    """
    Implements `IScheduler`: validates, decides in pure code, commits, then dispatches and wakes.

    `for_tenant` gives the same scheduler as another tenant.
    """

    storage: Storage
    planning: Planning
    auditor: Auditor
    events: Events
    dispatcher: Dispatcher
    handlers: Handlers
    health: Callable[[], Awaitable[Health]]
    telemetry: Telemetry
    wakers: Wakers = field(default_factory=Wakers)
    tenant_id: str = DEFAULT_TENANT
    actor: str | None = None

    def for_tenant(self, tenant_id: str, *, actor: str | None = None) -> Scheduler:
        """
        Give a scheduler that sees and makes only this tenant's jobs; `actor` is who its changes are recorded under.

        Raises:
            InvalidJob: the tenant's id has not 1 to 64 characters.
        """
        check_text("tenant_id", tenant_id, TENANT_BOUNDS)
        return replace(self, tenant_id=tenant_id, actor=actor)

    async def schedule(
        self,
        definition: JobDefinition,
        *,
        on_conflict: OnConflict = OnConflict.ERROR,
        enabled: bool = True,
        allow_unknown_handler: bool = False,
    ) -> ScheduledJob:
        """Store a job (`IScheduler.schedule`)."""
        definition = validate(definition)
        await self._check_handler(definition, allow_unknown=allow_unknown_handler)
        if on_conflict is OnConflict.ERROR:
            return await self._add(definition, enabled=enabled)
        refused: tuple[UUID, int] | None = None
        while True:
            existing = await self._holder_of_key(definition)
            try:
                if existing is None:
                    return await self._add(definition, enabled=enabled)
                if on_conflict is OnConflict.KEEP:
                    return existing
                return await self._change(existing.id, lambda job, moment: lifecycle.redefine(job, definition, moment))
            except (Conflict, JobNotFound, InvalidTransition):
                # Whoever has the key may go, or come, between two steps: then the steps are taken again.
                if existing is not None and refused == (existing.id, existing.version):
                    raise
                refused = None if existing is None else (existing.id, existing.version)

    async def _add(self, definition: JobDefinition, *, enabled: bool) -> ScheduledJob:
        moment = self._moments()(await self.storage.jobs.now())
        job = lifecycle.create(definition, moment, tenant_id=self.tenant_id, paused=not enabled)
        added = await self.storage.jobs.add(job)
        self.wakers.timer()
        return added

    async def _holder_of_key(self, definition: JobDefinition) -> ScheduledJob | None:
        if definition.key is None:
            return None
        holding = tuple(status for status in JobStatus if status is not JobStatus.CANCELLED)
        query = JobFilter(key=(definition.key,), handler_name=(definition.handler_name,), status=holding, limit=1)
        return next(iter((await self.storage.jobs.list(self.tenant_id, query)).items), None)

    async def schedule_once(
        self, name: str, *, execute_at: datetime, handler_name: str, **options: Unpack[JobOptions]
    ) -> ScheduledJob:
        """Store a job that fires once (`IScheduler.schedule_once`)."""
        instant = _instant(execute_at)
        definition = JobDefinition(
            name=name, type=JobType.ONE_TIME, schedule=instant, handler_name=handler_name, **options
        )
        return await self.schedule(definition)

    async def schedule_recurring(
        self, name: str, *, schedule: str, handler_name: str, **options: Unpack[JobOptions]
    ) -> ScheduledJob:
        """Store a job that fires by a cron or an interval (`IScheduler.schedule_recurring`)."""
        bounded = options.get("end_date") is not None or options.get("max_executions") is not None
        kind = JobType.RECURRING if bounded else type_of(read_schedule(schedule))
        definition = JobDefinition(name=name, type=kind, schedule=schedule, handler_name=handler_name, **options)
        return await self.schedule(definition)

    async def reschedule(
        self, job_id: UUID, *, schedule: str, timezone: str | None = None, expected_version: int | None = None
    ) -> ScheduledJob:
        """Give a job another schedule (`IScheduler.reschedule`)."""
        kind = type_of(read_schedule(schedule))

        def change(job: ScheduledJob, moment: Moment) -> Plan:
            bounded = job.definition.type is JobType.RECURRING and kind is not JobType.ONE_TIME
            definition = replace(
                job.definition,
                type=JobType.RECURRING if bounded else kind,
                schedule=schedule,
                timezone=job.definition.timezone if timezone is None else timezone,
            )
            return lifecycle.reschedule(job, definition, moment)

        return await self._change(job_id, change, expected_version=expected_version)

    async def unschedule(self, job_id: UUID, *, expected_version: int | None = None) -> None:
        """Delete a job softly (`IScheduler.unschedule`)."""
        await self._change(job_id, lifecycle.delete, expected_version=expected_version)

    async def update_job(
        self, job_id: UUID, *, expected_version: int | None = None, **changes: Unpack[JobChanges]
    ) -> ScheduledJob:
        """Change the named fields of a definition (`IScheduler.update_job`)."""
        current = validate(amended((await self.get_job(job_id)).definition, changes))
        named = {"handler_name", "handler_type"} & changes.keys()
        await self._check_handler(current, allow_unknown=not named)

        def change(job: ScheduledJob, moment: Moment) -> Plan:
            return lifecycle.update(job, amended(job.definition, changes), moment)

        return await self._change(job_id, change, expected_version=expected_version)

    async def get_job(self, job_id: UUID) -> ScheduledJob:
        """Read one job."""
        return await self.storage.jobs.get(self.tenant_id, job_id)

    async def list_jobs(self, query: JobFilter | None = None) -> Page[ScheduledJob]:
        """Read the jobs that match."""
        return await self.storage.jobs.list(self.tenant_id, query or JobFilter())

    async def pause_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """Stop new fires."""
        return await self._change(job_id, lifecycle.pause, expected_version=expected_version)

    async def resume_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """Fire again from now on."""
        return await self._change(job_id, lifecycle.resume, expected_version=expected_version)

    async def cancel_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """End a job for good."""
        return await self._change(job_id, lifecycle.cancel, expected_version=expected_version)

    async def trigger_job(
        self, job_id: UUID, *, payload: Json = None, idempotency_key: str | None = None
    ) -> JobExecution:
        """Run a job now, beside its schedule (`IScheduler.trigger_job`)."""
        if idempotency_key is not None:
            check_text("idempotency_key", idempotency_key, IDEMPOTENCY_KEY_BOUNDS)
        if payload is not None:
            payload = kept_document("payload", payload)
            definition = (await self.get_job(job_id)).definition
            await self._check_handler(replace(definition, payload=payload), allow_unknown=True)
        run = ManualRun(payload=payload, idempotency_key=idempotency_key)
        return await self._run(
            job_id, lambda job, moment: runs.trigger(job, moment, run), idempotency_key=idempotency_key
        )

    async def retry_job(self, job_id: UUID) -> JobExecution:
        """Retry the newest execution of a job (`IScheduler.retry_job`)."""
        await self.get_job(job_id)
        ran = tuple(status for status in ExecutionStatus if status is not ExecutionStatus.SKIPPED)
        newest = await self.storage.executions.list(self.tenant_id, ExecutionFilter(job_id=job_id, status=ran, limit=1))
        if not newest.items:
            raise ExecutionNotFound(f"of job {job_id} that could be retried")
        return await self._retry(newest.items[0])

    async def retry_execution(self, execution_id: UUID) -> JobExecution:
        """Run a failed or timed-out execution again (`IScheduler.retry_execution`)."""
        return await self._retry(await self.get_execution(execution_id))

    async def _retry(self, failed: JobExecution) -> JobExecution:
        return await self._run(failed.job_id, lambda job, moment: runs.retry(job, failed, moment))

    async def preview(self, subject: Timing | UUID, *, after: datetime | None = None, count: int = 10) -> Preview:
        """Show the next fires (`IScheduler.preview`)."""
        start = after or await self.storage.jobs.now()
        previews = Previews(self.planning)
        if isinstance(subject, UUID):
            return previews.of_job(await self.get_job(subject), after=start, count=count)
        return previews.of_timing(subject, after=start, count=count)

    async def get_job_history(self, job_id: UUID, query: ExecutionFilter | None = None) -> Page[JobExecution]:
        """Read the executions of one job."""
        await self.get_job(job_id)
        return await self.list_executions(replace(query or ExecutionFilter(), job_id=job_id))

    async def get_job_changes(self, job_id: UUID, *, limit: int = 50, cursor: str | None = None) -> Page[JobChange]:
        """Read the recorded versions of a job (`IScheduler.get_job_changes`)."""
        lowest, highest = LIMIT_BOUNDS
        if not lowest <= limit <= highest:
            raise InvalidJob.of("limit", f"must be between {lowest} and {highest}")
        if cursor is not None and not _VERSION.fullmatch(cursor):
            raise InvalidJob.of("cursor", "is not a cursor of this list")
        before = None if cursor is None else int(cursor)
        return await self.storage.jobs.versions(self.tenant_id, job_id, limit=limit, before_version=before)

    async def verify_ledger(
        self, job_id: UUID, *, since: datetime | None = None, until: datetime | None = None
    ) -> LedgerReport:
        """Account for every nominal time of a job in a window (`IScheduler.verify_ledger`)."""
        return await self.auditor.verify(self.storage.jobs, self.tenant_id, job_id, since=since, until=until)

    async def list_executions(self, query: ExecutionFilter | None = None) -> Page[JobExecution]:
        """Read executions of all jobs."""
        return await self.storage.executions.list(self.tenant_id, query or ExecutionFilter())

    async def get_execution(self, execution_id: UUID) -> JobExecution:
        """Read one execution."""
        return await self.storage.executions.get(self.tenant_id, execution_id)

    async def get_execution_logs(self, execution_id: UUID, *, after: int = 0, limit: int = 250) -> Page[LogLine]:
        """Read what the handler logged."""
        lowest, highest = LOG_BOUNDS
        if not lowest <= limit <= highest:
            raise InvalidJob.of("limit", f"must be between {lowest} and {highest}")
        if after < 0:
            raise InvalidJob.of("after", "must be 0 or more")
        return await self.storage.executions.logs(self.tenant_id, execution_id, after=after, limit=limit)

    async def cancel_execution(self, execution_id: UUID) -> JobExecution:
        """End one pending or running execution."""
        changed = await self.storage.executions.cancel(self.tenant_id, execution_id)
        await self._tell(changed)
        return await self.get_execution(execution_id)

    async def list_workers(self) -> Sequence[Worker]:
        """Read the nodes."""
        return await self.storage.workers.list()

    async def drain_worker(self, worker_id: str) -> Worker:
        """Have a node take no more work (`IScheduler.drain_worker`)."""
        return await self._ask_worker(worker_id, drain=True)

    async def resume_worker(self, worker_id: str) -> Worker:
        """Have a node take work again."""
        return await self._ask_worker(worker_id, drain=False)

    async def _ask_worker(self, worker_id: str, *, drain: bool) -> Worker:
        for worker in await self.storage.workers.list():
            if worker.id == worker_id and worker.is_gone:
                raise InvalidTransition("worker", worker.status, "drained" if drain else "live")
        asked = await self.storage.workers.drain(worker_id, requested=drain)
        # If it is this very node it need not wait for its next beat; if not, one beat more does no harm.
        self.wakers.registration()
        return asked

    async def get_job_stats(self, job_id: UUID) -> JobStatistics:
        """Add up one job's stored executions."""
        return await Reports(self.storage, self.tenant_id).job(await self.get_job(job_id))

    async def get_metrics(self, period: Period = Period.DAY) -> Metrics:
        """Add up this tenant's executions over a period."""
        return await Reports(self.storage, self.tenant_id).metrics(period)

    async def health_check(self) -> Health:
        """Say how this node is doing."""
        return await self.health()

    async def _change(self, job_id: UUID, change: Change, *, expected_version: int | None = None) -> ScheduledJob:
        plans = self._noted(change)
        changed = await self.storage.jobs.change(self.tenant_id, job_id, plans, expected_version=expected_version)
        await self._tell(changed, plans)
        return changed.job

    async def _run(self, job_id: UUID, change: Change, *, idempotency_key: str | None = None) -> JobExecution:
        plans = self._noted(change)
        changed = await self.storage.jobs.change(self.tenant_id, job_id, plans, idempotency_key=idempotency_key)
        await self._tell(changed, plans)
        if changed.execution is None:
            raise ExecutionNotFound(f"made for job {job_id}")
        return changed.execution

    async def _check_handler(self, definition: JobDefinition, *, allow_unknown: bool) -> None:
        known = KnownHandlers(handlers=self.handlers, storage=self.storage)
        await known.check(definition, allow_unknown=allow_unknown)


def _instant(at: datetime) -> str:
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise InvalidJob.of("execute_at", "must be a datetime with a UTC offset")
    return at.astimezone(UTC).isoformat()
