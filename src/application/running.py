"""How a handler is called: within lines and a span that say which attempt it makes."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ..domain.attempt import Attempt
from ..domain.errors import ExecutionTimeout, LeaseLost
from ..domain.trace import TraceContext
from ..ports.handlers import ExecutionRecords, Handler, HandlerContext
from ..ports.telemetry import Telemetry
from .held_attempt import Disposition, HeldAttempt
from .outcomes import call
from .spans import processing

led_by: Final[ContextVar[Attempt | None]] = ContextVar("led_by", default=None)
"""
The attempt whose handler is running here, in a task or a thread of its own; None outside of handlers.

What the handler's code does follows from the attempt's execution, after `depth` events in a row.
"""

_ENDED_FROM_OUTSIDE: Final = MappingProxyType(
    {
        Disposition.TIMED_OUT: (ExecutionTimeout.code, "the attempt ran out of time"),
        Disposition.STOPPED: ("CANCELLED", "the attempt was cancelled"),
        Disposition.FENCED: (LeaseLost.code, "the lease of the attempt was gone"),
        Disposition.HANDED_BACK: ("HANDED_BACK", "the node drained, and gave the attempt back"),
    }
)


def depth_here() -> int:
    """Count the events in a row that led to what is done here."""
    leading = led_by.get()
    return 0 if leading is None else leading.depth


@dataclass(frozen=True, slots=True)
class _Subject:
    """What the task of a handler is about (`ports.telemetry.Subject`)."""

    attempt: Attempt

    @property
    def trace(self) -> TraceContext | None:
        return self.attempt.attempt_trace

    @property
    def fields(self) -> Mapping[str, object]:
        attempt = self.attempt
        return {
            "execution_id": attempt.execution_id,
            "job_id": attempt.job_id,
            "tenant_id": attempt.tenant_id,
            "attempt": attempt.attempt,
        }


async def run(handler: Handler, *, held: HeldAttempt, records: ExecutionRecords, telemetry: Telemetry) -> object:
    """Call a handler, in a task of its own; what it raises is raised."""
    attempt = held.attempt
    led_by.set(attempt)
    telemetry.dedicate(_Subject(attempt))
    if telemetry.traces:
        return await _traced(handler, held=held, records=records, telemetry=telemetry)
    return await call(handler, HandlerContext(attempt, cancellation=held.cancellation, records=records))


async def _traced(handler: Handler, *, held: HeldAttempt, records: ExecutionRecords, telemetry: Telemetry) -> object:
    with telemetry.span(processing(held.attempt)) as span:
        context = HandlerContext(held.attempt, cancellation=held.cancellation, records=records, trace=span.context)
        try:
            return await call(handler, context)
        except BaseException:
            if held.disposition in _ENDED_FROM_OUTSIDE:
                error_type, message = _ENDED_FROM_OUTSIDE[held.disposition]
                span.fail(message, error_type=error_type)
            raise
