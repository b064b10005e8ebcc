"""The steps that several transactions share: write a plan, cancel, admit what waits, end what is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from ...domain.execution import ExecutionStatus, JobExecution, Origin
from ...domain.plan import Plan, concluded, with_outcome
from ...ports.dispatcher import Dispatch
from .database import MemoryDatabase


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What writing a plan came to: the new rows as they were planned, what may be claimed, and what was stopped."""

    executions: Sequence[JobExecution]
    dispatches: Sequence[Dispatch]
    stopped: Sequence[UUID]


def write(database: MemoryDatabase, plan: Plan, now: datetime) -> Written:
    """Write all of a plan, but for nominal times that are accounted for already."""
    fresh, known = _told_apart(database, plan.executions)
    for row in fresh:
        database.executions.put(row)
    counters = plan.job.counters
    for row in known:
        counters = counters.unplanned(row)
    database.save(replace(plan, job=replace(plan.job, counters=counters)))
    for row in fresh:
        database.tell(row, now)
    for row in known:
        note_end(database, database.executions.at(row.job_id, row.scheduled_at) or row)
    if plan.cancels_open:
        stopped = cancel(database, plan.job.id, list(database.executions.of_job(plan.job.id)), now)
        return Written(executions=fresh, dispatches=settle(database, plan.job.id, now), stopped=stopped)
    dispatched = [row for row in fresh if row.dispatched_at is not None]
    admitted = settle(database, plan.job.id, now)
    return Written(executions=fresh, dispatches=[*database.dispatches(dispatched), *admitted], stopped=())


def cancel(database: MemoryDatabase, job_id: UUID, rows: Iterable[JobExecution], now: datetime) -> list[UUID]:
    """End those executions of a job that have not ended; answer the running ones, which keep slot and lease."""
    stopped = []
    for row in sorted(rows, key=lambda row: row.id):
        if row.status.terminal:
            continue
        ended = replace(row, status=row.status.to(ExecutionStatus.CANCELLED), completed_at=now)
        counters = database.jobs[job_id].counters
        if row.status is ExecutionStatus.RUNNING:
            counters = counters.ended(ExecutionStatus.CANCELLED, 0)
            stopped.append(row.id)
        else:
            counters = counters.withdrawn(row)
            ended = replace(ended, holds_slot=False, next_retry_at=None)
        database.executions.put(ended)
        database.redispatches.pop(row.id, None)
        database.jobs[job_id] = replace(database.jobs[job_id], counters=counters)
        note_end(database, ended)
        database.tell(ended, now)
    return stopped


def note_end(database: MemoryDatabase, row: JobExecution) -> None:
    """Let the job of an execution know how that stands."""
    job = database.jobs[row.job_id]
    database.jobs[job.id] = with_outcome(job, row.status, origin=row.origin, scheduled_at=row.scheduled_at)


def settle(database: MemoryDatabase, job_id: UUID, now: datetime) -> list[Dispatch]:
    """Admit the waiting work of a job that has slots now, and end it if nothing is left (`conclude`)."""
    job = database.jobs[job_id]
    rows = database.executions.waiting(job_id, job.admissible)
    for row in rows:
        database.executions.put(replace(row, available_at=now, dispatched_at=now, holds_slot=True))
    database.save(concluded(replace(job, counters=job.counters.admitted(len(rows))), now))
    return database.dispatches(rows)


def _told_apart(
    database: MemoryDatabase, rows: Iterable[JobExecution]
) -> tuple[list[JobExecution], list[JobExecution]]:
    """Separate new rows from those whose nominal time has a row already."""
    fresh: list[JobExecution] = []
    known: list[JobExecution] = []
    for row in rows:
        is_known = row.origin is Origin.SCHEDULE and database.executions.at(row.job_id, row.scheduled_at) is not None
        (known if is_known else fresh).append(row)
    return fresh, known
