"""What a batch of events finds in the memory, and what it leaves there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ...domain.event import Event
from ...domain.execution import ExecutionStatus
from ...domain.job import JobStatus, ScheduledJob
from ...domain.lifecycle import ENDED
from ...domain.plan import Plan, first_version
from ...domain.resolution import Cancel, FannedOut, JobKey, Situation, Wanted, is_meant
from ...ports.dispatcher import Dispatch
from ...ports.events import Fanned, Triggered
from .database import MemoryDatabase
from .documents import detached_event, detached_execution, detached_job
from .transactions import write


def situation(database: MemoryDatabase, want: Wanted, now: datetime) -> Situation:
    """Read what a batch of events concerns."""
    there = [job for job in database.jobs.values() if job.deleted_at is None]
    keyed = _keyed(there, want.keys)
    cancellable = {cancel: _cancellable(there, cancel) for cancel in want.cancels}
    named = {*want.jobs, *keyed.values(), *(job_id for ids in cancellable.values() for job_id in ids)}
    return Situation(
        now=now,
        jobs={job.id: detached_job(job) for job in there if job.id in named},
        keyed=keyed,
        cancellable=cancellable,
        flows={key: state for key in want.flows if (state := database.events.flows.get(key)) is not None},
    )


def written(database: MemoryDatabase, decided: FannedOut, now: datetime) -> Fanned:
    """Write what a batch of events comes to."""
    dispatches: list[Dispatch] = []
    stopped: list[UUID] = []
    for plan in decided.plans:
        rows = tuple(detached_execution(row) for row in plan.executions)
        done = write(database, replace(plan, job=detached_job(plan.job), executions=rows), now)
        dispatches += done.dispatches
        stopped += done.stopped
    for job in decided.created:
        made = detached_job(job)
        database.save(Plan(job=made, change=first_version(made)))
    _keep(database, decided, now)
    return Fanned(
        events=[Triggered(event=_stored(database, event)) for event in decided.events],
        dispatches=[each for each in dispatches if _is_pending(database, each)],
        stopped=stopped,
        jobs=len(decided.created) + sum(plan.cancels_open for plan in decided.plans),
    )


def _keyed(jobs: Sequence[ScheduledJob], keys: Collection[JobKey]) -> dict[JobKey, UUID]:
    found = {}
    for job in jobs:
        key = job.definition.key
        name = (job.tenant_id, job.definition.handler_name, key) if key is not None else None
        if name in keys and name is not None and job.status is not JobStatus.CANCELLED:
            found[name] = job.id
    return found


def _cancellable(jobs: Sequence[ScheduledJob], cancel: Cancel) -> list[UUID]:
    return sorted(job.id for job in jobs if job.status not in ENDED and is_meant(job, cancel))


def _keep(database: MemoryDatabase, decided: FannedOut, now: datetime) -> None:
    for event in decided.events:
        database.events.put(detached_event(event))
    database.events.flows.update(decided.flows)
    database.events.gatherings.update({held.gathering.id: held for held in decided.held})
    for handler_id, counts in decided.counts.items():
        database.count(handler_id, counts)
    for event in decided.published:
        database.outbox.append(detached_event(event), now)


def _stored(database: MemoryDatabase, event: Event) -> Event:
    return detached_event(database.events.get(event.id) or event)


def _is_pending(database: MemoryDatabase, dispatch: Dispatch) -> bool:
    row = database.executions.get(dispatch.execution_id)
    return row is not None and row.status is ExecutionStatus.PENDING
