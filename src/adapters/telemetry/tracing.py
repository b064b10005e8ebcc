"""Spans through OpenTelemetry's SDK, with the ids that others know them by already."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextvars import Token
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from types import MappingProxyType, TracebackType
from typing import Final, Self

from opentelemetry import context as otel_context
from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    get_current_span,
    set_span_in_context,
)

from ...domain.trace import SAMPLED, TraceContext
from ...ports.telemetry import Attribute, SpanKind, SpanStart
from .scope import INNERMOST, innermost, leave

SCOPE: Final = "tocsin"
MESSAGE_LENGTH: Final = 1024

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS: Final = MappingProxyType({kind: otel.SpanKind[kind.name] for kind in SpanKind})


class PinnedIds(IdGenerator):
    """Gives a span the ids that are pinned for it, and all others such as another generator makes."""

    def __init__(self, others: IdGenerator) -> None:
        self._others = others
        self._pinned = threading.local()

    def pin(self, trace_id: str | None, span_id: str | None) -> None:
        """Set the ids of the next span that this thread starts; None where any will do."""
        self._pinned.trace_id, self._pinned.span_id = trace_id, span_id

    def generate_trace_id(self) -> int:
        """Give the pinned trace id, or a random one."""
        pinned: str | None = getattr(self._pinned, "trace_id", None)
        return self._others.generate_trace_id() if pinned is None else int(pinned, 16)

    def generate_span_id(self) -> int:
        """Give the pinned span id, or a random one."""
        pinned: str | None = getattr(self._pinned, "span_id", None)
        return self._others.generate_span_id() if pinned is None else int(pinned, 16)


class RecordedSpan:
    """A span of the SDK that is the innermost one, for Tocsin and for OpenTelemetry, while its block lasts."""

    __slots__ = ("_attached", "_failed", "_span", "_token", "context")

    def __init__(self, span: otel.Span, context: TraceContext) -> None:
        self.context = context
        self._span = span
        self._failed = False
        self._token: Token[TraceContext | None] | None = None
        self._attached: Token[Context] | None = None

    def __enter__(self) -> Self:
        """Become the innermost span."""
        self._token = INNERMOST.set(self.context)
        self._attached = otel_context.attach(set_span_in_context(self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, as failed if an exception left the block."""
        if error is not None and not self._failed:
            self.fail(_worded(error), error_type=type(error).__name__)
        self._span.end()
        if self._attached is not None:
            otel_context.detach(self._attached)
        if self._token is not None:
            leave(INNERMOST, self._token)

    def set(self, name: str, value: Attribute) -> None:
        """Set an attribute."""
        self._span.set_attribute(name, value)

    def fail(self, message: str, *, error_type: str | None = None) -> None:
        """Set its status to error; the first reason stands."""
        if self._failed:
            return
        self._failed = True
        self._span.set_status(Status(StatusCode.ERROR, message[:MESSAGE_LENGTH]))
        if error_type is not None:
            self._span.set_attribute("error.type", error_type)


class Tracing:
    """Begins spans with the tracer of a provider, whose sampler decides which of them are recorded."""

    def __init__(self, provider: TracerProvider) -> None:
        tracer = provider.get_tracer(SCOPE, version("tocsin"))
        self._tracer = tracer
        self._ids: PinnedIds | None = None
        if isinstance(tracer, Tracer):
            # A provider of the surrounding program has a generator of its own, and may have met us before.
            known = tracer.id_generator
            self._ids = known if isinstance(known, PinnedIds) else PinnedIds(known)
            tracer.id_generator = self._ids

    def current(self) -> TraceContext | None:
        """Tell the innermost span of this task, be it Tocsin's or another's."""
        context = get_current_span().get_span_context()
        return _read(context, _header(context.trace_state)) if context.is_valid else innermost()

    def span(self, start: SpanStart) -> RecordedSpan:
        """Begin a span now."""
        return self._begun(start)

    def record(self, start: SpanStart, ended_at: datetime) -> None:
        """Write down a span that is over."""
        started = start.started_at or ended_at
        span = self._started(start, started)
        span.end(_nanoseconds(ended_at))

    def _begun(self, start: SpanStart) -> RecordedSpan:
        span = self._started(start, start.started_at)
        context = span.get_span_context()
        given = None if start.parent is None else start.parent.tracestate
        return RecordedSpan(span, _read(context, given or _header(context.trace_state)))

    def _started(self, start: SpanStart, started_at: datetime | None) -> otel.Span:
        if self._ids is not None:
            self._ids.pin(start.trace_id, start.span_id)
        try:
            return self._tracer.start_span(
                start.name,
                context=self._under(start),
                kind=_KINDS[start.kind],
                attributes=start.attributes,
                links=list(_links(start.links)),
                start_time=None if started_at is None else _nanoseconds(started_at),
            )
        finally:
            if self._ids is not None:
                self._ids.pin(None, None)

    def _under(self, start: SpanStart) -> Context:
        if start.parent is None:
            return Context()
        context = _write(start.parent)
        if start.undecided and isinstance(self._tracer, Tracer):
            chance = self._tracer.sampler.should_sample(Context(), context.trace_id, start.name, _KINDS[start.kind])
            flags = TraceFlags(SAMPLED if chance.decision is Decision.RECORD_AND_SAMPLE else 0)
            context = SpanContext(context.trace_id, context.span_id, is_remote=True, trace_flags=flags)
        return set_span_in_context(NonRecordingSpan(context), Context())


def _links(links: Iterable[TraceContext]) -> Iterable[Link]:
    return (Link(_write(link)) for link in links)


def _write(context: TraceContext) -> SpanContext:
    return SpanContext(
        int(context.trace_id, 16),
        int(context.span_id, 16),
        is_remote=context != innermost(),
        trace_flags=TraceFlags(context.flags),
        trace_state=TraceState.from_header([context.tracestate]) if context.tracestate else None,
    )


def _read(context: SpanContext, tracestate: str | None) -> TraceContext:
    return TraceContext(
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        flags=int(context.trace_flags),
        tracestate=tracestate,
    )


def _header(state: TraceState) -> str | None:
    return state.to_header() or None


def _nanoseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000


def _worded(error: BaseException) -> str:
    try:
        return "".join(str(error)) or type(error).__name__
    except BaseException:  # noqa: BLE001 - an exception's words are somebody's code, which may even ask to exit
        return type(error).__name__
