"""The port through which every caller drives Tocsin: in process, over HTTP, from the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, Unpack
from uuid import UUID

from ..domain.event import Event, EventHandler, EventHandlerDefinition, NewEvent
from ..domain.execution import JobExecution
from ..domain.job import JobDefinition, ScheduledJob
from ..domain.json import Json
from ..domain.ledger import LedgerReport
from ..domain.plan import JobChange
from .batches import Batches
from .conflicts import OnConflict
from .event_requests import EventHandlerChanges, EventOptions, EventOutcome, EventReport, FeedItem, FilterTrial, Replay
from .job_options import JobChanges, JobOptions
from .ledger import LogLine
from .overviews import Overviews
from .queries import EventFilter, EventHandlerFilter, ExecutionFilter, JobFilter
from .reports import Health, JobStatistics, Metrics, Period, Preview
from .stores import Page, Worker

PREVIEW_BOUNDS: Final = (1, 1000)
LOG_BOUNDS: Final = (1, 1000)
IDEMPOTENCY_KEY_BOUNDS: Final = (1, 255)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A schedule that is no job yet: cron, interval or an instant in ISO 8601, with its bounds."""

    schedule: str
    timezone: str = "UTC"
    start_date: datetime | None = None
    end_date: datetime | None = None
    max_executions: int | None = None


class IScheduler(Batches, Overviews, Protocol):
    """
    Everything a caller may ask for, as one tenant.

    Instants are aware datetimes in UTC. Ids that this tenant does not have raise JobNotFound, ExecutionNotFound,
    EventNotFound or EventHandlerNotFound. Every change is one transaction and first accounts for what is already due.

    Raises (every method):
        InvalidInput: an argument breaks a bound; `errors` names each field.
        StoreUnavailable: the store did not answer in time; nothing was changed.
    """

    async def schedule(
        self,
        definition: JobDefinition,
        *,
        on_conflict: OnConflict = OnConflict.ERROR,
        enabled: bool = True,
        allow_unknown_handler: bool = False,
    ) -> ScheduledJob:
        """
        Store a job; it is active, or paused when not `enabled`.

        `on_conflict` says what happens when the key is taken: `replace` gives the existing job this
        definition (its status stays, a finished job with fires left is active again), `keep` answers it as it is.

        Raises:
            Conflict: the key is taken and `on_conflict` is `error`.
            HandlerNotFound: no live node has the function, and `allow_unknown_handler` is False.
            InvalidSchedule: the schedule cannot be read or would never fire.
        """

    async def schedule_once(
        self, name: str, *, execute_at: datetime, handler_name: str, **options: Unpack[JobOptions]
    ) -> ScheduledJob:
        """Store a job that fires once, at an instant at most 60 s past; errors as for `schedule`."""

    async def schedule_recurring(
        self, name: str, *, schedule: str, handler_name: str, **options: Unpack[JobOptions]
    ) -> ScheduledJob:
        """Store a job that fires by a cron or an interval, with or without an end; errors as for `schedule`."""

    async def reschedule(
        self, job_id: UUID, *, schedule: str, timezone: str | None = None, expected_version: int | None = None
    ) -> ScheduledJob:
        """
        Give a job another schedule of any kind; a completed or failed one becomes active again.

        For a one_time job `schedule` is the new instant.

        Raises:
            VersionConflict: the job is not at `expected_version`.
            InvalidTransition: the job is cancelled.
        """

    async def unschedule(self, job_id: UUID, *, expected_version: int | None = None) -> None:
        """Delete a job softly, and cancel what of it is pending or running; its executions stay until retention."""

    async def update_job(
        self, job_id: UUID, *, expected_version: int | None = None, **changes: Unpack[JobChanges]
    ) -> ScheduledJob:
        """
        Change the named fields of a definition.

        Raises:
            VersionConflict, InvalidTransition: as for `reschedule`.
            Conflict: the new key is another job's.
        """

    async def get_job(self, job_id: UUID) -> ScheduledJob:
        """Read one job."""

    async def list_jobs(self, query: JobFilter | None = None) -> Page[ScheduledJob]:
        """Read the jobs that match, newest first unless the filter says otherwise."""

    async def pause_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """
        Stop new fires.

        Raises:
            InvalidTransition: the job is not active.
        """

    async def resume_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """
        Fire again from now on.

        Raises:
            InvalidTransition: the job is not paused.
        """

    async def cancel_job(self, job_id: UUID, *, expected_version: int | None = None) -> ScheduledJob:
        """
        End a job for good, with what of it is pending or running.

        Raises:
            InvalidTransition: the job has ended already.
        """

    async def trigger_job(
        self, job_id: UUID, *, payload: Json = None, idempotency_key: str | None = None
    ) -> JobExecution:
        """
        Run a job now, beside its schedule; it waits if all slots are taken.

        The same idempotency key (1..255 characters) for the same job answers the first execution again.

        Raises:
            InvalidTransition: the job is cancelled.
        """

    async def retry_job(self, job_id: UUID) -> JobExecution:
        """
        Retry the newest execution of a job.

        Raises:
            InvalidTransition: it neither failed nor timed out.
            ExecutionNotFound: the job has none.
        """

    async def preview(self, subject: Timing | UUID, *, after: datetime | None = None, count: int = 10) -> Preview:
        """Show the next `count` (1..1000) fires of a schedule, or of a job, later than `after` (default now)."""

    async def get_job_history(self, job_id: UUID, query: ExecutionFilter | None = None) -> Page[JobExecution]:
        """Read the executions of one job, newest nominal time first."""

    async def get_job_changes(self, job_id: UUID, *, limit: int = 50, cursor: str | None = None) -> Page[JobChange]:
        """
        Read who changed a job, when and to what, newest first; also of a deleted job, until retention removes it.

        `limit` is 1..250; `cursor` is the `next_cursor` of the page before.
        """

    async def verify_ledger(
        self, job_id: UUID, *, since: datetime | None = None, until: datetime | None = None
    ) -> LedgerReport:
        """
        Say for every nominal time of a job later than `since` and not later than `until` whether it is accounted for.

        By default these are the last 24 hours up to `until`, and that is now. What retention may have removed, and
        what is due but not yet fired, is no finding.

        Raises:
            InvalidInput: an instant has no UTC offset, they are the wrong way round, or all between them is to come.
        """

    async def list_executions(self, query: ExecutionFilter | None = None) -> Page[JobExecution]:
        """Read executions of all jobs, deleted ones included, newest nominal time first."""

    async def get_execution(self, execution_id: UUID) -> JobExecution:
        """Read one execution."""

    async def get_execution_logs(self, execution_id: UUID, *, after: int = 0, limit: int = 250) -> Page[LogLine]:
        """Read what the handler logged, past the first `after` lines, `limit` (1..1000) at most."""

    async def cancel_execution(self, execution_id: UUID) -> JobExecution:
        """
        End one pending or running execution.

        Raises:
            InvalidTransition: it has ended already.
        """

    async def retry_execution(self, execution_id: UUID) -> JobExecution:
        """
        Run a failed or timed-out execution again, as a new one.

        Raises:
            InvalidTransition: it neither failed nor timed out, or its job is cancelled.
            JobNotFound: its job was deleted.
        """

    def follow_execution_logs(self, execution_id: UUID, *, after: int = 0) -> AsyncIterator[LogLine]:
        """
        Read what the handler logs past the first `after` lines, as it comes, until the execution has ended.

        Raises:
            ExecutionNotFound: when the first line is asked for.
        """

    async def trigger_event(self, name: str, data: Json = None, **options: Unpack[EventOptions]) -> EventOutcome:
        """
        Publish an event: store it, and have every handler that it matches act, all in one transaction.

        Waits for the executions of `sync` handlers, 30 s at most. With an idempotency key that this tenant used before,
        the first event's outcome is answered again and nothing happens.

        Raises:
            InvalidEvent: the name is no name, or one of Tocsin's own; the data takes more than 1 MiB.
        """

    async def trigger_events(self, events: Sequence[NewEvent]) -> Sequence[EventOutcome]:
        """Publish events (1..1000), in as few transactions as their handlers allow; otherwise as `trigger_event`."""

    async def on_event(
        self, definition: EventHandlerDefinition, *, on_conflict: OnConflict = OnConflict.ERROR
    ) -> EventHandler:
        """
        Add an event handler; `on_conflict` says what happens when its key is taken, as for `schedule`.

        Raises:
            InvalidEventHandler: a field breaks a bound, or an expression is none.
            Conflict: the key is taken and `on_conflict` is `error`.
            JobNotFound: `run_job` names a job that this tenant does not have.
        """

    async def get_event_handler(self, handler_id: UUID) -> EventHandler:
        """Read one event handler; EventHandlerNotFound if this tenant has none of this id."""

    async def list_event_handlers(self, query: EventHandlerFilter | None = None) -> Page[EventHandler]:
        """Read the event handlers that match, those that act first first."""

    async def update_event_handler(
        self, handler_id: UUID, *, expected_version: int | None = None, **changes: Unpack[EventHandlerChanges]
    ) -> EventHandler:
        """
        Change the named fields of an event handler.

        Raises:
            VersionConflict: it is not at `expected_version`.
            otherwise as for `on_event`.
        """

    async def remove_event_handler(self, handler_id: UUID) -> None:
        """Remove an event handler with what it still holds; the job of its own, for `call`, is deleted with it."""

    async def replay_events(
        self, handler_id: UUID, *, since: datetime, until: datetime | None = None, dry_run: bool = True
    ) -> Replay:
        """
        Show stored events, received from `since` until before `until` (now), to a handler registered later.

        No event is acted upon twice by one handler, however often it is replayed. Flow control does not apply.

        Raises:
            EventHandlerNotFound: this tenant has none of this id.
            InvalidInput: an instant has no UTC offset, or they are the wrong way round.
        """

    async def try_filter(self, expression: str | None, sample: NewEvent, *, pattern: str | None = None) -> FilterTrial:
        """
        Say what a handler with this filter and pattern would make of an event; none of it is kept.

        A filter that is no CEL, and a pattern that is none, are told in the answer like one that fails. None passes
        everything.

        Raises:
            InvalidEvent: the sample breaks a bound; it may be one of Tocsin's own facts.
        """

    async def list_events(self, query: EventFilter | None = None) -> Page[Event]:
        """Read events, newest first."""

    async def get_event(self, event_id: UUID) -> EventReport:
        """Read an event with its impact snapshot and its executions; EventNotFound if this tenant has none."""

    def watch(self, *, after: str | None = None) -> AsyncIterator[FeedItem]:
        """
        Tell this tenant's job and execution facts as they happen, from behind a position on, else from now on.

        About every 15 s, and at the beginning, an item without a fact tells the position alone.

        Raises:
            InvalidEvent: on field `position`, if what stood there is not kept any more.
        """

    async def list_workers(self) -> Sequence[Worker]:
        """Read the nodes, newest heartbeat first."""

    async def drain_worker(self, worker_id: str) -> Worker:
        """
        Have a node take no more work and let what it runs finish, however long; answer it as it was asked.

        The node follows within seconds: it is then `draining`, and `drained` once nothing runs. It goes on serving
        requests, and its restart, which is another worker, takes work. Asking again changes nothing.

        Raises:
            WorkerNotFound: no node has this id.
            InvalidTransition: it stopped or is dead.
        """

    async def resume_worker(self, worker_id: str) -> Worker:
        """Have a node take work again; otherwise as `drain_worker`."""

    async def get_job_stats(self, job_id: UUID) -> JobStatistics:
        """Add up one job's stored executions."""

    async def get_metrics(self, period: Period = Period.DAY) -> Metrics:
        """Add up this tenant's executions over a period, and what waits now."""

    async def health_check(self) -> Health:
        """Say how the node that answers is doing."""
