"""One fire's record, from pending to its end, and its state machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from uuid import UUID

from .errors import InvalidTransition
from .json import Json
from .trace import SAMPLED, TraceContext


class ExecutionStatus(StrEnum):
    """Where an execution stands; see `EXECUTION_TRANSITIONS`."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"

    @property
    def terminal(self) -> bool:
        """True when nothing can follow."""
        return not EXECUTION_TRANSITIONS[self]

    def to(self, status: ExecutionStatus) -> ExecutionStatus:
        """
        Take one step of the state machine.

        Raises:
            InvalidTransition: `EXECUTION_TRANSITIONS` has no such step.
        """
        if status not in EXECUTION_TRANSITIONS[self]:
            raise InvalidTransition("execution", self, status)
        return status


_ENDED: Final = frozenset[ExecutionStatus]()

EXECUTION_TRANSITIONS: Final = MappingProxyType(
    {
        ExecutionStatus.PENDING: frozenset(
            {ExecutionStatus.RUNNING, ExecutionStatus.CANCELLED, ExecutionStatus.SKIPPED},
        ),
        ExecutionStatus.RUNNING: frozenset(
            {
                ExecutionStatus.SUCCESS,
                ExecutionStatus.FAILED,
                ExecutionStatus.TIMEOUT,
                ExecutionStatus.CANCELLED,
                ExecutionStatus.PENDING,
            },
        ),
        ExecutionStatus.SUCCESS: _ENDED,
        ExecutionStatus.FAILED: _ENDED,
        ExecutionStatus.TIMEOUT: _ENDED,
        ExecutionStatus.CANCELLED: _ENDED,
        ExecutionStatus.SKIPPED: _ENDED,
    },
)


class Origin(StrEnum):
    """What made the execution; only `schedule` consumes a nominal time."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    EVENT = "event"
    RETRY = "retry"
    BACKFILL = "backfill"


class SkipReason(StrEnum):
    """Why a nominal time did not run."""

    OVERLAP = "overlap"
    MISFIRE = "misfire"
    WINDOW = "window"
    CALENDAR = "calendar"
    CONCURRENCY = "concurrency"
    QUOTA = "quota"
    SUPERSEDED = "superseded"
    DST_GAP = "dst_gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """An attempt that ended without ending its execution: it failed, lost its lease or was handed back."""

    attempt: int
    started_at: datetime | None
    ended_at: datetime
    outcome: str
    error: str | None = None
    error_type: str | None = None
    worker_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExecution:
    """
    One fire's record, all attempts included.

    `scheduled_at` is the nominal time; a skipped row stands for `covers_count` nominal times up to
    `covers_until`. `available_at` is null while it waits for a slot. `attempt` is the fence and rises
    with each claim; `failures` is what is measured against `max_retries`. `payload` null means the
    job's own at the time of the claim. `holds_slot` outlasts the end while a handler is not really gone.
    `started_at` is the start of the latest attempt, null where that was handed back unbegun.
    """

    id: UUID
    job_id: UUID
    job_version: int
    tenant_id: str
    status: ExecutionStatus
    origin: Origin
    scheduled_at: datetime
    created_at: datetime
    priority: int = 50
    payload: Json = None
    idempotency_key: str | None = None
    available_at: datetime | None = None
    dispatched_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    duration_ms: int | None = None
    attempt: int = 0
    failures: int = 0
    max_retries: int = 0
    next_retry_at: datetime | None = None
    result: Json = None
    error: str | None = None
    error_type: str | None = None
    error_stack: str | None = None
    skip_reason: SkipReason | None = None
    covers_until: datetime | None = None
    covers_count: int | None = None
    worker_id: str | None = None
    lease_expires_at: datetime | None = None
    holds_slot: bool = False
    event_id: UUID | None = None
    event_handler_id: UUID | None = None
    depth: int = 0
    retry_of: UUID | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    trace_flags: int = SAMPLED
    tracestate: str | None = None
    metadata: Json = field(default_factory=dict)
    past_attempts: tuple[PastAttempt, ...] = ()

    @property
    def first_start(self) -> datetime | None:
        """When a handler of it first began, whatever followed; what was handed back unbegun had none."""
        return next((past.started_at for past in self.past_attempts if past.started_at is not None), self.started_at)

    @property
    def trace(self) -> TraceContext | None:
        """The span that stands for it, under which its attempts lie; None for what is older than traces."""
        if self.trace_id is None or self.span_id is None:
            return None
        return TraceContext(
            trace_id=self.trace_id, span_id=self.span_id, flags=self.trace_flags, tracestate=self.tracestate
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenExecution:
    """What of a pending or running execution counts once it is cancelled; there may be very many of them."""

    id: UUID
    job_id: UUID
    status: ExecutionStatus
    origin: Origin
    scheduled_at: datetime
    available_at: datetime | None
    holds_slot: bool
