"""Jobs as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any, Final

from ...domain.counters import JobCounters
from ...domain.definition import document
from ...domain.execution import ExecutionStatus
from ...domain.job import JobDefinition, JobStatus, ScheduledJob
from ...domain.json import document_of, encoded
from ...domain.plan import JobChange
from ...domain.swift import placed
from ...domain.trace import TraceContext, read_trace_context
from ...domain.version_documents import AS_IT_STANDS, Definitions, kept_of
from .transaction import Parameters, Row

_CONVERTED: Final = ("definition", "status", "outcome", "created_in", "counters")
_AS_THEY_ARE: Final = [field.name for field in fields(ScheduledJob) if field.name not in _CONVERTED]
_COUNTS: Final = [field.name for field in fields(JobCounters)]
_READ: Final = itemgetter(*_AS_THEY_ARE)
_READ_COUNTERS: Final = itemgetter(*_COUNTS)
_CHANGED: Final = ("job_id", "tenant_id", "version", "changed_at", "changed_by", "reason")
_READ_CHANGE: Final = itemgetter(*_CHANGED)
_change: Final = placed(JobChange, "before", "after", *_CHANGED)
_job: Final = placed(ScheduledJob, *_CONVERTED, *_AS_THEY_ARE)
_counters: Final = placed(JobCounters, *_COUNTS)
_STATUSES: Final = MappingProxyType({status.value: status for status in JobStatus})
_COUNTED: Final = MappingProxyType({name: attrgetter(name) for name in _COUNTS})
_STATE: Final = MappingProxyType(
    {
        name: attrgetter(name)
        for name in (
            "id",
            "status",
            "next_run",
            "last_run",
            "last_nominal",
            "exhausted",
            "outcome",
            "updated_at",
            "completed_at",
            "cancelled_at",
            "deleted_at",
            "deleted_by",
            "version",
        )
    }
)
"""Where a job stands; what is chosen from a few words is a text already."""
_NEVER_NULL: Final = frozenset({"status", "exhausted", "updated_at", "version"})


def job_of(row: Row, counters: Row, definition: JobDefinition) -> ScheduledJob:
    """Read a job with its counters, which may come from a row of their own."""
    return _job(
        definition,
        _STATUSES[row["status"]],
        None if row["outcome"] is None else ExecutionStatus(row["outcome"]),
        _trace_of(row["created_in"]),
        _counters(*_READ_COUNTERS(counters)),
        *_READ(row),
    )


def state_row(job: ScheduledJob) -> Parameters:
    """Write where a job stands."""
    return {name: read(job) for name, read in _STATE.items()}


def state_columns(jobs: Sequence[ScheduledJob], stored: Sequence[ScheduledJob]) -> dict[str, list[Any]]:
    """
    Write where jobs stand, one list for each column of `state_row`; one that says nothing new is empty.

    It is if each job has in it what is stored, or null: a fire moves little of a job.
    """
    columns = {name: list(map(read, jobs)) for name, read in _STATE.items()}
    for name, column in columns.items():
        if name in _NEVER_NULL:
            columns[name] = [] if column == list(map(_STATE[name], stored)) else column
        elif column.count(None) == len(jobs):
            columns[name] = []
    return {**columns, "id": [job.id for job in jobs]}


def counters_columns(jobs: Sequence[ScheduledJob], stored: Sequence[ScheduledJob]) -> dict[str, list[Any]]:
    """Write what the executions of jobs add up to, as `state_columns` writes where they stand."""
    after, before = [job.counters for job in jobs], [job.counters for job in stored]
    columns: dict[str, list[Any]] = {"job_id": [job.id for job in jobs]}
    for name, read in _COUNTED.items():
        column = list(map(read, after))
        columns[name] = [] if column == list(map(read, before)) else column
    return columns


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
    if text is None:
        return None
    traceparent, _, tracestate = text.partition(" ")
    return read_trace_context(traceparent, tracestate or None)


def counters_row(job: ScheduledJob) -> Parameters:
    """Write what a job's executions add up to."""
    return {"job_id": job.id} | {name: read(job.counters) for name, read in _COUNTED.items()}


def change_row(change: JobChange) -> Parameters:
    """Write one version of a job; where it left the definition as it was, without that."""
    before, after = kept_of(change)
    return {
        "job_id": change.job_id,
        "tenant_id": change.tenant_id,
        "version": change.version,
        "changed_at": change.changed_at,
        "changed_by": change.changed_by,
        "reason": change.reason,
        "before": None if before is None else encoded(before),
        "after": encoded(after),
    }


def changes_of(rows: Iterable[Row]) -> list[JobChange]:
    """
    Read versions of one job, oldest first; that one has its `definition` with it if its own documents do not.

    Where it `stands`, its `after` is how the job does.
    """
    changes: list[JobChange] = []
    definitions = Definitions()
    for row in rows:
        if row["definition"] is not None:
            definitions.know(json.loads(row["definition"]))
        after = AS_IT_STANDS if row["stands"] else json.loads(row["after"])
        changes.append(_change(*definitions.whole(document_of(row["before"]), after), *_READ_CHANGE(row)))
    return changes
