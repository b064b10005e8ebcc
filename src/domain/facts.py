"""Tocsin's own facts, as events: what became of jobs and executions, for whoever listens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from types import MappingProxyType
from typing import Final
from uuid import UUID

from .event import Event, EventOrigin
from .execution import ExecutionStatus, JobExecution
from .fields import written
from .job import ScheduledJob
from .json import Json
from .patterns import matches
from .plan import JobChange
from .trace import TraceContext, span_of, trace_of

SOURCE: Final = "tocsin"

EVERY_FACT: Final = "tocsin.**"
"""The pattern that every fact matches."""

JOB_FACTS: Final = MappingProxyType(
    {
        "created": "tocsin.job.created",
        "paused": "tocsin.job.paused",
        "resumed": "tocsin.job.resumed",
        "cancelled": "tocsin.job.cancelled",
        "deleted": "tocsin.job.deleted",
    },
)
"""The reason of a recorded version to the name of the fact; every other reason is `JOB_UPDATED`."""

EXECUTION_CREATED: Final = "tocsin.execution.created"
EXECUTION_STARTED: Final = "tocsin.execution.started"
EXECUTION_RETRYING: Final = "tocsin.execution.retrying"
EXECUTION_FACTS: Final = MappingProxyType(
    {
        ExecutionStatus.SUCCESS: "tocsin.execution.succeeded",
        ExecutionStatus.FAILED: "tocsin.execution.failed",
        ExecutionStatus.TIMEOUT: "tocsin.execution.timed_out",
        ExecutionStatus.CANCELLED: "tocsin.execution.cancelled",
        ExecutionStatus.SKIPPED: "tocsin.execution.skipped",
    },
)
"""How an execution ended to the name of the fact."""

JOB_UPDATED: Final = "tocsin.job.updated"
NODE_LOST: Final = "tocsin.node.lost"
LEDGER_ANOMALY: Final = "tocsin.ledger.anomaly"

FACTS: Final = frozenset(
    {
        *JOB_FACTS.values(),
        JOB_UPDATED,
        EXECUTION_CREATED,
        EXECUTION_STARTED,
        EXECUTION_RETRYING,
        *EXECUTION_FACTS.values(),
        NODE_LOST,
        LEDGER_ANOMALY,
    },
)
"""Every name that Tocsin itself gives to an event."""


@dataclass(frozen=True, slots=True)
class Interest:
    """
    Who listens to facts: (tenant or None for all, pattern) of each listener.

    A store reads it in the transaction that makes facts, and makes none that nobody listens to.
    """

    listeners: tuple[tuple[str | None, str], ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anybody listens at all."""
        return bool(self.listeners)

    def wants(self, tenant_id: str, name: str) -> bool:
        """Tell whether somebody listens to a fact of a tenant."""
        return any(of in {None, tenant_id} and matches(pattern, name) for of, pattern in self.listeners)


def may_be_fact(pattern: str) -> bool:
    """Tell whether a pattern matches any fact at all, so that its handler is a listener."""
    return any(matches(pattern, name) for name in FACTS)


def fact_of_execution(job: ScheduledJob, execution: JobExecution, now: datetime) -> Event | None:
    """
    Word how an execution stands, just after it came to stand so, as an event in its trace and one step further on.

    None if that is no news: work that was handed back at a drain.
    """
    name = name_of_execution(execution)
    if name is None:
        return None
    data: dict[str, Json] = {
        "execution_id": str(execution.id),
        **_told(job),
        "status": execution.status.value,
        "origin": execution.origin.value,
        "scheduled_at": execution.scheduled_at.isoformat(),
        "attempt": execution.attempt,
        "failures": execution.failures,
        "event_id": None if execution.event_id is None else str(execution.event_id),
    }
    optional = ("error", "error_type", "duration_ms", "skip_reason", "covers_count", "worker_id")
    data |= {field: written(value, names={}) for field in optional if (value := getattr(execution, field)) is not None}
    return _fact(
        _Origin(
            tenant_id=execution.tenant_id,
            subject=f"execution/{execution.id}",
            step=execution.attempt,
            trace=execution.trace,
            cause=execution.id,
            correlation_id=execution.correlation_id,
            depth=execution.depth + 1,
        ),
        name,
        data,
        now,
    )


def name_of_execution(execution: JobExecution) -> str | None:
    """Tell under which name the way an execution stands is a fact."""
    if execution.status is ExecutionStatus.RUNNING:
        return EXECUTION_STARTED
    if execution.status is not ExecutionStatus.PENDING:
        return EXECUTION_FACTS[execution.status]
    if execution.attempt == 0:
        return EXECUTION_CREATED
    return None if execution.next_retry_at is None else EXECUTION_RETRYING


def fact_of_change(change: JobChange, job: ScheduledJob, now: datetime) -> Event:
    """Word a recorded version of a job as an event."""
    data: dict[str, Json] = {
        **_told(job),
        "status": job.status.value,
        "version": change.version,
        "reason": change.reason,
        "changed_by": change.changed_by,
    }
    # Of how a job was made the span is known, of its later versions nobody keeps one.
    made_in = job.created_in if change.before is None else None
    origin = _Origin(
        tenant_id=job.tenant_id, subject=f"job/{job.id}", step=change.version, trace=made_in, depth=job.depth + 1
    )
    return _fact(origin, name_of_change(change), data, now)


def name_of_change(change: JobChange) -> str:
    """Tell under which name a recorded version is a fact."""
    return JOB_FACTS.get(change.reason, JOB_UPDATED)


def fact_of_node(name: str, data: Mapping[str, Json], tenant_id: str, *, subject: str, now: datetime) -> Event:
    """Word what a node found out, about another or about a ledger, as an event; once for a subject and instant."""
    return _fact(_Origin(tenant_id=tenant_id, subject=subject, step=0), name, data, now)


def _told(job: ScheduledJob) -> dict[str, Json]:
    definition = job.definition
    return {
        "job_id": str(job.id),
        "job_name": definition.name,
        "job_key": definition.key,
        "job_type": definition.type.value,
        "handler_name": definition.handler_name,
        "tags": list(definition.tags),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """Whence a fact comes; `step` tells apart what is said of one subject at one instant."""

    tenant_id: str
    subject: str
    step: int
    trace: TraceContext | None = None
    cause: UUID | None = None
    correlation_id: str | None = None
    depth: int = 0


def _fact(origin: _Origin, name: str, data: Mapping[str, Json], now: datetime) -> Event:
    event_id = _id_of(name, origin, now)
    trace = trace_of(event_id) if origin.trace is None else origin.trace.under(span_of(event_id))
    return Event(
        id=event_id,
        tenant_id=origin.tenant_id,
        name=name,
        data=data,
        received_at=now,
        time=now,
        origin=EventOrigin.FACT,
        source=SOURCE,
        subject=origin.subject,
        trace=trace,
        parent_span_id=None if origin.trace is None else origin.trace.span_id,
        correlation_id=origin.correlation_id,
        cause=origin.cause,
        depth=origin.depth,
    )


def _id_of(name: str, origin: _Origin, now: datetime) -> UUID:
    """
    Make a UUIDv7 (RFC 9562, 5.7) of an instant and a digest in the place of random bits.

    So one fact has one id however often it is said, and a store needs no source of ids.
    """
    told = f"{name} {origin.subject} {origin.step} {now.isoformat()}"
    milliseconds = int(now.timestamp() * 1000).to_bytes(6, "big")
    digest = blake2b(told.encode(), digest_size=10, person=b"tocsin fact").digest()
    return UUID(bytes=milliseconds + bytes([0x70 | digest[0] & 0x0F, digest[1], 0x80 | digest[2] & 0x3F]) + digest[3:])
