"""The transactions of the protocol: fire, claim, renew, finish, recover. What the loops live on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeAlias
from uuid import UUID

from ..domain.attempt import Attempt, Finish
from ..domain.execution import ExecutionStatus
from ..domain.job import ScheduledJob
from ..domain.json import Json
from ..domain.ledger import JobLedger
from ..domain.plan import Plan
from .dispatcher import Dispatch

Planner: TypeAlias = Callable[[ScheduledJob, datetime], Plan]
"""A pure decision about one locked job at the store's now. It must not raise."""

NOT_AHEAD: Final = timedelta(0)

Hold: TypeAlias = tuple[UUID, int]
"""An execution's id and the attempt that holds it: the fence."""

Sighting: TypeAlias = tuple[UUID, datetime]
"""An execution's id and the dispatched_at that it was seen with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """
    What one batch of due jobs came to.

    `executions` and `skips` count new rows; `next_due` is the earliest next_run of any active job
    afterwards, which lies in the past if more is due; `now` is the store's clock. `postponed` counts jobs looked at
    ahead of their time that will fire at it, since no slot of theirs is free yet.
    """

    dispatches: Sequence[Dispatch]
    jobs: int
    executions: int
    skips: int
    next_due: datetime | None
    now: datetime
    postponed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """
    What one batch of finishes came to.

    `rejected` lists the holds that no longer held their row (LEASE_LOST); `dispatches` is the waiting work
    that the freed slots admitted, and work that was handed back; `set_aside` the holds whose row could not be
    written as given and was recorded as failed instead.
    """

    rejected: Sequence[Hold]
    dispatches: Sequence[Dispatch]
    set_aside: Sequence[Hold] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapse:
    """A lease that the store's clock calls expired, in as few words as tell it from others."""

    hold: Hold
    lease_expires_at: datetime
    lock_timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """An expired lease with what it was for; `status` is running, or terminal for a slot not yet released."""

    attempt: Attempt
    status: ExecutionStatus
    lease_expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """
    Work that became available, marked as dispatched.

    `next_available_at` is when the next will, which lies in the past if more is available already.
    """

    dispatches: Sequence[Dispatch]
    next_available_at: datetime | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of an execution's log; `sequence` orders the lines of one attempt."""

    execution_id: UUID
    attempt: int
    sequence: int
    logged_at: datetime
    level: str
    message: str
    fields: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The newest progress report of a running attempt: 0 to 100, and a message."""

    execution_id: UUID
    attempt: int
    percent: float
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentLedgers:
    """
    A page of jobs with what their schedules lately came to, all of one moment.

    `now` is the store's clock at that moment, or just before. `next_after` continues behind this page; None at the end.
    """

    ledgers: Sequence[JobLedger]
    now: datetime
    next_after: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What one retention batch removed; `next` is where the following one goes on, None behind the last."""

    executions: int
    jobs: int
    next: UUID | None = None


class Ledger(Protocol):
    """
    Executions and jobs at rest, as the loops use them: every call is one transaction, scoped to no tenant.

    Any number of nodes may call anything at once. Counters, slots and the admission of waiting work
    (oldest id first, as many as `JobCounters.admissible`) move in the transaction that causes them, and
    so does the end of a job that has nothing left (`domain.plan.conclude`). Every version of a job that a
    call makes is recorded with it.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline; nothing was changed.
    """

    async def fire(self, planner: Planner, *, limit: int, ahead: timedelta = NOT_AHEAD) -> Fired:
        """
        Lock up to `limit` active jobs with `next_run <= now + ahead`, earliest first, and write the plan of each.

        The planner decides what of a job that is not due yet fires early (`domain.firing.fire`): an execution whose
        `available_at` is its nominal time, while `dispatched_at` is now. A plan without any is not written.
        Jobs locked by another caller are passed over. An execution of origin `schedule` whose (job, nominal
        time) exists already is not inserted again, and the job still advances. A row that cannot be read is
        set aside as failed, with a recorded version, and does not hinder the rest. Once plans come to
        `domain.plan.ROWS_AT_ONCE` new executions, the jobs behind stay due for the next call.
        """

    async def claim(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        """
        Take pending, dispatched executions for one worker: running, attempt + 1, leased.

        An execution that fired ahead of its time starts at its `available_at`, any other now: the lease is that plus
        the job's lock timeout. `claimed_at` of the answer is the store's clock when it is given, and `had_begun` says
        whether a past attempt of the execution has a start. Ids that do not qualify (claimed, ended, without a slot,
        waiting for a retry) are left out of the answer, whose order is that of `ids`. The payload is the execution's
        own, else the job's.
        """

    async def claimed(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        """
        Tell which of these run under a worker, as `claim` told it, but for `claimed_at`, which is now; changes nothing.

        For a worker whose claim was never answered: it may have been committed all the same.
        """

    async def renew(self, leases: Mapping[Hold, timedelta], *, worker_id: str) -> Sequence[Hold]:
        """
        Extend the leases of attempts that still run, or have ended without releasing their slot.

        Each then lasts from the store's now for as long as its holder says, who counts on that and no longer.
        Answers the holds that are no longer this worker's to run: cancelled, timed out, taken over or gone.
        """

    async def stopped(self, holds: Sequence[Hold]) -> Sequence[Hold]:
        """Tell which of these no longer run under that attempt, without renewing anything."""

    async def finish(self, finishes: Sequence[Finish]) -> Finished:
        """
        Write how attempts ended, each only if (id, attempt) is still running and its guard lease unchanged.

        `started_at` of a finish that has one becomes the row's. An end counts; a pending finish keeps its slot, and one
        that is available already is dispatched. A finish that the store refuses for its content is recorded as failed
        (`STORE_REFUSED`) and the rest goes on.
        """

    async def release(self, holds: Sequence[Hold]) -> Sequence[Dispatch]:
        """
        Free the slots of ended executions whose handlers are gone, and admit waiting work.

        Does nothing for holds that are not ended, not this attempt, or already released.
        """

    async def lapsed(self, *, limit: int) -> Sequence[Lapse]:
        """
        List leases with `lease_expires_at <= now`, running or unreleased, oldest first; changes nothing.

        Those of attempts that started later than now, by more than `domain.firing.LOOK_AHEAD`, are listed too: the
        clock was set back, and their leases look longer than they are.
        """

    async def expired(self, holds: Sequence[Hold]) -> Sequence[Lease]:
        """Tell of these holds, in the order of their leases, those that `lapsed` would list now; changes nothing."""

    async def ready(self, *, limit: int) -> Ready:
        """Mark admitted, available executions that were never dispatched since they became so, as dispatched now."""

    async def undelivered(
        self, *, capabilities: Collection[str] | None, grace: timedelta, limit: int, after: Sighting | None = None
    ) -> Sequence[tuple[Dispatch, datetime]]:
        """
        List executions still pending `grace` x 2^(repeats so far, 6 at most) after their `dispatched_at`.

        Only those that one of `capabilities`, unless that is None, can run, as their job words it now. Those
        dispatched later than now are listed too: the clock was set back. By (dispatched_at, id), each with its
        dispatched_at, and `after` continues behind one that was listed; changes nothing.
        """

    async def redispatch(self, seen: Sequence[Sighting]) -> Sequence[Dispatch]:
        """
        Move `dispatched_at` to now where it is still the one seen and the row still pending.

        Of ten sweepers that saw the same row, one gets it in its answer.
        """

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        """Keep log lines, but for those whose (execution, attempt, sequence) is there or whose execution is gone."""

    async def report(self, reports: Sequence[Progress]) -> None:
        """Show `{percent, message}` under `metadata.progress` of executions that still run under that attempt."""

    async def recent_ledgers(self, *, since: datetime, limit: int, after: UUID | None = None) -> RecentLedgers:
        """
        Read the ledgers of up to `limit` jobs of any tenant by id, from behind `after` on; changes nothing.

        Those jobs count that are active, or whose `updated_at` is later than `since`: deleted ones too. All of a page
        is one snapshot (repeatable read, or one statement), so that no change can come between a job and its rows,
        and takes a fixed number of statements, however many jobs there are. Of each job:

        - the job itself with its counters;
        - `entries`: its executions of origin `schedule` with `scheduled_at > since`, all of them and without an upper
          bound, and before these the one newest execution of origin `schedule` with `scheduled_at <= since`, which may
          be a row of skips that reaches beyond it; by (scheduled_at, id). Only the columns of `Entry` are read;
          `started_at` is that of the first past attempt if there is one, even if that is null, else the row's own;
        - `versions`: ascending, from the lowest `job_version` among those entries on; without entries from the highest
          version whose `changed_at <= since`, else from the first. Payload and metadata of their definitions may be
          left out (`before` and `after`, under `definition`), and `after` be `AS_IT_STANDS` where it is, word for word,
          what would be recorded of the job now;
        - `made_before` None and `made_after` 0: everything later is in `entries`.

        What is damaged at rest may make it raise anything; `recent_jobs` then tells which jobs are concerned.
        """

    async def recent_jobs(self, *, since: datetime, limit: int, after: UUID | None = None) -> Sequence[UUID]:
        """Tell whose ledgers `recent_ledgers` would read, without reading any of them; changes nothing."""

    async def purge(self, *, keep: timedelta, newest: int, limit: int, after: UUID | None = None) -> Purged:
        """
        Look at up to `limit` executions, oldest id first, and remove what may go.

        Those ended and released go, with their logs, that were created longer than `keep` ago and are not among the
        `newest` ids of their job, which a job deleted longer than `keep` ago keeps no more; then up to `limit` jobs
        deleted that long ago that have no executions left, with their versions. `after` goes on behind what was
        looked at; a stretch without any that old is the last.
        """
