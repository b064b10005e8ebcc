"""Jobs as rows, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final
from uuid import UUID

from ...domain.counters import JobCounters
from ...domain.definition import document, from_document
from ...domain.job import JobDefinition, JobStatus, JobType, ScheduledJob
from ...domain.json import encoded
from ...domain.plan import JobChange
from .instants import from_micros, to_micros
from .transaction import Parameters, Row

_COUNTERS: Final = tuple(field.name for field in fields(JobCounters))
_DEFINITIONS_KEPT: Final = 2048
_LONGEST_KEPT: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableDefinition(JobDefinition):
    """Stands in for a definition that cannot be read, so that its job can be seen, failed and deleted."""

    problem: str


def own_definition(text: str) -> JobDefinition:
    """Read a definition for somebody who may do with its documents as they like."""
    try:
        return from_document(json.loads(text))
    # A row that somebody else wrote may lack anything and hold anything: each of these says that it does.
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        problem = f"the stored definition cannot be read ({type(error).__name__}: {error})"
        return UnreadableDefinition(
            name="unreadable",
            type=JobType.EVENT,
            handler_name="unreadable",
            description=problem,
            problem=problem,
        )


def shared_definition(text: str) -> JobDefinition:
    """Read a definition for the loops, which meet the same ones again and again and change nothing in them."""
    return _kept_definition(text) if len(text) <= _LONGEST_KEPT else own_definition(text)


# Kept by the text itself, so that no edit of the file, whoever made it, is ever overlooked.
_kept_definition = lru_cache(maxsize=_DEFINITIONS_KEPT)(own_definition)


def job_of(row: Row, definition: JobDefinition) -> ScheduledJob:
    """Read a job with its counters."""
    return ScheduledJob(
        id=UUID(row["id"]),
        definition=definition,
        tenant_id=row["tenant_id"],
        status=JobStatus(row["status"]),
        next_run=from_micros(row["next_run"]),
        last_run=from_micros(row["last_run"]),
        last_nominal=from_micros(row["last_nominal"]),
        exhausted=bool(row["exhausted"]),
        created_by=row["created_by"],
        created_at=from_micros(row["created_at"]),
        updated_at=from_micros(row["updated_at"]),
        completed_at=from_micros(row["completed_at"]),
        cancelled_at=from_micros(row["cancelled_at"]),
        deleted_at=from_micros(row["deleted_at"]),
        deleted_by=row["deleted_by"],
        version=row["version"],
        counters=JobCounters(**{name: row[name] for name in _COUNTERS}),
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
        "updated_at": to_micros(job.updated_at),
        "completed_at": to_micros(job.completed_at),
        "cancelled_at": to_micros(job.cancelled_at),
        "version": job.version,
    }


def definition_row(job: ScheduledJob) -> Parameters:
    """Write what only a request changes."""
    return {
        "id": str(job.id),
        "definition": encoded(document(job.definition)),
        "deleted_at": to_micros(job.deleted_at),
        "deleted_by": job.deleted_by,
    }


def job_row(job: ScheduledJob) -> Parameters:
    """Write a whole new job."""
    return {
        **state_row(job),
        **definition_row(job),
        "tenant_id": job.tenant_id,
        "created_by": job.created_by,
        "created_at": to_micros(job.created_at),
    }


def counters_row(job: ScheduledJob) -> Parameters:
    """Write what a job's executions add up to."""
    counters = job.counters
    return {"job_id": str(job.id)} | {name: getattr(counters, name) for name in _COUNTERS}


def change_row(change: JobChange) -> Parameters:
    """Write one version of a job."""
    return {
        "job_id": str(change.job_id),
        "tenant_id": change.tenant_id,
        "version": change.version,
        "changed_at": to_micros(change.changed_at),
        "changed_by": change.changed_by,
        "reason": change.reason,
        "before": None if change.before is None else encoded(change.before),
        "after": encoded(change.after),
    }


def change_of(row: Row) -> JobChange:
    """Read one version of a job."""
    return JobChange(
        job_id=UUID(row["job_id"]),
        tenant_id=row["tenant_id"],
        version=row["version"],
        changed_at=from_micros(row["changed_at"]),
        changed_by=row["changed_by"],
        reason=row["reason"],
        before=None if row["before"] is None else json.loads(row["before"]),
        after=json.loads(row["after"]),
    )
