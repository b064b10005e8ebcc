"""
One try of an execution: what it is given, how it may end, and what follows.

An attempt, its outcome and its finish are made for every execution, and nobody changes one. They are not frozen all the
same, because to freeze an object of so many fields takes three times as long as to make it (docs/decisions/0022).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from .errors import LeaseLost
from .execution import ExecutionStatus, Origin, PastAttempt
from .job import Backoff, HandlerType, JobDefinition
from .json import Json, document_of, document_text
from .trace import TraceContext

_ORIGINS: Final = MappingProxyType({origin.value: origin for origin in Origin})

RETRY_CAP: Final = timedelta(hours=1)


@dataclass(slots=True, kw_only=True)
class Attempt:
    """
    A claimed execution with all that running and settling it needs.

    (`execution_id`, `attempt`) is the fence of every later write; `started_at` is the store's clock. `trace` is the
    span that stands for the execution; None for what was made before there were traces. `available_at` is since when
    it could be claimed. `depth` counts the events in a row that led to it. `claimed_at` is when it was claimed;
    `started_at` is later where that was ahead of its time (`firing.LOOK_AHEAD`), and is when its handler may begin.
    """

    execution_id: UUID
    job_id: UUID
    tenant_id: str
    job_name: str
    handler_type: HandlerType
    handler_name: str
    payload: Json
    attempt: int
    failures: int
    max_retries: int
    retry_delay_ms: int
    backoff: Backoff
    retry_jitter: float
    timeout_ms: int
    lock_timeout_seconds: int
    scheduled_at: datetime
    started_at: datetime
    idempotency_key: str | None = None
    correlation_id: str | None = None
    event_id: UUID | None = None
    trace: TraceContext | None = None
    origin: Origin | None = None
    created_at: datetime | None = None
    available_at: datetime | None = None
    depth: int = 0
    claimed_at: datetime | None = None

    @classmethod
    def of(cls, definition: JobDefinition, execution: Mapping[str, Any]) -> Attempt:
        """
        Word what a worker, or a sweeper, needs of a claimed execution: its fields by name, and its job's definition.

        An execution without a payload of its own is given a copy of the job's, which its handler may change.
        """
        payload = execution["payload"]
        return cls(
            execution_id=execution["id"],
            job_id=execution["job_id"],
            tenant_id=execution["tenant_id"],
            job_name=definition.name,
            handler_type=definition.handler_type,
            handler_name=definition.handler_name,
            payload=_copied(definition.payload) if payload is None else payload,
            attempt=execution["attempt"],
            failures=execution["failures"],
            max_retries=execution["max_retries"],
            retry_delay_ms=definition.retry_delay_ms,
            backoff=definition.backoff,
            retry_jitter=definition.retry_jitter,
            timeout_ms=definition.timeout_ms,
            lock_timeout_seconds=definition.lock_timeout_seconds,
            scheduled_at=execution["scheduled_at"],
            started_at=execution["started_at"] or execution["created_at"],
            idempotency_key=execution["idempotency_key"],
            correlation_id=execution["correlation_id"],
            event_id=execution["event_id"],
            trace=_trace(execution),
            origin=_ORIGINS[execution["origin"]],
            created_at=execution["created_at"],
            available_at=execution["available_at"],
            depth=execution.get("depth", 0),
            claimed_at=execution.get("claimed_at"),
        )


def _copied(payload: Json) -> Json:
    return document_of(document_text(payload))


def _trace(execution: Mapping[str, Any]) -> TraceContext | None:
    if execution["trace_id"] is None or execution["span_id"] is None:
        return None
    return TraceContext(
        trace_id=execution["trace_id"],
        span_id=execution["span_id"],
        flags=execution["trace_flags"],
        tracestate=execution["tracestate"],
    )


@dataclass(slots=True, kw_only=True)
class Outcome:
    """How an attempt ended, as seen by the node that ran it; `status` is success, failed or timeout."""

    status: ExecutionStatus
    duration_ms: int
    result: Json = None
    error: str | None = None
    error_type: str | None = None
    error_stack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """
    What an execution's row waits for between two attempts.

    `next_retry_at` is None unless the last attempt failed, `dispatched_at` unless the next is available already.
    """

    available_at: datetime
    next_retry_at: datetime | None
    dispatched_at: datetime | None


@dataclass(slots=True, kw_only=True)
class Finish:
    """
    What one attempt leaves in its execution's row, written only while the attempt still holds it.

    `status` is a terminal one, or pending for another attempt at `available_at`, which keeps the slot.
    `releases_slot` is False while the handler of an ended execution is not really gone.
    `lease_expires_at`, where set, must still be the row's: a lease renewed meanwhile is not expired.
    `started_at`, where set, is when the handler really began, by the store's clock: later than the claim said if the
    attempt had to wait on its node.
    """

    execution_id: UUID
    attempt: int
    status: ExecutionStatus
    completed_at: datetime
    duration_ms: int
    failures: int
    result: Json = None
    error: str | None = None
    error_type: str | None = None
    error_stack: str | None = None
    available_at: datetime | None = None
    past_attempt: PastAttempt | None = None
    releases_slot: bool = True
    lease_expires_at: datetime | None = None
    started_at: datetime | None = None

    def is_of(self, attempt: int, lease_expires_at: datetime | None) -> bool:
        """Tell whether a running row, by its attempt and lease, is the one that this was made for."""
        return self.attempt == attempt and self.lease_expires_at in {None, lease_expires_at}

    def wait(self, failures: int, now: datetime) -> Wait:
        """Say what a row that had `failures` waits for once this, a pending one, is written at the store's now."""
        available_at = self.available_at or now
        return Wait(
            available_at=available_at,
            next_retry_at=available_at if self.failures > failures else None,
            dispatched_at=now if available_at <= now else None,
        )


def retry_delay(attempt: Attempt, failures: int, *, chance: float) -> timedelta:
    """
    Say how long to wait before the attempt that follows failure number `failures`.

    delay x 2^(n-1) when exponential, capped at one hour; `chance` in 0..1 then adds its part of the
    jitter, which is a share of the delay (design: job, backoff).
    """
    # The smallest delay, 1 ms, passes the cap at 2^22, so the power never grows large.
    factor = 2 ** min(failures - 1, 22) if attempt.backoff is Backoff.EXPONENTIAL else 1
    delay = min(timedelta(milliseconds=attempt.retry_delay_ms * factor), RETRY_CAP)
    return delay * (1 + attempt.retry_jitter * chance)


def settle(attempt: Attempt, outcome: Outcome, *, chance: float) -> Finish:
    """
    Turn an outcome into what is written: an end, or a wait for another attempt.

    A failure or a time-out is tried again until `max_retries` failures were made up for.
    """
    completed_at = attempt.started_at + timedelta(milliseconds=outcome.duration_ms)
    failed = outcome.status is not ExecutionStatus.SUCCESS
    finish = Finish(
        execution_id=attempt.execution_id,
        attempt=attempt.attempt,
        status=outcome.status,
        completed_at=completed_at,
        duration_ms=outcome.duration_ms,
        failures=attempt.failures + failed,
        result=outcome.result,
        error=outcome.error,
        error_type=outcome.error_type,
        error_stack=outcome.error_stack,
        releases_slot=outcome.status is not ExecutionStatus.TIMEOUT,
        started_at=attempt.started_at,
    )
    if not failed or finish.failures > attempt.max_retries:
        return finish
    return replace(
        finish,
        status=ExecutionStatus.PENDING,
        available_at=completed_at + retry_delay(attempt, finish.failures, chance=chance),
        past_attempt=PastAttempt(
            attempt=attempt.attempt,
            started_at=attempt.started_at,
            ended_at=completed_at,
            outcome=outcome.status.value,
            error=outcome.error,
            error_type=outcome.error_type,
        ),
        releases_slot=False,
    )


def hand_back(attempt: Attempt, now: datetime, *, begun: bool = True) -> Finish:
    """
    Give work back that a node will not see to its end: at once available again, and not counted as a failure.

    What had not begun is available no sooner than it might have begun.
    """
    return Finish(
        execution_id=attempt.execution_id,
        attempt=attempt.attempt,
        status=ExecutionStatus.PENDING,
        completed_at=now,
        duration_ms=max(0, (now - attempt.started_at) // timedelta(milliseconds=1)),
        failures=attempt.failures,
        available_at=now if begun else max(now, attempt.started_at),
        past_attempt=PastAttempt(
            attempt=attempt.attempt,
            started_at=attempt.started_at if begun else None,
            ended_at=now,
            outcome="handed_back",
        ),
        releases_slot=False,
    )


def lose(attempt: Attempt, lease_expires_at: datetime, *, chance: float) -> Finish:
    """
    Settle an attempt whose lease was seen expired: a failure of type LEASE_LOST, at the lease's end.

    If retries are left the next attempt is available at once: the lease has been the delay.
    """
    elapsed = max(0, (lease_expires_at - attempt.started_at) // timedelta(milliseconds=1))
    outcome = Outcome(
        status=ExecutionStatus.FAILED,
        duration_ms=elapsed,
        error="the node that ran this attempt stopped renewing its lease",
        error_type=LeaseLost.code,
    )
    finish = replace(settle(attempt, outcome, chance=chance), lease_expires_at=lease_expires_at)
    if finish.past_attempt is None:
        return finish
    past = replace(finish.past_attempt, outcome="lease_lost")
    return replace(finish, available_at=finish.completed_at, past_attempt=past)


def refuse(finish: Finish) -> Finish:
    """Settle a finish whose content a store cannot keep: failed as STORE_REFUSED, with nothing of that content."""
    return replace(
        finish,
        status=ExecutionStatus.FAILED,
        failures=finish.failures + (finish.status is ExecutionStatus.SUCCESS),
        result=None,
        error="the store refused what this attempt left behind",
        error_type="STORE_REFUSED",
        error_stack=None,
        available_at=None,
        past_attempt=None,
        releases_slot=finish.releases_slot or finish.status is ExecutionStatus.PENDING,
    )
