from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler
from opentelemetry.trace import StatusCode

from tocsin.adapters.telemetry import OpenTelemetry
from tocsin.domain.trace import TraceContext
from tocsin.ports.telemetry import SpanKind, SpanStart

PARENT = TraceContext(trace_id="4bf92f3577b34da6a3ce929d0e0e4736", span_id="00f067aa0ba902b7", tracestate="vendor=1")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Recorder:
    """A provider of spans that are kept in memory, and telemetry that uses it."""

    sampler: Sampler = field(default_factory=lambda: ParentBased(ALWAYS_ON))

    def __post_init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=self.sampler, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = OpenTelemetry(stream=io.StringIO(), provider=self.provider)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def close(self) -> None:
        self.provider.shutdown()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.close()


def placed(span: ReadableSpan) -> tuple[str, str]:
    assert span.context is not None
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


def test_a_span_has_the_ids_that_others_know_it_by(recorder: Recorder) -> None:
    known = SpanStart(name="known", trace_id="a" * 32, span_id="b" * 16)
    with recorder.telemetry.span(known) as span, recorder.telemetry.span(SpanStart(name="other")) as other:
        pass

    assert placed(recorder.spans["known"]) == ("a" * 32, "b" * 16)
    assert span.context == TraceContext(trace_id="a" * 32, span_id="b" * 16)
    assert other.context.trace_id != "a" * 32
    assert recorder.spans["known"].parent is None


def test_a_span_lies_under_its_parent_with_its_links_and_attributes(recorder: Recorder) -> None:
    link = TraceContext(trace_id="c" * 32, span_id="d" * 16, flags=0)
    start = SpanStart(
        name="work",
        kind=SpanKind.CONSUMER,
        parent=PARENT,
        span_id="b" * 16,
        links=[link],
        attributes={"tocsin.attempt": 2},
    )

    with recorder.telemetry.span(start) as span:
        span.set("http.response.status_code", 200)
    work = recorder.spans["work"]

    assert placed(work) == (PARENT.trace_id, "b" * 16)
    assert work.parent is not None
    assert (f"{work.parent.span_id:016x}", work.parent.is_remote) == (PARENT.span_id, True)
    assert [f"{each.context.span_id:016x}" for each in work.links] == [link.span_id]
    assert work.attributes == {"tocsin.attempt": 2, "http.response.status_code": 200}
    assert work.kind.name == "CONSUMER"
    assert span.context == PARENT.under("b" * 16)


def test_what_the_caller_does_not_record_is_not_recorded_but_has_its_place(recorder: Recorder) -> None:
    unsampled = TraceContext(trace_id=PARENT.trace_id, span_id=PARENT.span_id, flags=0)

    with recorder.telemetry.span(SpanStart(name="work", parent=unsampled, span_id="b" * 16)) as span:
        assert span.context == unsampled.under("b" * 16)

    assert recorder.spans == {}


def test_of_a_trace_that_nobody_has_decided_about_the_sampler_decides() -> None:
    recorder = Recorder(sampler=ParentBased(ALWAYS_OFF))

    with recorder.telemetry.span(SpanStart(name="undecided", parent=PARENT, undecided=True)) as span:
        assert not span.context.is_sampled
    with recorder.telemetry.span(SpanStart(name="decided", parent=PARENT)):
        pass
    recorder.close()

    assert list(recorder.spans) == ["decided"]


def test_an_exception_that_leaves_the_block_fails_the_span_and_goes_on(recorder: Recorder) -> None:
    with pytest.raises(ValueError, match="no good"), recorder.telemetry.span(SpanStart(name="work")):
        raise ValueError("no good")
    work = recorder.spans["work"]

    assert (work.status.status_code, work.status.description) == (StatusCode.ERROR, "no good")
    assert work.attributes == {"error.type": "ValueError"}


def test_the_first_reason_of_a_failure_stands(recorder: Recorder) -> None:
    def run_out_of_time() -> None:
        with recorder.telemetry.span(SpanStart(name="work")) as span:
            span.fail("the attempt ran out of time", error_type="EXECUTION_TIMEOUT")
            raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        run_out_of_time()

    assert recorder.spans["work"].attributes == {"error.type": "EXECUTION_TIMEOUT"}


def test_an_exception_that_cannot_be_read_still_only_fails_the_span(recorder: Recorder) -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    with pytest.raises(Hostile), recorder.telemetry.span(SpanStart(name="work")):
        raise Hostile

    assert recorder.spans["work"].status.description == "Hostile"


def test_what_is_over_is_recorded_with_its_times(recorder: Recorder) -> None:
    start = SpanStart(name="create report", kind=SpanKind.PRODUCER, started_at=NOON, span_id="b" * 16)

    recorder.telemetry.record(start, ended_at=NOON + timedelta(seconds=2, microseconds=7))
    span = recorder.spans["create report"]

    assert span.start_time == 1_772_366_400 * 10**9
    assert span.end_time == span.start_time + 2_000_007_000
    assert recorder.telemetry.current() is None


def test_the_innermost_span_is_told_whoever_began_it(recorder: Recorder) -> None:
    tracer = recorder.provider.get_tracer("another program")
    telemetry = recorder.telemetry

    with tracer.start_as_current_span("theirs") as theirs:
        around = telemetry.current()
        assert around is not None
        assert int(around.span_id, 16) == theirs.get_span_context().span_id
        with telemetry.span(SpanStart(name="ours", parent=around)) as ours:
            assert telemetry.current() == ours.context
            with tracer.start_as_current_span("within"):
                assert telemetry.current() != ours.context
    within, ours_recorded = recorder.spans["within"], recorder.spans["ours"]

    assert within.parent is not None
    assert placed(ours_recorded) == (f"{within.parent.trace_id:032x}", f"{within.parent.span_id:016x}")
    assert telemetry.current() is None
