"""What one transaction does to a job: its next state, its new executions, and the recorded change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from .definition import document
from .execution import ExecutionStatus, JobExecution, Origin
from .job import JobDefinition, JobStatus, JobType, ScheduledJob
from .json import Json
from .stored import UnreadableDefinition

ROWS_AT_ONCE: Final = 2_000
"""New executions of one fire, but for those of the plan that reaches them."""

NOTHING_LEFT: Final = "nothing left to fire"
"""Why a job is concluded, as its version says."""

NewId: TypeAlias = Callable[[datetime], UUID]
"""Makes a UUIDv7 for an instant; ids made later sort later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """One version of a job: who changed what, when; `before` is None for the first."""

    job_id: UUID
    tenant_id: str
    version: int
    changed_at: datetime
    changed_by: str | None
    reason: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    The outcome of a pure decision about one job, written by a store in the transaction that asked for it.

    `executions` are new rows. `cancels_open` also ends every pending and running execution of the job
    as cancelled. `change` is set when the definition or the status is another than before.
    """

    job: ScheduledJob
    executions: tuple[JobExecution, ...] = ()
    cancels_open: bool = False
    change: JobChange | None = None


Decision: TypeAlias = Callable[[ScheduledJob, datetime], Plan]
"""A pure decision about one locked job at the store's now; what it raises undoes the transaction."""


def at_once(plans: Iterable[Plan]) -> list[Plan]:
    """
    Take plans, made as they are asked for, until they come to `ROWS_AT_ONCE` new executions.

    The jobs behind stay due. What a fleet owes after an hour without nodes is more than one transaction has time for,
    and one that fails for that would be tried again, as large, for ever.
    """
    taken, rows = [], 0
    for plan in plans:
        taken.append(plan)
        rows += len(plan.executions)
        if rows >= ROWS_AT_ONCE:
            break
    return taken


def is_postponed(job: ScheduledJob, plan: Plan, now: datetime) -> bool:
    """Tell whether the plan of a job that was looked at ahead of its time leaves it to fire at that."""
    return job.next_run is not None and job.next_run > now and not plan.executions and plan.job is job


def is_plain_fire(plan: Plan) -> bool:
    """Tell whether a fire comes to one execution of a nominal time, which has its slot, and to nothing else."""
    if len(plan.executions) != 1 or plan.change is not None:
        return False
    [row], job = plan.executions, plan.job
    return row.holds_slot and not job.counters.waiting and row.scheduled_at == job.last_nominal


def versioned(before: ScheduledJob, plan: Plan, now: datetime, *, by: str | None, reason: str) -> Plan:
    """
    Give the plan's job its next version, with its record, if definition, status or deletion changed.

    A plan that was versioned on its way here is one change all the same, or none if it came back to `before`.
    """
    if _is_same(before, plan.job):
        job = replace(plan.job, version=before.version, updated_at=before.updated_at) if plan.change else plan.job
        return replace(plan, job=job, change=None)
    job = replace(plan.job, version=before.version + 1, updated_at=now)
    definition = document(before.definition)
    # What stands in for a definition that cannot be read is not what the version before has.
    is_kept = before.definition is job.definition and not isinstance(job.definition, UnreadableDefinition)
    change = JobChange(
        job_id=job.id,
        tenant_id=job.tenant_id,
        version=job.version,
        changed_at=now,
        changed_by=by,
        reason=reason,
        before=_recorded(before, definition),
        after=_recorded(job, definition if is_kept else document(job.definition)),
    )
    return replace(plan, job=job, change=change)


def _is_same(before: ScheduledJob, after: ScheduledJob) -> bool:
    if (before.status, before.deleted_at) != (after.status, after.deleted_at):
        return False
    # As Python values True equals 1 and 1 equals 1.0; as documents they differ.
    return before.definition is after.definition or _text(before.definition) == _text(after.definition)


def _text(definition: JobDefinition) -> str:
    return json.dumps(document(definition), sort_keys=True)


def first_version(job: ScheduledJob) -> JobChange:
    """Record a job's creation."""
    return JobChange(
        job_id=job.id,
        tenant_id=job.tenant_id,
        version=job.version,
        changed_at=job.created_at,
        changed_by=job.created_by,
        reason="created",
        before=None,
        after=recorded(job),
    )


def recorded(job: ScheduledJob) -> Json:
    """
    Write what a version records: the whole definition, the status and whether the job is deleted.

    `versions_since` of the stores compares this, in this order, with the job (`version_documents.AS_IT_STANDS`).
    """
    return _recorded(job, document(job.definition))


def _recorded(job: ScheduledJob, definition: Json) -> Json:
    return {"definition": definition, "status": job.status.value, "deleted": job.deleted_at is not None}


def conclude(job: ScheduledJob, now: datetime) -> ScheduledJob:
    """
    End a job that has nothing left to fire once all its executions have ended.

    A one_time job ends as its `outcome` says, so that runs by hand have no say: without success it is failed,
    while every other job is completed (design: job). A paused one_time job without success waits, because only
    an active job may fail.
    """
    if not job.exhausted or job.counters.live or job.status not in {JobStatus.ACTIVE, JobStatus.PAUSED}:
        return job
    succeeded = job.definition.type is not JobType.ONE_TIME or job.outcome is ExecutionStatus.SUCCESS
    if succeeded:
        return job.to(JobStatus.COMPLETED, now)
    return job.to(JobStatus.FAILED, now) if job.status is JobStatus.ACTIVE else job


def concluded(job: ScheduledJob, now: datetime) -> Plan:
    """Hold a job against `conclude`, with the version that its end makes: what follows every end of an execution."""
    after = conclude(job, now)
    if after is job:
        return Plan(job=job)
    return versioned(job, Plan(job=after), now, by=None, reason=NOTHING_LEFT)


def with_outcome(job: ScheduledJob, status: ExecutionStatus, *, origin: Origin, scheduled_at: datetime) -> ScheduledJob:
    """
    Take down how an execution of a one_time job stands, if it has ended and is, or retries, that of its schedule.

    Other jobs are not judged by it, so that the end of an execution leaves their rows to the timer.
    """
    is_of_schedule = origin in {Origin.SCHEDULE, Origin.RETRY} and scheduled_at == job.last_nominal
    is_judged = job.definition.type is JobType.ONE_TIME and is_of_schedule and status.terminal
    return replace(job, outcome=status) if is_judged else job


def is_at_stake(*, exhausted: bool, job_type: str | None) -> bool:
    """
    Tell whether the end of an execution may change its job's own row, so that a store must lock that row first.

    The end may conclude a job that is exhausted, and is the outcome of one that runs once (`concluded`,
    `with_outcome`). `job_type` is None if the definition cannot be read.
    """
    return exhausted or job_type == JobType.ONE_TIME
