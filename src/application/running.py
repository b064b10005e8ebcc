"""How a handler is called: within lines and a span that say which attempt it makes."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ..domain.errors import ExecutionTimeout, LeaseLost
from ..ports.handlers import Handler, HandlerContext
from ..ports.telemetry import SpanStart, Telemetry
from .held_attempt import Disposition, HeldAttempt
from .outcomes import call
from .spans import processing

_ENDED_FROM_OUTSIDE: Final = MappingProxyType(
    {
        Disposition.TIMED_OUT: (ExecutionTimeout.code, "the attempt ran out of time"),
        Disposition.STOPPED: ("CANCELLED", "the attempt was cancelled"),
        Disposition.FENCED: (LeaseLost.code, "the lease of the attempt was gone"),
        Disposition.HANDED_BACK: ("HANDED_BACK", "the node drained, and gave the attempt back"),
    }
)


async def run(handler: Handler, context: HandlerContext, *, held: HeldAttempt, telemetry: Telemetry) -> object:
    """Call a handler; what it raises is raised."""
    with telemetry.about(
        execution_id=context.execution_id,
        job_id=context.job_id,
        tenant_id=context.tenant_id,
        attempt=context.attempt,
    ):
        if telemetry.traces:
            return await _traced(handler, context, held=held, telemetry=telemetry)
        if context.trace is None:
            return await call(handler, context)
        # What the handler makes belongs to its trace also where nobody records that.
        with telemetry.span(SpanStart(name="process", parent=held.attempt.trace, span_id=context.trace.span_id)):
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
