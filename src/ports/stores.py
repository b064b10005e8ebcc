"""What requests read and change: jobs and executions of one tenant, and the registry of workers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Generic, Protocol, TypeVar
from uuid import UUID

from ..domain.execution import JobExecution
from ..domain.job import ScheduledJob
from ..domain.ledger import JobLedger, Window
from ..domain.plan import Decision, JobChange
from .dispatcher import Dispatch
from .ledger import LogLine
from .queries import ExecutionFilter, JobFilter

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """
    Part of a list; `total` counts all that match.

    `next_cursor` continues after the last item whatever is added meanwhile; None at the end.
    """

    items: Sequence[T]
    total: int
    limit: int
    offset: int | None
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """
    What a change to a job came to.

    `execution` is the one that the decision added last, or the existing one with the idempotency key;
    `stopped` lists running executions that the change cancelled.
    """

    job: ScheduledJob
    dispatches: Sequence[Dispatch]
    execution: JobExecution | None = None
    stopped: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStretch:
    """A job's ledger up to `until`, at the store's `now`."""

    ledger: JobLedger
    until: datetime
    now: datetime


class JobStore(Protocol):
    """
    Jobs at rest, each call scoped to one tenant and one transaction. A deleted job does not exist here.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline; nothing was changed.
        JobNotFound: where a job is named that this tenant does not have.
    """

    async def now(self) -> datetime:
        """Read the store's clock, the one that fires jobs."""

    async def add(self, job: ScheduledJob) -> ScheduledJob:
        """
        Insert a job with its first recorded version.

        Raises:
            Conflict: another job of this tenant and handler_name, neither deleted nor cancelled, has the
                key; `existing_id` names it.
        """

    async def get(self, tenant_id: str, job_id: UUID) -> ScheduledJob:
        """Read one job with its counters."""

    async def list(self, tenant_id: str, query: JobFilter) -> Page[ScheduledJob]:
        """Read the jobs that match, in the order asked for; ids break ties."""

    async def ids(self, tenant_id: str, query: JobFilter, *, at_most: int) -> Page[UUID]:
        """Read the ids of the jobs that match, in the order asked for; `at_most` takes the place of all paging."""

    async def change(
        self,
        tenant_id: str,
        job_id: UUID,
        decide: Decision,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Changed:
        """
        Lock a job, decide, and write the plan: job, counters, new executions, cancellations, version.

        Waiting executions that the new concurrency has slots for are admitted. If an execution of the job
        has `idempotency_key` already, nothing is decided or changed and that execution is answered.

        Raises:
            VersionConflict: the job is not at `expected_version`.
            Conflict: the new definition's key is another job's.
            whatever `decide` raises; nothing was changed.
        """

    async def versions(
        self, tenant_id: str, job_id: UUID, *, limit: int, before_version: int | None = None
    ) -> Page[JobChange]:
        """
        Read up to `limit` recorded versions of a job, newest first, only those lower than `before_version`.

        Also those of a deleted job, until retention removes it. `total` counts all of the job's; `next_cursor` is
        the number of the last version given if there are lower ones; `offset` is None.
        """

    async def ledger(self, tenant_id: str, job_id: UUID, *, window: Window, limit: int) -> LedgerStretch:
        """
        Read a job's ledger from the beginning of a window on, all of one moment (one snapshot); changes nothing.

        Entries are those of `Ledger.recent_ledgers` for `since` = `window.after`, but no more than `limit` with
        `scheduled_at > window.after`, and of those beyond `window.until` only the first. If more than `limit` lie in
        the window, the stretch ends with the last one given: its `until` is that one's scheduled_at, else the
        window's. Versions are those of `Ledger.recent_ledgers`.

        If the definition of the job or of one of these versions has max_executions, `made_before` and `made_after`
        count the executions of origin `schedule` that were not skipped, with a scheduled_at less than that of the first
        entry and greater than that of the last one; both 0 without entries. Else nobody counts: None and 0.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureFigures:
    """How often one type of error ended an execution, and what it last said."""

    error_type: str
    count: int
    last_seen: datetime
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFigures:
    """
    What the stored executions of a tenant, or of one of its jobs, add up to.

    `by_status` counts executions, a skipped row as the nominal times it covers; `durations_ms` are those
    of successes and `lateness_ms` the time from nominal to first start of schedule fires, both ascending and
    of the 10,000 newest ids; `by_hour` counts started executions per UTC hour, 24 numbers.
    """

    by_status: Mapping[str, int]
    durations_ms: Sequence[int]
    lateness_ms: Sequence[int]
    failures: Sequence[FailureFigures]
    by_hour: Sequence[int]
    last_started_at: datetime | None


UNCLAIMED_AFTER: Final = timedelta(minutes=1)
"""For how long an execution must have been ready before it is told of as unclaimed."""

UNCLAIMED_SAMPLE: Final = 10_000
"""How many unclaimed executions are counted at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFigures:
    """
    What waits right now: jobs by status, executions by what they wait for.

    `ready` is admitted and available, `waiting` has no slot, `retrying` is available later, as is what fired ahead of
    its time; `due_jobs` have a next_run in the past, and `oldest_due` is the earliest of those. `unclaimed` counts,
    by what it takes to run them (`domain.job.capability`), executions that nobody has claimed although they have been
    ready for longer than `UNCLAIMED_AFTER`. It counts at most the first `UNCLAIMED_SAMPLE` of them in the order of
    `dispatched_at` (absent first), available_at and id, so that a large backlog costs no more; what nobody can run
    comes to the front of that order, because nobody dispatches it again.
    """

    jobs_by_status: Mapping[str, int]
    ready: int
    waiting: int
    retrying: int
    running: int
    due_jobs: int
    oldest_due: datetime | None
    oldest_ready: datetime | None
    unclaimed: Mapping[str, int] = field(default_factory=dict)


class ExecutionStore(Protocol):
    """
    Executions at rest as requests see them, each call scoped to one tenant and one transaction.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline; nothing was changed.
        ExecutionNotFound: where an execution is named that this tenant does not have.
    """

    async def get(self, tenant_id: str, execution_id: UUID) -> JobExecution:
        """Read one execution."""

    async def list(self, tenant_id: str, query: ExecutionFilter) -> Page[JobExecution]:
        """Read the executions that match, newest nominal time first; ids break ties."""

    async def cancel(self, tenant_id: str, execution_id: UUID) -> Changed:
        """
        End one pending or running execution as cancelled; its node learns of it within two seconds.

        A pending one frees its slot at once and waiting work is admitted; a running one keeps its slot until
        its handler is gone or its lease lapses.

        Raises:
            InvalidTransition: it has ended already.
        """

    async def logs(self, tenant_id: str, execution_id: UUID, *, after: int, limit: int) -> Page[LogLine]:
        """Read up to `limit` log lines past the first `after`, in the order (attempt, sequence)."""

    async def figures(self, tenant_id: str, *, job_id: UUID | None, since: datetime | None) -> ExecutionFigures:
        """Add up executions created at or after `since`."""

    async def queue(self, tenant_id: str | None) -> QueueFigures:
        """Count what waits now, for one tenant or, with None, for all."""


WORKER_SILENCE: Final = timedelta(seconds=60)
"""After how long without a heartbeat a worker counts as gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """
    A node that runs loops: `id` is its name and boot id, so that a restart is another worker.

    `status` is what it said at the last heartbeat: live, draining (asked to take no more work, or to stop, while
    some is running), drained (asked, and nothing runs any more), stopped; or dead, which others say of it. `running`
    counts its attempts at the last heartbeat. `drain_requested` is what it was asked to do; it obeys at its next
    heartbeat, and a restart, which is another worker, is not asked any more. `anomalies` counts what its ledger watch
    found of late: 0 unless it is the node that watches for all.
    """

    id: str
    name: str
    roles: Sequence[str]
    capabilities: Sequence[str]
    version: str
    capacity: int
    running: int
    status: str
    started_at: datetime
    heartbeat_at: datetime
    drain_requested: bool = False
    anomalies: int = 0

    @property
    def is_gone(self) -> bool:
        """Whether it stopped or is dead, so that nothing runs there and nobody follows what it is asked."""
        return self.status in {"stopped", "dead"}

    def is_live(self, now: datetime) -> bool:
        """Tell whether it takes work and was heard of less than `WORKER_SILENCE` ago."""
        return self.status == "live" and now - self.heartbeat_at < WORKER_SILENCE


class WorkerStore(Protocol):
    """
    The registry of nodes, scoped to no tenant.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline; nothing was changed.
    """

    async def beat(self, worker: Worker) -> Worker:
        """
        Register a worker or refresh it, and answer it as stored; its heartbeat becomes the store's now.

        One that was buried is back as it says it is: what was its to run stays fenced by leases and attempts.
        `drain_requested` is not the worker's to say: a new row has it False, a refreshed one keeps what `drain` set,
        and the answer tells the worker, in the same round trip.
        """

    async def drain(self, worker_id: str, *, requested: bool) -> Worker:
        """
        Ask a worker to take no more work (True), or to take work again (False); answer it with the request.

        Any worker that is registered can be asked, whatever its status; asking again changes nothing. Only
        `drain_requested` changes: the status follows at a heartbeat.

        Raises:
            WorkerNotFound: no worker has this id.
        """

    async def list(self) -> Sequence[Worker]:
        """Read every worker, newest heartbeat first."""

    async def bury(self, *, seen: Collection[tuple[str, datetime]], silent_for: timedelta) -> Sequence[Worker]:
        """
        Mark workers dead that hold no lease any more and whose last heartbeat is older; answer those.

        Only those in `seen`, by id and heartbeat_at, whose heartbeat is still that one. Stopped workers, and dead
        ones of more than a day ago, are removed, seen or not.
        """
