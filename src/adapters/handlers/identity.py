"""How an attempt introduces itself to what it calls, so that others can tell a retry from a new request."""

from __future__ import annotations

import string
from datetime import UTC
from typing import Final
from urllib.parse import quote

from ...domain.trace import TraceContext
from ...ports.handlers import HandlerContext

HEADERS: Final = frozenset(
    {"idempotency-key", "tocsin-attempt", "tocsin-execution-id", "tocsin-scheduled-at", "traceparent", "tracestate"},
)
"""The names that `headers` may set, in lower case."""

VARIABLE_PREFIX: Final = "TOCSIN_"
"""What every name that `variables` sets starts with, but for those of the trace."""

TRACE_VARIABLES: Final = frozenset({"TRACEPARENT", "TRACESTATE"})

_HEADER_SAFE: Final = string.punctuation + " "


def headers(context: HandlerContext) -> dict[str, str]:
    """Write the attempt as HTTP headers, its span as those of W3C Trace Context."""
    return {
        "Idempotency-Key": quote(context.idempotency_key, safe=_HEADER_SAFE),
        "Tocsin-Attempt": str(context.attempt),
        "Tocsin-Execution-Id": str(context.execution_id),
        "Tocsin-Scheduled-At": _scheduled_at(context),
        **trace_headers(context.trace),
    }


def trace_headers(trace: TraceContext | None) -> dict[str, str]:
    """Write a span as `traceparent` and, if it has any, `tracestate`."""
    if trace is None:
        return {}
    state = {} if trace.tracestate is None else {"tracestate": trace.tracestate}
    return {"traceparent": trace.traceparent, **state}


def variables(context: HandlerContext) -> dict[str, str]:
    """Write the attempt as environment variables, its span as TRACEPARENT and TRACESTATE."""
    return {
        "TOCSIN_ATTEMPT": str(context.attempt),
        "TOCSIN_EXECUTION_ID": str(context.execution_id),
        "TOCSIN_IDEMPOTENCY_KEY": context.idempotency_key,
        "TOCSIN_JOB_NAME": context.job_name,
        "TOCSIN_SCHEDULED_AT": _scheduled_at(context),
        **{name.upper(): value for name, value in trace_headers(context.trace).items()},
    }


def _scheduled_at(context: HandlerContext) -> str:
    return context.scheduled_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
