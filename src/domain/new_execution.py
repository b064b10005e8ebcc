"""A new execution of a job: its record, whether it gets a slot, and how it counts."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Final
from uuid import UUID

from .counters import JobCounters
from .execution import ExecutionStatus, JobExecution, Origin
from .job import JobDefinition, OverlapPolicy, ScheduledJob
from .swift import placed
from .trace import trace_ids_of

# To ask an enum for a member takes longer than to set a field, and these are asked for once per fire.
_ALLOW_ALL: Final = OverlapPolicy.ALLOW_ALL
_PENDING: Final = ExecutionStatus.PENDING
_SCHEDULE: Final = Origin.SCHEDULE

_counters: Final = placed(JobCounters, *[each.name for each in fields(JobCounters)])
_execution: Final = placed(
    JobExecution,
    "id",
    "job_id",
    "job_version",
    "tenant_id",
    "status",
    "origin",
    "scheduled_at",
    "created_at",
    "priority",
    "max_retries",
    "available_at",
    "dispatched_at",
    "holds_slot",
    "depth",
    "trace_id",
    "span_id",
)


def is_admitted(definition: JobDefinition, counters: JobCounters) -> bool:
    """
    Say whether a new execution gets a slot: if one is free and nobody waits for it already.

    Under `allow_all` each gets one, however many there are (design: the protocol, admit).
    """
    is_free = counters.slots_taken < definition.concurrency and not counters.waiting
    return is_free or definition.overlap_policy is _ALLOW_ALL


def counted(counters: JobCounters, row: JobExecution, *, scheduled: int = 0) -> JobCounters:
    """Count a new execution, which holds a slot or waits for one; `scheduled` is 1 for one of the schedule."""
    return _counters(
        counters.executions_count,
        counters.success_count,
        counters.failure_count,
        counters.consecutive_failures,
        counters.duration_total_ms,
        counters.scheduled_count + scheduled,
        counters.slots_taken + row.holds_slot,
        counters.waiting + (not row.holds_slot),
        counters.live + 1,
    )


def new_execution(
    job: ScheduledJob, scheduled_at: datetime, *, now: datetime, execution_id: UUID, has_slot: bool = False
) -> JobExecution:
    """
    Make the pending record of one fire of `job` by its schedule.

    What has a slot is available, though not before its time, and counts as dispatched from now: the sweeper repeats a
    dispatch that a crash swallowed. It begins a trace.
    """
    trace_id, span_id = trace_ids_of(execution_id)
    definition = job.definition
    return _execution(
        execution_id,
        job.id,
        job.version,
        job.tenant_id,
        _PENDING,
        _SCHEDULE,
        scheduled_at,
        now,
        definition.priority,
        definition.max_retries,
        max(now, scheduled_at) if has_slot else None,
        now if has_slot else None,
        has_slot,
        job.depth,
        trace_id,
        span_id,
    )
