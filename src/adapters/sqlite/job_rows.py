"""Jobs as rows, and back."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from types import MappingProxyType
from typing import Final
from uuid import UUID

from ...domain.counters import JobCounters
from ...domain.definition import document
from ...domain.execution import ExecutionStatus
from ...domain.job import JobDefinition, JobStatus, ScheduledJob
from ...domain.json import encoded
from ...domain.swift import swift
from ...domain.trace import TraceContext, read_trace_context
from .instants import from_micros, to_micros
from .transaction import Parameters, Row

_Job: Final = swift(ScheduledJob)
_Counters: Final = swift(JobCounters)
_STATUSES: Final = MappingProxyType({status.value: status for status in JobStatus})
_COUNTERS: Final = tuple(field.name for field in fields(JobCounters))
_COUNTS: Final = attrgetter(*_COUNTERS)


def job_of(row: Row, definition: JobDefinition) -> ScheduledJob:
    """Read a job with its counters."""
    return _Job(
        id=UUID(row["id"]),
        definition=definition,
        tenant_id=row["tenant_id"],
        status=_STATUSES[row["status"]],
        next_run=from_micros(row["next_run"]),
        last_run=from_micros(row["last_run"]),
        last_nominal=from_micros(row["last_nominal"]),
        exhausted=bool(row["exhausted"]),
        outcome=None if row["outcome"] is None else ExecutionStatus(row["outcome"]),
        created_by=row["created_by"],
        created_at=from_micros(row["created_at"]),
        updated_at=from_micros(row["updated_at"]),
        completed_at=from_micros(row["completed_at"]),
        cancelled_at=from_micros(row["cancelled_at"]),
        deleted_at=from_micros(row["deleted_at"]),
        deleted_by=row["deleted_by"],
        created_in=_trace_of(row["created_in"]),
        depth=row["depth"],
        version=row["version"],
        counters=_Counters(**{name: row[name] for name in _COUNTERS}),
    )


def state_row(job: ScheduledJob) -> Parameters:
    """Write where a job stands."""
    return {
        "id": str(job.id),
        "status": job.status.value,
        "next_run": to_micros(job.next_run),
        "last_run": to_micros(job.last_run),
        "last_nominal": to_micros(job.last_nominal),
        "exhausted": job.exhausted,
        "outcome": None if job.outcome is None else job.outcome.value,
        "updated_at": to_micros(job.updated_at),
        "completed_at": to_micros(job.completed_at),
        "cancelled_at": to_micros(job.cancelled_at),
        "deleted_at": to_micros(job.deleted_at),
        "deleted_by": job.deleted_by,
        "version": job.version,
    }


def definition_row(job: ScheduledJob) -> Parameters:
    """Write what only a request changes."""
    return {"id": str(job.id), "definition": encoded(document(job.definition))}


def job_row(job: ScheduledJob) -> Parameters:
    """Write a whole new job."""
    return {
        **state_row(job),
        **definition_row(job),
        "tenant_id": job.tenant_id,
        "created_by": job.created_by,
        "created_at": to_micros(job.created_at),
        "created_in": _trace_text(job.created_in),
        "depth": job.depth,
    }


def advance_row(job: ScheduledJob) -> tuple[object, ...]:
    """Write how far a job has come, and what must not be another for that to be all."""
    return (
        to_micros(job.next_run),
        to_micros(job.last_run),
        to_micros(job.last_nominal),
        job.exhausted,
        str(job.id),
        None if job.outcome is None else job.outcome.value,
        job.status.value,
        job.version,
        to_micros(job.updated_at),
    )


def standing_row(job: ScheduledJob) -> tuple[object, ...]:
    """Write how a job stands."""
    return (
        job.status.value,
        None if job.outcome is None else job.outcome.value,
        to_micros(job.completed_at),
        to_micros(job.updated_at),
        job.version,
        str(job.id),
    )


def counters_row(job: ScheduledJob) -> tuple[object, ...]:
    """Write what a job's executions add up to: the fields of `JobCounters` in their order, then the job's id."""
    return *_COUNTS(job.counters), str(job.id)


def _trace_text(trace: TraceContext | None) -> str | None:
    """Write a span as its traceparent, with its tracestate behind a space."""
    return None if trace is None else " ".join(filter(None, (trace.traceparent, trace.tracestate)))


def _trace_of(text: str | None) -> TraceContext | None:
    traceparent, _, tracestate = (text or "").partition(" ")
    return read_trace_context(traceparent, tracestate or None)
