"""The span of a call to another system, as OpenTelemetry's conventions for HTTP clients word it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from yarl import URL

from ...domain.trace import TraceContext
from ...ports.telemetry import Attribute, Span, SpanKind, SpanStart, Telemetry


@contextmanager
def client_span(
    telemetry: Telemetry | None, method: str, target: URL, *, parent: TraceContext | None
) -> Iterator[Span | None]:
    """Record the call; without anybody who records spans there is none, and it belongs to its parent's."""
    if telemetry is None or not telemetry.traces:
        yield None
        return
    attributes: dict[str, Attribute] = {
        "http.request.method": method,
        "server.address": target.host or "",
        "server.port": target.port or 0,
        # Credentials and queries may be secrets.
        "url.full": str(target.with_user(None).with_query(None).with_fragment(None)),
    }
    start = SpanStart(name=method, kind=SpanKind.CLIENT, parent=parent or telemetry.current(), attributes=attributes)
    with telemetry.span(start) as span:
        yield span


def tell_status(span: Span, status: int) -> None:
    """Set the status of the answer; 400 and above are errors to a client, whatever its caller expects."""
    span.set("http.response.status_code", status)
    if status >= HTTPStatus.BAD_REQUEST:
        span.fail(f"answered {status}", error_type=str(status))
