"""Jobs as rows, and back."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Final

from ...domain.counters import JobCounters
from ...domain.definition import document
from ...domain.execution import ExecutionStatus
from ...domain.job import JobDefinition, JobStatus, ScheduledJob
from ...domain.json import encoded
from ...domain.plan import JobChange
from ...domain.trace import TraceContext, read_trace_context
from .transaction import Parameters, Row

_COUNTERS: Final = tuple(field.name for field in fields(JobCounters))


def job_of(row: Row, counters: Row, definition: JobDefinition) -> ScheduledJob:
    """Read a job with its counters, which may come from a row of their own."""
    return ScheduledJob(
        id=row["id"],
        definition=definition,
        tenant_id=row["tenant_id"],
        status=JobStatus(row["status"]),
        next_run=row["next_run"],
        last_run=row["last_run"],
        last_nominal=row["last_nominal"],
        exhausted=row["exhausted"],
        outcome=None if row["outcome"] is None else ExecutionStatus(row["outcome"]),
        created_by=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        completed_at=row["completed_at"],
        cancelled_at=row["cancelled_at"],
        deleted_at=row["deleted_at"],
        deleted_by=row["deleted_by"],
        created_in=_trace_of(row["created_in"]),
        depth=row["depth"],
        version=row["version"],
        counters=JobCounters(**{name: counters[name] for name in _COUNTERS}),
    )


def state_row(job: ScheduledJob) -> Parameters:
    """Write where a job stands."""
    return {
        "id": job.id,
        "status": job.status.value,
        "next_run": job.next_run,
        "last_run": job.last_run,
        "last_nominal": job.last_nominal,
        "exhausted": job.exhausted,
        "outcome": None if job.outcome is None else job.outcome.value,
        "updated_at": job.updated_at,
        "completed_at": job.completed_at,
        "cancelled_at": job.cancelled_at,
        "deleted_at": job.deleted_at,
        "deleted_by": job.deleted_by,
        "version": job.version,
    }


def definition_row(job: ScheduledJob) -> Parameters:
    """Write what only a request changes."""
    return {"id": job.id, "definition": encoded(document(job.definition))}


def job_row(job: ScheduledJob) -> Parameters:
    """Write a whole new job."""
    return {
        **state_row(job),
        **definition_row(job),
        "tenant_id": job.tenant_id,
        "created_by": job.created_by,
        "created_at": job.created_at,
        "created_in": _trace_text(job.created_in),
        "depth": job.depth,
    }


def _trace_text(trace: TraceContext | None) -> str | None:
    if trace is None:
        return None
    return " ".join(filter(None, (trace.traceparent, trace.tracestate)))


def _trace_of(text: str | None) -> TraceContext | None:
    traceparent, _, tracestate = (text or "").partition(" ")
    return read_trace_context(traceparent, tracestate or None)


def counters_row(job: ScheduledJob) -> Parameters:
    """Write what a job's executions add up to."""
    return {"job_id": job.id} | {name: getattr(job.counters, name) for name in _COUNTERS}


def change_row(change: JobChange) -> Parameters:
    """Write one version of a job."""
    return {
        "job_id": change.job_id,
        "tenant_id": change.tenant_id,
        "version": change.version,
        "changed_at": change.changed_at,
        "changed_by": change.changed_by,
        "reason": change.reason,
        "before": None if change.before is None else encoded(change.before),
        "after": encoded(change.after),
    }


def change_of(row: Row) -> JobChange:
    """Read one version of a job."""
    return JobChange(
        job_id=row["job_id"],
        tenant_id=row["tenant_id"],
        version=row["version"],
        changed_at=row["changed_at"],
        changed_by=row["changed_by"],
        reason=row["reason"],
        before=None if row["before"] is None else json.loads(row["before"]),
        after=json.loads(row["after"]),
    )
