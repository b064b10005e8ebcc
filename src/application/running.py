"""How a handler is called: within lines and a span that say which attempt it makes."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ..domain.attempt import Attempt
from ..domain.errors import ExecutionTimeout, LeaseLost
from ..ports.handlers import Handler, HandlerContext
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


async def run(handler: Handler, context: HandlerContext, *, held: HeldAttempt, telemetry: Telemetry) -> object:
    """Call a handler, in a task of its own; what it raises is raised."""
    led_by.set(held.attempt)
    telemetry.dedicate(
        None if telemetry.traces else context.trace,
        execution_id=context.execution_id,
        job_id=context.job_id,
        tenant_id=context.tenant_id,
        attempt=context.attempt,
    )
    if telemetry.traces:
        return await _traced(handler, context, held=held, telemetry=telemetry)
    return await call(handler, context)


async def _traced(handler: Handler, context: HandlerContext, *, held: HeldAttempt, telemetry: Telemetry) -> object:
    with telemetry.span(processing(held.attempt)) as span:
        try:
            return await call(handler, replace(context, trace=span.context))
        except BaseException:
            if held.disposition in _ENDED_FROM_OUTSIDE:
                error_type, message = _ENDED_FROM_OUTSIDE[held.disposition]
                span.fail(message, error_type=error_type)
            raise
