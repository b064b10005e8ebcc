"""
What a caller may do to a job, as pure decisions.

Each first accounts for the nominal times that are already due (`firing.catch_up`), so that a pause at
12:00:05 does not swallow an unfired 12:00:00; then it changes the job and computes next_run afresh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from .definition import validate
from .errors import FieldError, InvalidSchedule, InvalidTransition
from .firing import BEFORE, catch_up, next_fire
from .job import JobDefinition, JobStatus, JobType, ScheduledJob
from .occurrences import OccurrenceSource
from .plan import NewId, Plan, conclude, versioned
from .trace import TraceContext
from .zones import load_zone

ONE_TIME_GRACE: Final = timedelta(seconds=60)
"""How far in the past the instant of a new one_time job may lie (design: time)."""

UNPLANNABLE: Final = "the schedule cannot be computed"
"""How the reason of a version begins that failed a job without accounting for what was due."""

_FINISHED: Final = frozenset({JobStatus.COMPLETED, JobStatus.FAILED})
ENDED: Final = frozenset({JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED})
"""The statuses of jobs that fire no more, unless somebody has them do so."""

TIMING: Final = ("schedule", "timezone", "type", "start_date", "end_date", "max_executions")
"""The fields of a definition that say when it fires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """
    What every decision needs beside the job: when, by whom, whence occurrences and ids come.

    `trace` is the span under which it is made, `depth` the number of events in a row that led to it.
    """

    now: datetime
    occurrences: Callable[[ScheduledJob], OccurrenceSource]
    new_id: NewId
    by: str | None = None
    trace: TraceContext | None = None
    depth: int = 0


def create(definition: JobDefinition, moment: Moment, *, tenant_id: str, paused: bool) -> ScheduledJob:
    """
    Make a new job, active or paused.

    Raises:
        InvalidJob: a field breaks its bound.
        InvalidSchedule: the schedule cannot be read, or would never fire.
    """
    job = ScheduledJob(
        id=moment.new_id(moment.now),
        definition=validate(definition),
        tenant_id=tenant_id,
        created_at=moment.now,
        updated_at=moment.now,
        created_by=moment.by,
        created_in=moment.trace,
        depth=moment.depth,
    )
    planned = _planned(job, moment)
    return replace(planned, status=JobStatus.PAUSED, next_run=None) if paused else planned


def pause(job: ScheduledJob, moment: Moment) -> Plan:
    """Stop new fires; what is pending or running goes on."""
    plan = accounted(job, moment)
    return changed(job, replace(plan, job=plan.job.to(JobStatus.PAUSED, moment.now)), moment, "paused")


def resume(job: ScheduledJob, moment: Moment) -> Plan:
    """
    Fire again from now on; nothing that lay in the pause is made up for.

    Raises:
        InvalidTransition: the job is not paused. What has ended becomes active by being rescheduled or retried.
    """
    if job.status is not JobStatus.PAUSED:
        raise InvalidTransition("job", job.status, JobStatus.ACTIVE)
    active = _replanned(job.to(JobStatus.ACTIVE, moment.now), moment, after=moment.now)
    return changed(job, Plan(job=conclude(active, moment.now)), moment, "resumed")


def cancel(job: ScheduledJob, moment: Moment) -> Plan:
    """End the job for good, with everything of it that is pending or running."""
    plan = accounted(job, moment)
    ended = plan.job.to(JobStatus.CANCELLED, moment.now)
    return changed(job, replace(plan, job=ended, cancels_open=True), moment, "cancelled")


def delete(job: ScheduledJob, moment: Moment) -> Plan:
    """Hide the job and end what is pending or running; its ledger stays until retention."""
    plan = accounted(job, moment)
    live = plan.job.status in {JobStatus.PENDING, JobStatus.ACTIVE, JobStatus.PAUSED}
    ended = plan.job.to(JobStatus.CANCELLED, moment.now) if live else plan.job
    deleted = replace(ended, deleted_at=moment.now, deleted_by=moment.by)
    return changed(job, replace(plan, job=deleted, cancels_open=True), moment, "deleted")


def update(job: ScheduledJob, definition: JobDefinition, moment: Moment) -> Plan:
    """
    Give the job another definition; a change of its timing computes next_run afresh.

    A completed or failed job whose new timing has something left to fire is active again.

    Raises:
        InvalidTransition: the job is cancelled.
        InvalidJob, InvalidSchedule: as for `create`.
    """
    plan = _redefined(job, definition, moment)
    if _is_retimed(job, plan.job):
        plan = replace(plan, job=_retimed(plan.job, moment))
    return changed(job, plan, moment, "updated")


def redefine(job: ScheduledJob, definition: JobDefinition, moment: Moment) -> Plan:
    """
    Give the job the definition that is declared for it now; its status stays, unless it can fire again.

    A declaration that is repeated unchanged after its last fire changes nothing.

    Raises:
        InvalidTransition, InvalidJob, InvalidSchedule: as for `update`.
    """
    plan = _redefined(job, definition, moment)
    if _is_retimed(job, plan.job):
        plan = replace(plan, job=_retimed(plan.job, moment))
    elif plan.job.status in _FINISHED:
        revived = _replanned(plan.job, moment, after=moment.now)
        plan = plan if revived.exhausted else replace(plan, job=revived.to(JobStatus.ACTIVE, moment.now))
    return changed(job, plan, moment, "updated")


def reschedule(job: ScheduledJob, definition: JobDefinition, moment: Moment) -> Plan:
    """
    Give the job another timing, or the same again; a completed or failed one becomes active.

    Raises:
        InvalidTransition, InvalidJob, InvalidSchedule: as for `update`.
    """
    plan = _redefined(job, definition, moment)
    return changed(job, replace(plan, job=_retimed(plan.job, moment)), moment, "rescheduled")


def unplannable(job: ScheduledJob, now: datetime, error: str) -> Plan:
    """Fail an active job whose schedule can no longer be computed, so that it blocks nobody else."""
    failed = replace(job.to(JobStatus.FAILED, now), exhausted=True)
    return versioned(job, Plan(job=failed), now, by=None, reason=f"{UNPLANNABLE}: {error}")


def _redefined(job: ScheduledJob, definition: JobDefinition, moment: Moment) -> Plan:
    if job.status is JobStatus.CANCELLED:
        raise InvalidTransition("job", job.status, "changed")
    kept = validate(definition)
    plan = accounted(job, moment)
    return replace(plan, job=replace(plan.job, definition=kept))


def accounted(job: ScheduledJob, moment: Moment) -> Plan:
    """Plan what is due of a job, as the beginning of every change to it."""
    if job.status is not JobStatus.ACTIVE or job.next_run is None or job.next_run > moment.now:
        return Plan(job=job)
    return catch_up(job, moment.now, moment.occurrences(job), moment.new_id)


def changed(before: ScheduledJob, plan: Plan, moment: Moment, reason: str) -> Plan:
    """Record the version that a plan makes, if it makes one, as this moment's."""
    return versioned(before, plan, moment.now, by=moment.by, reason=reason)


def _is_retimed(before: ScheduledJob, after: ScheduledJob) -> bool:
    return any(getattr(before.definition, name) != getattr(after.definition, name) for name in TIMING)


def _retimed(job: ScheduledJob, moment: Moment) -> ScheduledJob:
    planned = replace(_planned(job, moment), outcome=None)
    if job.status in _FINISHED:
        return planned.to(JobStatus.ACTIVE, moment.now)
    return planned if job.status is JobStatus.ACTIVE else replace(planned, next_run=None)


def _planned(job: ScheduledJob, moment: Moment) -> ScheduledJob:
    """Plan a new timing, which must have something left to fire; a one_time instant may lie just past."""
    is_once = job.definition.type is JobType.ONE_TIME
    after = moment.now - ONE_TIME_GRACE - BEFORE if is_once else moment.now
    planned = _replanned(job, moment, after=after)
    if planned.exhausted:
        raise InvalidSchedule([_obstacle(job, moment, after)])
    return planned


def _replanned(job: ScheduledJob, moment: Moment, *, after: datetime) -> ScheduledJob:
    if job.definition.type is JobType.EVENT:
        load_zone(job.definition.timezone)
        return replace(job, next_run=None, exhausted=False)
    following = next_fire(job, after, moment.occurrences(job))
    return replace(job, next_run=following, exhausted=following is None)


def _obstacle(job: ScheduledJob, moment: Moment, after: datetime) -> FieldError:
    """Name the field because of which a job never fires."""
    definition, made = job.definition, job.counters.scheduled_count
    if definition.max_executions is not None and made >= definition.max_executions:
        return FieldError("max_executions", f"{made} were made; nothing is left to fire")
    without = {"end_date": replace(definition, end_date=None), "start_date": replace(definition, start_date=None)}
    for bound, unbounded in without.items():
        if not _replanned(replace(job, definition=unbounded), moment, after=after).exhausted:
            return FieldError(bound, "leaves the schedule nothing to fire")
    if definition.type is JobType.ONE_TIME:
        seconds = int(ONE_TIME_GRACE.total_seconds())
        past = f"{definition.schedule} is more than {seconds} s in the past, or already recorded"
        return FieldError("execute_at", past)
    return FieldError("schedule", "never fires")
