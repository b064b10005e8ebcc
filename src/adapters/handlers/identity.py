"""How an attempt introduces itself to what it calls, so that others can tell a retry from a new request."""

from __future__ import annotations

import string
from datetime import UTC
from typing import Final
from urllib.parse import quote

from ...ports.handlers import HandlerContext

HEADERS: Final = frozenset(
    {"idempotency-key", "tocsin-attempt", "tocsin-execution-id", "tocsin-scheduled-at", "traceparent"},
)
"""The names that `headers` may set, in lower case."""

VARIABLE_PREFIX: Final = "TOCSIN_"
"""What every name that `variables` sets starts with."""

_HEADER_SAFE: Final = string.punctuation + " "


def headers(context: HandlerContext) -> dict[str, str]:
    """Write the attempt as HTTP headers; `traceparent` is that of W3C Trace Context."""
    own = {
        "Idempotency-Key": quote(context.idempotency_key, safe=_HEADER_SAFE),
        "Tocsin-Attempt": str(context.attempt),
        "Tocsin-Execution-Id": str(context.execution_id),
        "Tocsin-Scheduled-At": _scheduled_at(context),
    }
    if context.trace_id and context.span_id:
        own["traceparent"] = f"00-{context.trace_id}-{context.span_id}-01"
    return own


def variables(context: HandlerContext) -> dict[str, str]:
    """Write the attempt as environment variables."""
    return {
        "TOCSIN_ATTEMPT": str(context.attempt),
        "TOCSIN_EXECUTION_ID": str(context.execution_id),
        "TOCSIN_IDEMPOTENCY_KEY": context.idempotency_key,
        "TOCSIN_JOB_NAME": context.job_name,
        "TOCSIN_SCHEDULED_AT": _scheduled_at(context),
    }


def _scheduled_at(context: HandlerContext) -> str:
    return context.scheduled_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
