"""Runs of a job beside its schedule, by hand, again and for events: none of them consumes a nominal time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from .definition import kept_document
from .errors import InvalidTransition
from .execution import ExecutionStatus, JobExecution, Origin
from .job import JobStatus, JobType, ScheduledJob
from .json import EVENT_LIMIT, Json
from .lifecycle import Moment, accounted, changed
from .new_execution import counted, is_admitted, new_execution
from .plan import Plan
from .trace import TraceContext, span_of

EVENT_PAYLOAD_LIMIT: Final = 5 * EVENT_LIMIT // 4
"""Bytes of the payload of an execution that came of an event: one of the largest, with what a job has of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualRun:
    """What a caller hands to a run by hand; the same idempotency key again answers the first execution."""

    payload: Json = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRun:
    """What an event hands to the run of a job; `execution_id` is given where it was promised before."""

    event_id: UUID
    event_handler_id: UUID
    payload: Json
    correlation_id: str
    depth: int
    trace: TraceContext
    execution_id: UUID | None = None


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
    plan = accounted(job, moment)
    plan = _with(
        plan,
        moment,
        origin=Origin.MANUAL,
        scheduled_at=moment.now,
        payload=payload,
        idempotency_key=request.idempotency_key,
        depth=max(job.depth, moment.depth),
        **traced(moment.trace),
    )
    return changed(job, plan, moment, "triggered")


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
    plan = accounted(job, moment)
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
        event_id=failed.event_id,
        event_handler_id=failed.event_handler_id,
        depth=max(failed.depth, moment.depth),
        **traced(failed.trace or moment.trace),
    )
    return changed(job, plan, moment, "retried")


def run_for_event(job: ScheduledJob, moment: Moment, run: EventRun) -> Plan:
    """
    Run the job once for an event; it waits if the slots are taken.

    Unlike a caller's trigger it changes nothing else about the job, so that events never wait for the timer.

    Raises:
        InvalidTransition: the job is cancelled, paused or still pending.
        InvalidJob: the payload cannot be kept.
    """
    if job.status in {JobStatus.CANCELLED, JobStatus.PAUSED, JobStatus.PENDING}:
        raise InvalidTransition("job", job.status, "run by an event")
    promised = {} if run.execution_id is None else {"id": run.execution_id, "span_id": span_of(run.execution_id)}
    return _with(
        Plan(job=job),
        moment,
        origin=Origin.EVENT,
        scheduled_at=moment.now,
        payload=kept_document("payload", run.payload, limit=EVENT_PAYLOAD_LIMIT),
        event_id=run.event_id,
        event_handler_id=run.event_handler_id,
        correlation_id=run.correlation_id,
        depth=run.depth,
        **promised,
        **traced(run.trace),
    )


def traced(parent: TraceContext | None) -> dict[str, Any]:
    """Word as fields of an execution that it goes on with the trace of a parent; without one it has its own."""
    if parent is None:
        return {}
    return {
        "trace_id": parent.trace_id,
        "parent_span_id": parent.span_id,
        "trace_flags": parent.flags,
        "tracestate": parent.tracestate,
    }


def _with(plan: Plan, moment: Moment, **fields: Any) -> Plan:  # noqa: ANN401 - the fields of an execution
    """Add one more execution to a plan, which waits if the slots are taken."""
    job, now = plan.job, moment.now
    has_slot = is_admitted(job.definition, job.counters)
    row = new_execution(job, now, now=now, execution_id=moment.new_id(now), has_slot=has_slot)
    counters = counted(job.counters, row)
    return replace(plan, job=replace(job, counters=counters), executions=(*plan.executions, replace(row, **fields)))
