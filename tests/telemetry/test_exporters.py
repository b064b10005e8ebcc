from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.end_to_end.waiting import until
from tests.telemetry.collector import collecting
from tocsin.adapters.telemetry import open_telemetry
from tocsin.adapters.telemetry.exporters import Signal, wanted
from tocsin.domain.errors import InvalidInput
from tocsin.domain.trace import TraceContext
from tocsin.ports.telemetry import Metric, SpanKind, SpanStart

PARENT = TraceContext(trace_id="4bf92f3577b34da6a3ce929d0e0e4736", span_id="00f067aa0ba902b7", tracestate="vendor=1")


@pytest.mark.parametrize(
    ("environment", "traces", "metrics"),
    [
        ({}, (), ()),
        ({"OTEL_TRACES_EXPORTER": "none"}, (), ()),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, ("otlp",), ()),
        ({"OTEL_TRACES_EXPORTER": " OTLP , console "}, ("otlp", "console"), ()),
        ({"OTEL_METRICS_EXPORTER": "console"}, (), ("console",)),
        ({"OTEL_METRICS_EXPORTER": "prometheus"}, (), ()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, ("otlp",), ("otlp",)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318"}, ("otlp",), ()),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:4318"}, (), ("otlp",)),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_METRICS_EXPORTER": "none"}, ("otlp",), ()),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, (), ()),
    ],
)
def test_the_exporters_are_those_that_opentelemetrys_variables_name(
    environment: Mapping[str, str], traces: tuple[str, ...], metrics: tuple[str, ...]
) -> None:
    assert wanted("TRACES", environment).names == traces
    assert wanted("METRICS", environment).names == metrics
    assert not wanted("TRACES", environment).complaints


@pytest.mark.parametrize(
    ("signal", "environment", "complaint"),
    [
        ("TRACES", {"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER: 'zipkin'"),
        ("TRACES", {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "only http/protobuf"),
        (
            "METRICS",
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json"},
            "only http/protobuf",
        ),
    ],
)
def test_a_variable_that_cannot_be_followed_is_complained_of(
    signal: Signal, environment: Mapping[str, str], complaint: str
) -> None:
    assert complaint in wanted(signal, environment).complaints[0]


async def test_spans_reach_a_collector_as_they_were_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    async with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/v1/traces")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "night-watch")
        async with open_telemetry(form="json", level="info", instance_id="node#1") as telemetry:
            assert telemetry.traces
            start = SpanStart(name="process report", kind=SpanKind.CONSUMER, parent=PARENT, span_id="b" * 16)
            with telemetry.span(start) as span:
                span.fail("no good")
    [received] = collector.spans

    assert collector.services == {"night-watch"}
    assert received.trace_id.hex() == PARENT.trace_id
    assert received.span_id.hex() == "b" * 16
    assert received.parent_span_id.hex() == PARENT.span_id
    assert received.trace_state == "vendor=1"
    assert (received.status.code, received.status.message) == (2, "no good")


async def test_figures_reach_a_collector_histograms_included(monkeypatch: pytest.MonkeyPatch) -> None:
    async with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{collector.url}/v1/metrics")
        async with open_telemetry(form="json", level="info", instance_id="node#1") as telemetry:
            assert not telemetry.traces
            telemetry.add(Metric.FIRES, 3)
            telemetry.observe(Metric.RUN_TIME, 0.2, handler="report", outcome="success")
    [fires] = collector.metrics["tocsin.fires"].sum.data_points
    [run_time] = collector.metrics["tocsin.run.time"].histogram.data_points

    assert fires.as_int == 3
    assert collector.metrics["tocsin.fires"].sum.is_monotonic
    assert (run_time.count, run_time.sum, collector.metrics["tocsin.run.time"].unit) == (1, 0.2, "s")
    assert sum(run_time.bucket_counts) == 1


async def test_a_collector_that_never_answers_does_not_keep_a_node_from_ending(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with collecting() as collector:
        collector.released.clear()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        async with open_telemetry(form="json", level="info", instance_id="node#1") as telemetry:
            with telemetry.span(SpanStart(name="work")):
                pass
        assert not collector.released.is_set()
        assert not collector.spans

    assert _told(capsys, "telemetry.unsent") == [{"limit_seconds": 2.0}]


async def test_a_collector_that_is_not_there_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/v1/traces")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")

    told: list[dict[str, object]] = []
    async with open_telemetry(form="json", level="info", instance_id="node#1") as telemetry:

        async def heard() -> bool:
            with telemetry.span(SpanStart(name="work")):
                told.extend(_told(capsys, "telemetry.failing"))
            return bool(told)

        await until(heard)
        for _ in range(1000):
            with telemetry.span(SpanStart(name="work")):
                pass

    # Another line may come of the last words.
    assert len(told) + len(_told(capsys, "telemetry.failing")) <= 2


async def test_a_variable_that_cannot_be_followed_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")

    async with open_telemetry(form="json", level="info", instance_id="node#1") as telemetry:
        assert not telemetry.traces

    assert len(_told(capsys, "telemetry.unknown")) == 1


@pytest.mark.parametrize(
    ("variable", "value"), [("OTEL_BSP_SCHEDULE_DELAY", "-1"), ("OTEL_METRIC_EXPORT_INTERVAL", "0")]
)
async def test_a_value_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv(variable, value)

    with pytest.raises(InvalidInput, match="OTEL_"):
        await open_telemetry(form="json", level="info", instance_id="node#1").__aenter__()


def test_spans_go_to_the_provider_of_the_program_around_unless_an_exporter_is_named() -> None:
    program = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tocsin.adapters.telemetry import open_telemetry
from tocsin.ports.telemetry import SpanStart

kept = InMemorySpanExporter()
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(kept))

async def main():
    async with open_telemetry(form="json", level="info", instance_id="n") as telemetry:
        with telemetry.span(SpanStart(name="work", span_id="b" * 16)):
            pass
    print([f"{span.context.span_id:x}" for span in kept.get_finished_spans()])

asyncio.run(main())
"""
    assert _run(program) == f"['{'b' * 16}']\n"
    assert _run(program, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9") == "[]\n"


def test_no_exporter_is_imported_before_it_is_needed() -> None:
    program = """
import sys
import tocsin.__main__
late = ("opentelemetry.exporter", "opentelemetry.sdk.trace", "prometheus_client", "google.protobuf", "requests")
print([name for name in sys.modules if name.startswith(late)])
"""
    assert _run(program) == "[]\n"


def _run(program: str, **environment: str) -> str:
    ran = subprocess.run(  # noqa: S603 - the program stands in this file
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return ran.stdout


def _told(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, object]]:
    """Read what was said about one event on standard error."""
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    return [_said(line) for line in lines if line["event"] == event]


def _said(line: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in line.items() if name not in {"event", "level", "timestamp"}}
