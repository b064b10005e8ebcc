"""The transactions of the protocol, in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import nsmallest
from operator import attrgetter, itemgetter
from typing import Final
from uuid import UUID

from ...domain.attempt import Attempt, Finish
from ...domain.execution import ExecutionStatus, JobExecution
from ...domain.job import JobStatus
from ...domain.json import Json
from ...domain.plan import at_once, is_postponed
from ...ports.dispatcher import Dispatch
from ...ports.ledger import (
    NOT_AHEAD,
    Finished,
    Fired,
    Hold,
    Lapse,
    Lease,
    LogLine,
    Planner,
    Progress,
    Purged,
    Ready,
    RecentLedgers,
    Sighting,
)
from .attempts import attempt_of, claimed, is_claimable, is_doubtful, released
from .audit import recent_jobs, recent_ledgers
from .database import MemoryDatabase
from .documents import detached
from .finishing import FinishBatch
from .retention import purge
from .transactions import settle, write

_MOST_DOUBLINGS: Final = 6


class MemoryLedger:
    """Executions and jobs as the loops use them."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self._executions = database.executions

    async def fire(self, planner: Planner, *, limit: int, ahead: timedelta = NOT_AHEAD) -> Fired:
        """Write the plans of jobs that are due, or about to be."""
        now = self._database.now()
        due = sorted((next_run, job_id) for next_run, job_id in self._fires() if next_run <= now + ahead)[:limit]
        jobs = [self._database.jobs[job_id] for _, job_id in due]
        plans = at_once(planner(job, now) for job in jobs)
        written = [
            write(self._database, plan, now)
            for job, plan in zip(jobs, plans, strict=False)
            if not is_postponed(job, plan, now)
        ]
        rows = [row for each in written for row in each.executions]
        skips = sum(row.status is ExecutionStatus.SKIPPED for row in rows)
        return Fired(
            dispatches=[dispatch for each in written for dispatch in each.dispatches],
            jobs=len(written),
            postponed=len(plans) - len(written),
            executions=len(rows) - skips,
            skips=skips,
            next_due=min((next_run for next_run, _ in self._fires()), default=None),
            now=now,
        )

    async def claim(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        """Take pending, available executions for one worker."""
        now = self._database.now()
        attempts = []
        for execution_id in ids:
            row = self._executions.get(execution_id)
            if row is not None and is_claimable(row):
                job = self._database.jobs[row.job_id]
                taken = claimed(row, job, now, worker_id=worker_id)
                self._executions.put(taken)
                self._database.tell(taken, now)
                self._database.redispatches.pop(row.id, None)
                attempts.append(attempt_of(taken, job, claimed_at=now))
        return attempts

    async def claimed(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        """Tell which executions run under a worker."""
        now = self._database.now()
        rows = [row for id_ in dict.fromkeys(ids) if (row := self._executions.get(id_)) is not None]
        return [
            attempt_of(row, self._database.jobs[row.job_id], claimed_at=now)
            for row in rows
            if row.status is ExecutionStatus.RUNNING and row.worker_id == worker_id
        ]

    async def renew(self, leases: Mapping[Hold, timedelta], *, worker_id: str) -> Sequence[Hold]:
        """Extend the leases of a worker."""
        now = self._database.now()
        gone = []
        for (execution_id, attempt), lease in leases.items():
            row = self._executions.held(execution_id, attempt)
            if row is None or row.worker_id != worker_id or row.status is not ExecutionStatus.RUNNING:
                gone.append((execution_id, attempt))
            if row is not None and row.worker_id == worker_id and row.lease_expires_at is not None:
                self._executions.put(replace(row, lease_expires_at=now + lease))
        return gone

    async def stopped(self, holds: Sequence[Hold]) -> Sequence[Hold]:
        """Tell which attempts no longer run."""
        return [hold for hold in holds if not self._runs(hold)]

    async def finish(self, finishes: Sequence[Finish]) -> Finished:
        """Write how attempts ended."""
        batch = FinishBatch(self._database, self._database.now())
        for finish in finishes:
            batch.write(finish)
        return batch.settled()

    async def release(self, holds: Sequence[Hold]) -> Sequence[Dispatch]:
        """Free the slots of ended executions."""
        now = self._database.now()
        freed: dict[UUID, None] = {}
        for execution_id, attempt in holds:
            row = self._executions.held(execution_id, attempt)
            if row is not None and row.status.terminal and row.lease_expires_at is not None:
                self._executions.put(released(row))
                job = self._database.jobs[row.job_id]
                self._database.jobs[job.id] = replace(job, counters=job.counters.released(int(row.holds_slot)))
                freed[job.id] = None
        return [dispatch for job_id in freed for dispatch in settle(self._database, job_id, now)]

    async def lapsed(self, *, limit: int) -> Sequence[Lapse]:
        """List leases that the clock calls expired."""
        return [
            Lapse(
                hold=(row.id, row.attempt),
                lease_expires_at=expires_at,
                lock_timeout_seconds=self._database.jobs[row.job_id].definition.lock_timeout_seconds,
            )
            for expires_at, row in self._lapsed()[:limit]
        ]

    async def expired(self, holds: Sequence[Hold]) -> Sequence[Lease]:
        """Tell which of these holds the clock calls expired."""
        wanted = set(holds)
        return [
            Lease(
                attempt=attempt_of(row, self._database.jobs[row.job_id]),
                status=row.status,
                lease_expires_at=expires_at,
            )
            for expires_at, row in self._lapsed()
            if (row.id, row.attempt) in wanted
        ]

    async def ready(self, *, limit: int) -> Ready:
        """Mark work that became available as dispatched."""
        now = self._database.now()
        waiting = sorted(
            (row for row in self._pending() if row.available_at is not None and row.dispatched_at is None),
            key=attrgetter("available_at", "id"),
        )
        taken = [row for row in waiting[:limit] if row.available_at is not None and row.available_at <= now]
        for row in taken:
            self._executions.put(replace(row, dispatched_at=now))
        left = waiting[len(taken) :]
        return Ready(
            dispatches=self._database.dispatches(taken),
            next_available_at=left[0].available_at if left else None,
            now=now,
        )

    async def undelivered(
        self, *, capabilities: Collection[str] | None, grace: timedelta, limit: int, after: Sighting | None = None
    ) -> Sequence[tuple[Dispatch, datetime]]:
        """List dispatches that nobody has claimed for too long."""
        now = self._database.now()
        overdue = (
            (row.dispatched_at, dispatch.execution_id, dispatch)
            for row in self._pending()
            if row.dispatched_at is not None
            and (row.dispatched_at + self._patience(row, grace) <= now or row.dispatched_at > now)
            and (after is None or (row.dispatched_at, row.id) > after[::-1])
            for dispatch in self._database.dispatches([row])
            if capabilities is None or dispatch.capability in capabilities
        )
        return [(dispatch, at) for at, _, dispatch in nsmallest(limit, overdue, key=itemgetter(0, 1))]

    async def redispatch(self, seen: Sequence[Sighting]) -> Sequence[Dispatch]:
        """Take the right to repeat dispatches that nobody else has repeated."""
        now = self._database.now()
        taken = []
        for execution_id, dispatched_at in seen:
            row = self._executions.get(execution_id)
            if row is not None and row.status is ExecutionStatus.PENDING and row.dispatched_at == dispatched_at:
                self._executions.put(replace(row, dispatched_at=now))
                self._database.redispatches[row.id] = self._database.redispatches.get(row.id, 0) + 1
                taken.append(row)
        return self._database.dispatches(taken)

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        """Keep log lines."""
        for line in lines:
            if self._executions.get(line.execution_id) is not None:
                kept = self._database.logs.setdefault(line.execution_id, {})
                kept.setdefault((line.attempt, line.sequence), replace(line, fields=detached(line.fields)))

    async def report(self, reports: Sequence[Progress]) -> None:
        """Show progress."""
        for report in reports:
            row = self._executions.held(report.execution_id, report.attempt)
            if row is not None and row.status is ExecutionStatus.RUNNING and isinstance(row.metadata, Mapping):
                progress: Json = {"percent": report.percent, "message": report.message}
                self._executions.put(replace(row, metadata={**row.metadata, "progress": progress}))

    async def recent_ledgers(self, *, since: datetime, limit: int, after: UUID | None = None) -> RecentLedgers:
        """Read the ledgers of jobs that may have fired since."""
        return recent_ledgers(self._database, since, limit, after)

    async def recent_jobs(self, *, since: datetime, limit: int, after: UUID | None = None) -> Sequence[UUID]:
        """Tell whose ledgers those are."""
        return recent_jobs(self._database, since, limit, after)

    async def purge(self, *, keep: timedelta, newest: int, limit: int, after: UUID | None = None) -> Purged:
        """Remove what is old."""
        return purge(self._database, before=self._database.now() - keep, newest=newest, limit=limit, after=after)

    def _fires(self) -> Iterator[tuple[datetime, UUID]]:
        """Go through the fires to come: when, and of which job."""
        for job in self._database.jobs.values():
            if job.status is JobStatus.ACTIVE and job.next_run is not None:
                yield job.next_run, job.id

    def _lapsed(self) -> list[tuple[datetime, JobExecution]]:
        now = self._database.now()
        rows = (row for row in self._executions.open() if is_doubtful(row, now))
        leased = [(row.lease_expires_at, row) for row in rows if row.lease_expires_at is not None]
        return sorted(leased, key=lambda each: (each[0], each[1].id))

    def _pending(self) -> Iterator[JobExecution]:
        return (row for row in self._executions.open() if row.status is ExecutionStatus.PENDING)

    def _runs(self, hold: Hold) -> bool:
        row = self._executions.held(*hold)
        return row is not None and row.status is ExecutionStatus.RUNNING

    def _patience(self, row: JobExecution, grace: timedelta) -> timedelta:
        """Tell how long a dispatch may go unclaimed: twice as long after each repeat."""
        return grace * (1 << min(self._database.redispatches.get(row.id, 0), _MOST_DOUBLINGS))
