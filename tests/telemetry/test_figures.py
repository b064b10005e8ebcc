from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.application.rig import Notes
from tocsin.adapters.telemetry import OpenTelemetry, timed
from tocsin.adapters.telemetry.figures import MOST_SERIES, OVERFLOW, Figures
from tocsin.ports.metrics import BUCKETS, METRICS, MetricKind
from tocsin.ports.telemetry import Metric


def shown(telemetry: OpenTelemetry) -> dict[str, float]:
    """Read the text for Prometheus as one reads it: each sample by its name and labels."""
    families = text_string_to_metric_families(telemetry.exposition().decode())
    return {
        sample.name + "".join(f"/{value}" for _, value in sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_every_metric_is_explained() -> None:
    assert set(METRICS) == set(Metric)
    assert all(meaning.description.endswith(".") and meaning.unit for meaning in METRICS.values())
    assert not [metric for metric, meaning in METRICS.items() if {"job", "tenant"} & set(meaning.labels)]


def test_histograms_reach_from_a_millisecond_to_ten_minutes() -> None:
    assert (BUCKETS[0], BUCKETS[-1]) == (0.001, 600)
    assert list(BUCKETS) == sorted(set(BUCKETS))


def test_prometheus_reads_counters_gauges_and_histograms_of_one_name_each() -> None:
    telemetry = OpenTelemetry(stream=io.StringIO(), instance_id="node#1")
    telemetry.add(Metric.FIRES, 2)
    telemetry.add(Metric.FIRES)
    telemetry.gauge(Metric.RUNNING, 7)
    telemetry.gauge(Metric.RUNNING, 3)
    for seconds in (0.001, 0.3, 1000):
        telemetry.observe(Metric.RUN_TIME, seconds, handler_type="function", handler="report", outcome="success")
    read = shown(telemetry)

    assert read["tocsin_fires_total"] == 3
    assert read["tocsin_running"] == 3
    assert read["tocsin_run_time_seconds_bucket/report/function/0.001/success"] == 1
    assert read["tocsin_run_time_seconds_bucket/report/function/0.5/success"] == 2
    assert read["tocsin_run_time_seconds_bucket/report/function/600.0/success"] == 2
    assert read["tocsin_run_time_seconds_bucket/report/function/+Inf/success"] == 3
    assert read["tocsin_run_time_seconds_count/report/function/success"] == 3
    assert read["tocsin_run_time_seconds_sum/report/function/success"] == pytest.approx(1000.301)
    assert shown(telemetry) == read


def test_histograms_are_shown_also_while_nothing_else_is() -> None:
    telemetry = OpenTelemetry(stream=io.StringIO())
    telemetry.observe(Metric.STORE_TIME, 0.2, operation="ledger.claim")

    assert shown(telemetry)["tocsin_store_time_seconds_count/ledger.claim"] == 1


def test_labels_in_another_order_are_the_same_labels() -> None:
    figures = Figures()
    figures.add(Metric.RETRIES, 1, {"a": 1, "b": 2})
    figures.add(Metric.RETRIES, 1, {"b": 2, "a": 1})

    assert [series.value for series in figures.of(Metric.RETRIES)] == [2]


def test_a_gauge_is_taken_away_by_what_is_not_a_number() -> None:
    telemetry = OpenTelemetry(stream=io.StringIO())
    telemetry.gauge(Metric.READY, 3)
    telemetry.gauge(Metric.READY, math.nan)

    assert not [name for name in shown(telemetry) if name.startswith("tocsin_ready")]


def test_a_gauge_that_is_watched_is_read_when_somebody_asks() -> None:
    telemetry, heights = OpenTelemetry(stream=io.StringIO()), iter([3, 7])
    telemetry.watch(Metric.POOL_SIZE, lambda: next(heights))

    assert [shown(telemetry)["tocsin_pool_size"] for _ in range(2)] == [3, 7]


def test_more_labels_than_a_metric_may_have_are_added_up_together() -> None:
    figures = Figures()
    for number in range(MOST_SERIES + 5):
        figures.add(Metric.RETRIES, 1, {"handler": f"handler {number}"})
    series = list(figures.of(Metric.RETRIES))

    assert len(series) == MOST_SERIES + 1
    assert (series[-1].labels, series[-1].value) == (OVERFLOW, 5)


def test_every_metric_with_a_value_has_a_help_line() -> None:
    telemetry = OpenTelemetry(stream=io.StringIO())
    for metric, meaning in METRICS.items():
        if meaning.kind is MetricKind.COUNTER:
            telemetry.add(metric)
        elif meaning.kind is MetricKind.GAUGE:
            telemetry.gauge(metric, 1)
        else:
            telemetry.observe(metric, 1)
    text = telemetry.exposition().decode()

    assert len(re.findall(r"^# HELP tocsin_", text, re.MULTILINE)) == len(METRICS)
    for meaning in METRICS.values():
        assert meaning.description in text


@dataclass(frozen=True)
class Port:
    """Something with calls to be measured."""

    is_shared: bool = True

    async def claim(self, number: int, *, factor: int) -> int:
        return number * factor

    async def fail(self) -> None:
        raise ValueError("no good")

    async def receive(self) -> str:
        return "after a while"


async def test_the_calls_of_a_port_are_measured_as_operations_whether_they_succeed_or_not() -> None:
    notes = Notes()
    port = timed(Port(), notes, Metric.STORE_TIME, name="ledger", but=("receive",))

    assert await port.claim(2, factor=3) == 6
    assert await port.claim(3, factor=3) == 9
    with pytest.raises(ValueError, match="no good"):
        await port.fail()
    assert await port.receive() == "after a while"

    assert port.is_shared
    assert [labels["operation"] for _, _, labels in notes.figures] == ["ledger.claim", "ledger.claim", "ledger.fail"]
    assert all(metric is Metric.STORE_TIME and seconds >= 0 for metric, seconds, _ in notes.figures)


def test_counters_that_an_alarm_may_watch_stand_at_0_before_anything_happened() -> None:
    lines = shown(OpenTelemetry(stream=io.StringIO()))

    assert lines["tocsin_ledger_anomalies_total/missing"] == 0
    assert lines["tocsin_lease_losses_total/expired"] == 0
