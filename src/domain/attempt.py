"""
One try of an execution: what it is given, how it may end, and what follows.

An attempt, its outcome and its finish are made for every execution, and nobody changes one, but for when an attempt
begins. They are not frozen all the same, because to freeze an object of so many fields takes three times as long as to
make it (docs/decisions/0022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from .errors import LeaseLost
from .execution import ExecutionStatus, PastAttempt
from .job import Backoff, JobDefinition, JobType
from .json import Json, document_of, document_text
from .trace import TraceContext, attempt_span_of

RETRY_CAP: Final = timedelta(hours=1)
HANDED_BACK: Final = "handed_back"


@dataclass(slots=True)
class Attempt:
    """
    A claimed execution with all that running and settling it needs, and its job's `definition` as that stood.

    (`execution_id`, `attempt`) is the fence of every later write; `started_at` is the store's clock. `available_at` is
    since when it could be claimed. `depth` counts the events in a row that led to it. `claimed_at` is when it was
    claimed; `started_at` is later where that was ahead of its time (`firing.LOOK_AHEAD`), and is when its handler may
    begin; the node that runs it corrects it if that had to wait. `had_begun` says that a handler of the execution began
    before, for another attempt. The fields of its `trace` are kept as they are stored: few ever ask.
    """

    definition: JobDefinition
    execution_id: UUID
    job_id: UUID
    tenant_id: str
    payload: Json
    attempt: int
    failures: int
    max_retries: int
    scheduled_at: datetime
    started_at: datetime
    created_at: datetime | None = None
    available_at: datetime | None = None
    origin: str | None = None
    idempotency_key: str | None = None
    correlation_id: str | None = None
    event_id: UUID | None = None
    depth: int = 0
    trace_id: str | None = None
    span_id: str | None = None
    trace_flags: int = 0
    tracestate: str | None = None
    claimed_at: datetime | None = field(default=None, kw_only=True)
    had_begun: bool = field(default=False, kw_only=True)

    @classmethod
    def of(
        cls,
        definition: JobDefinition,
        execution: Mapping[str, Any],
        *,
        claimed_at: datetime | None = None,
        had_begun: bool = False,
    ) -> Attempt:
        """
        Word what a worker, or a sweeper, needs of a claimed execution: its fields by name, and its job's definition.

        An execution without a payload of its own is given a copy of the job's, which its handler may change.
        """
        return cls.of_fields(definition, _STORED(execution), claimed_at=claimed_at, had_begun=had_begun)

    @classmethod
    def of_fields(
        cls,
        definition: JobDefinition,
        execution: Sequence[Any],
        *,
        claimed_at: datetime | None = None,
        had_begun: bool = False,
    ) -> Attempt:
        """Do as `of` does with the fields of `STORED_FIELDS`, in that order."""
        attempt = cls(definition, *execution, claimed_at=claimed_at, had_begun=had_begun)
        if attempt.payload is None and definition.payload is not None:
            attempt.payload = document_of(document_text(definition.payload))
        if attempt.started_at is None:
            attempt.started_at = attempt.created_at
        return attempt

    @property
    def trace(self) -> TraceContext | None:
        """The span that stands for the execution; None for what was made before there were traces."""
        if self.trace_id is None or self.span_id is None:
            return None
        return TraceContext(
            trace_id=self.trace_id, span_id=self.span_id, flags=self.trace_flags, tracestate=self.tracestate
        )

    @property
    def attempt_trace(self) -> TraceContext | None:
        """The span of this attempt, recorded or not; None for what is older than traces."""
        return self.trace_of_attempt(self.attempt)

    def trace_of_attempt(self, number: int) -> TraceContext | None:
        """Give the span of any attempt of the execution."""
        trace = self.trace
        return None if trace is None else trace.under(attempt_span_of(self.execution_id, number))


STORED_FIELDS: Final = ("id", *[each.name for each in fields(Attempt) if not each.kw_only][2:])
"""What an attempt takes of a stored execution, in this order."""

_STORED: Final = itemgetter(*STORED_FIELDS)


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
    `started_at` is when the handler really began, by the store's clock: later than the claim said if the attempt had to
    wait on its node. Without it an end leaves what the claim said, and what goes back never began.
    `is_of_one_time` says that its job runs once, which with this end is likely over.
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
    is_of_one_time: bool = False

    @property
    def is_handed_back(self) -> bool:
        """Whether its attempt was given up for another, without an end of its own."""
        return self.past_attempt is not None and self.past_attempt.outcome == HANDED_BACK

    @property
    def is_good(self) -> bool:
        """Whether it is a success that left its slot and no error: an end of which a store writes little more."""
        return (
            self.status is ExecutionStatus.SUCCESS
            and self.releases_slot
            and self.error is None
            and self.error_type is None
            and self.error_stack is None
        )

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
    definition = attempt.definition
    factor = 2 ** min(failures - 1, 22) if definition.backoff is Backoff.EXPONENTIAL else 1
    delay = min(timedelta(milliseconds=definition.retry_delay_ms * factor), RETRY_CAP)
    return delay * (1 + definition.retry_jitter * chance)


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
        is_of_one_time=attempt.definition.type is JobType.ONE_TIME,
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
    started_at = attempt.started_at if begun else None
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
            started_at=started_at,
            ended_at=now,
            outcome=HANDED_BACK,
        ),
        releases_slot=False,
        started_at=started_at,
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
