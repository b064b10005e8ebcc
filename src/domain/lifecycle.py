"""
What a caller may do to a job, as pure decisions.

Each first accounts for the nominal times that are already due (`firing.catch_up`), so that a pause at
12:00:05 does not swallow an unfired 12:00:00; then it changes the job and computes next_run afresh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from .definition import kept_document, validate
from .errors import FieldError, InvalidSchedule, InvalidTransition
from .execution import ExecutionStatus, JobExecution, Origin
from .firing import BEFORE, catch_up, counted, is_admitted, new_execution, next_fire
from .job import JobDefinition, JobStatus, JobType, ScheduledJob
from .json import Json
from .occurrences import OccurrenceSource
from .plan import NewId, Plan, conclude, versioned
from .zones import load_zone

ONE_TIME_GRACE: Final = timedelta(seconds=60)
"""How far in the past the instant of a new one_time job may lie (design: time)."""

UNPLANNABLE: Final = "the schedule cannot be computed"
"""How the reason of a version begins that failed a job without accounting for what was due."""

_FINISHED: Final = frozenset({JobStatus.COMPLETED, JobStatus.FAILED})
TIMING: Final = ("schedule", "timezone", "type", "start_date", "end_date", "max_executions")
"""The fields of a definition that say when it fires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What every decision needs beside the job: when, by whom, where occurrences and ids come from."""

    now: datetime
    occurrences: Callable[[ScheduledJob], OccurrenceSource]
    new_id: NewId
    by: str | None = None


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
    )
    planned = _planned(job, moment)
    return replace(planned, status=JobStatus.PAUSED, next_run=None) if paused else planned


def pause(job: ScheduledJob, moment: Moment) -> Plan:
    """Stop new fires; what is pending or running goes on."""
    plan = _accounted(job, moment)
    return _changed(job, replace(plan, job=plan.job.to(JobStatus.PAUSED, moment.now)), moment, "paused")


def resume(job: ScheduledJob, moment: Moment) -> Plan:
    """
    Fire again from now on; nothing that lay in the pause is made up for.

    Raises:
        InvalidTransition: the job is not paused. What has ended becomes active by being rescheduled or retried.
    """
    if job.status is not JobStatus.PAUSED:
        raise InvalidTransition("job", job.status, JobStatus.ACTIVE)
    active = _replanned(job.to(JobStatus.ACTIVE, moment.now), moment, after=moment.now)
    return _changed(job, Plan(job=conclude(active, moment.now)), moment, "resumed")


def cancel(job: ScheduledJob, moment: Moment) -> Plan:
    """End the job for good, with everything of it that is pending or running."""
    plan = _accounted(job, moment)
    ended = plan.job.to(JobStatus.CANCELLED, moment.now)
    return _changed(job, replace(plan, job=ended, cancels_open=True), moment, "cancelled")


def delete(job: ScheduledJob, moment: Moment) -> Plan:
    """Hide the job and end what is pending or running; its ledger stays until retention."""
    plan = _accounted(job, moment)
    live = plan.job.status in {JobStatus.PENDING, JobStatus.ACTIVE, JobStatus.PAUSED}
    ended = plan.job.to(JobStatus.CANCELLED, moment.now) if live else plan.job
    deleted = replace(ended, deleted_at=moment.now, deleted_by=moment.by)
    return _changed(job, replace(plan, job=deleted, cancels_open=True), moment, "deleted")


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
    return _changed(job, plan, moment, "updated")


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
    return _changed(job, plan, moment, "updated")


def reschedule(job: ScheduledJob, definition: JobDefinition, moment: Moment) -> Plan:
    """
    Give the job another timing, or the same again; a completed or failed one becomes active.

    Raises:
        InvalidTransition, InvalidJob, InvalidSchedule: as for `update`.
    """
    plan = _redefined(job, definition, moment)
    return _changed(job, replace(plan, job=_retimed(plan.job, moment)), moment, "rescheduled")


def trigger(job: ScheduledJob, moment: Moment, request: ManualRun) -> Plan:
    """
    Run the job now, once, beside its schedule; no nominal time is consumed.

    Raises:
        InvalidTransition: the job is cancelled, or still pending.
        InvalidJob: the payload cannot be kept.
    """
    payload = kept_document("payload", request.payload)
    if job.status in {JobStatus.CANCELLED, JobStatus.PENDING}:
        raise InvalidTransition("job", job.status, "triggered")
    plan = _accounted(job, moment)
    plan = _with(
        plan,
        moment,
        origin=Origin.MANUAL,
        scheduled_at=moment.now,
        payload=payload,
        idempotency_key=request.idempotency_key,
        trace_id=request.trace_id,
        parent_span_id=request.parent_span_id,
    )
    return _changed(job, plan, moment, "triggered")


def retry(job: ScheduledJob, failed: JobExecution, moment: Moment) -> Plan:
    """
    Run a failed or timed-out execution again, as a new one with `retry_of`.

    A failed one_time job is active again until the retry has ended.

    Raises:
        InvalidTransition: the execution is neither failed nor timed out, or the job is cancelled.
    """
    if failed.status not in {ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT}:
        raise InvalidTransition("execution", failed.status, "retried")
    if job.status is JobStatus.CANCELLED:
        raise InvalidTransition("job", job.status, "retried")
    plan = _accounted(job, moment)
    if plan.job.status is JobStatus.FAILED and job.definition.type is JobType.ONE_TIME:
        plan = replace(plan, job=plan.job.to(JobStatus.ACTIVE, moment.now))
    plan = _with(
        plan,
        moment,
        origin=Origin.RETRY,
        scheduled_at=failed.scheduled_at,
        payload=failed.payload,
        retry_of=failed.id,
        correlation_id=failed.correlation_id,
        trace_id=failed.trace_id,
        parent_span_id=failed.span_id,
    )
    return _changed(job, plan, moment, "retried")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualRun:
    """What a caller hands to a run by hand; the same idempotency key again answers the first execution."""

    payload: Json = None
    idempotency_key: str | None = None
    trace_id: str | None = None
    parent_span_id: str | None = None


def unplannable(job: ScheduledJob, now: datetime, error: str) -> Plan:
    """Fail an active job whose schedule can no longer be computed, so that it blocks nobody else."""
    failed = replace(job.to(JobStatus.FAILED, now), exhausted=True)
    return versioned(job, Plan(job=failed), now, by=None, reason=f"{UNPLANNABLE}: {error}")


def _redefined(job: ScheduledJob, definition: JobDefinition, moment: Moment) -> Plan:
    if job.status is JobStatus.CANCELLED:
        raise InvalidTransition("job", job.status, "changed")
    kept = validate(definition)
    plan = _accounted(job, moment)
    return replace(plan, job=replace(plan.job, definition=kept))


def _accounted(job: ScheduledJob, moment: Moment) -> Plan:
    if job.status is not JobStatus.ACTIVE or job.next_run is None or job.next_run > moment.now:
        return Plan(job=job)
    return catch_up(job, moment.now, moment.occurrences(job), moment.new_id)


def _changed(before: ScheduledJob, plan: Plan, moment: Moment, reason: str) -> Plan:
    return versioned(before, plan, moment.now, by=moment.by, reason=reason)


def _with(plan: Plan, moment: Moment, **fields: Any) -> Plan:  # noqa: ANN401 - the fields of an execution
    """Add one more execution to a plan, which waits if the slots are taken."""
    job, now = plan.job, moment.now
    has_slot = is_admitted(job.definition, job.counters)
    row = new_execution(job, now, now=now, execution_id=moment.new_id(now), has_slot=has_slot)
    counters = counted(job.counters, row)
    return replace(plan, job=replace(job, counters=counters), executions=(*plan.executions, replace(row, **fields)))


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
