"""The Telemetry port in full: lines by structlog, spans and figures by OpenTelemetry."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TextIO

from ...domain.errors import InvalidInput
from ...domain.trace import TraceContext
from ...ports.telemetry import Attribute, Metric, Span, SpanStart
from .complaints import heard
from .exporters import metric_exporters, resource, span_processors, wanted
from .figures import Figures
from .structured_log import StructuredLog

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from .readers import MetricReaders
    from .tracing import Tracing

LAST_WORDS_SECONDS: Final = 2.0
"""How long a node that ends waits for a collector to take what is left."""


class OpenTelemetry(StructuredLog):
    """
    Lines as `StructuredLog` writes them, spans where a provider is given, and figures, which are always kept.

    Nothing of OpenTelemetry is imported before spans are wanted or figures read: that takes a quarter of a second.
    """

    def __init__(
        self,
        *,
        form: str = "console",
        level: str = "info",
        stream: TextIO | None = None,
        instance_id: str = "",
        provider: TracerProvider | None = None,
    ) -> None:
        super().__init__(form=form, level=level, stream=stream)
        self._instance_id = instance_id
        self._figures = Figures()
        self._reading = threading.Lock()
        self._readers: MetricReaders | None = None
        self._tracing: Tracing | None = None
        if provider is not None:
            from .tracing import Tracing  # noqa: PLC0415 - see the class

            self._tracing = Tracing(provider)

    @property
    def traces(self) -> bool:
        """Whether spans go to a provider."""
        return self._tracing is not None

    def current(self) -> TraceContext | None:
        """Tell the innermost span of this task, be it Tocsin's or another's."""
        return super().current() if self._tracing is None else self._tracing.current()

    def span(self, start: SpanStart) -> AbstractContextManager[Span]:
        """Record a span that lasts as long as the block."""
        return super().span(start) if self._tracing is None else self._tracing.span(start)

    def record(self, start: SpanStart, *, ended_at: datetime) -> None:
        """Record a span that is over."""
        if self._tracing is not None:
            self._tracing.record(start, ended_at)

    def add(self, metric: Metric, amount: int = 1, **labels: Attribute) -> None:
        """Raise a counter."""
        self._figures.add(metric, amount, labels)

    def observe(self, metric: Metric, *values: float, **labels: Attribute) -> None:
        """Enter values into a histogram."""
        self._figures.observe(metric, values, labels)

    def gauge(self, metric: Metric, value: float, **labels: Attribute) -> None:
        """Say how high something stands now; not a number takes it away."""
        self._figures.put(metric, value, labels)

    def watch(self, metric: Metric, read: Callable[[], float]) -> None:
        """Have a gauge read whenever somebody asks for it, from whatever thread."""
        self._figures.watch(metric, read)

    def exposition(self) -> bytes:
        """Write every figure in the text format of Prometheus; from any thread."""
        return self.read_by(()).text()

    def read_by(self, exporters: tuple[str, ...]) -> MetricReaders:
        """Have the figures read, for Prometheus and by exporters of these names; the first call decides."""
        with self._reading:
            if self._readers is None:
                from .readers import MetricReaders  # noqa: PLC0415 - see the class

                self._readers = MetricReaders(
                    self._figures, resource(self._instance_id), list(metric_exporters(exporters))
                )
            return self._readers


@asynccontextmanager
async def open_telemetry(*, form: str, level: str, instance_id: str) -> AsyncIterator[OpenTelemetry]:
    """
    Open what the OTEL_* variables name, and send what is left at the end, for `LAST_WORDS_SECONDS` at most.

    Without an exporter spans go to the provider of the program around this, if that has one of OpenTelemetry's SDK.

    Raises:
        InvalidInput: a variable has a value that the SDK cannot use.
    """
    traces, metrics = wanted("TRACES"), wanted("METRICS")
    sends, lines = bool(traces.names or metrics.names), StructuredLog(form=form, level=level)
    for complaint in dict.fromkeys((*traces.complaints, *metrics.complaints)):
        lines.warning("telemetry.unknown", variable=complaint)
    with heard(lines) if sends else nullcontext():
        with _explained():
            own = _provider(traces.names, instance_id)
            provider = own or _surrounding_provider()
            telemetry = OpenTelemetry(form=form, level=level, instance_id=instance_id, provider=provider)
            readers = telemetry.read_by(metrics.names) if metrics.names else None
        try:
            yield telemetry
        finally:
            if sends and not await _in_time(partial(_shut_down, own, readers)):
                lines.warning("telemetry.unsent", limit_seconds=LAST_WORDS_SECONDS)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise InvalidInput.of("OTEL_*", " ".join(str(error).split())) from error


def _shut_down(provider: TracerProvider | None, readers: MetricReaders | None) -> None:
    if provider is not None:
        provider.shutdown()
    if readers is not None:
        readers.shut_down(limit_seconds=LAST_WORDS_SECONDS)


def _provider(names: tuple[str, ...], instance_id: str) -> TracerProvider | None:
    if not names:
        return None
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - see `OpenTelemetry`

    provider = TracerProvider(resource=resource(instance_id), shutdown_on_exit=False)
    for processor in span_processors(names):
        provider.add_span_processor(processor)
    return provider


def _surrounding_provider() -> TracerProvider | None:
    """Give the provider that the program around this has set; there is none if it never imported the SDK."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return None
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - see `OpenTelemetry`
    from opentelemetry.trace import get_tracer_provider  # noqa: PLC0415 - see `OpenTelemetry`

    provider = get_tracer_provider()
    return provider if isinstance(provider, TracerProvider) else None


async def _in_time(work: Callable[[], None]) -> bool:
    """Do it in a thread that nobody waits for longer than `LAST_WORDS_SECONDS`; answer whether it was done by then."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def main() -> None:
        work()
        with suppress(RuntimeError):  # The loop may have closed meanwhile.
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=main, name="tocsin telemetry", daemon=True).start()
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_SECONDS):
            await done.wait()
    return done.is_set()
