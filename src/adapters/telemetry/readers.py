"""The figures as OpenTelemetry's metrics: for Prometheus to fetch, and to be sent to a collector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from time import time_ns
from typing import Any

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    MetricExporter,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.metrics.export import Metric as MetricData
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, generate_latest

from ...ports.metrics import BUCKETS, METRICS, MetricKind
from ...ports.telemetry import Metric
from .figures import Figures

SCOPE = "tocsin"

AddHistograms = Callable[[MetricsData], MetricsData]


class _PrometheusReader(PrometheusMetricReader):
    """Lets Prometheus see what the API's instruments cannot give: histograms that were added up elsewhere."""

    def __init__(self, registry: CollectorRegistry, add: AddHistograms) -> None:
        super().__init__(registry=registry, scope_info_enabled=False)
        self._add = add

    def _receive_metrics(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> None:  # noqa: ANN401 - the base's
        super()._receive_metrics(self._add(metrics_data), timeout_millis, **kwargs)


class _ExportingReader(PeriodicExportingMetricReader):
    """As `_PrometheusReader`, for what is sent each minute (`OTEL_METRIC_EXPORT_INTERVAL`)."""

    def __init__(self, exporter: MetricExporter, add: AddHistograms) -> None:
        self._add = add
        super().__init__(exporter)

    def _receive_metrics(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> None:  # noqa: ANN401 - the base's
        super()._receive_metrics(self._add(metrics_data), timeout_millis, **kwargs)


class MetricReaders:
    """
    Gives out the figures of this process from its start on.

    Counters and gauges are observable instruments. The API has none for histograms, so theirs join on the way out.
    """

    def __init__(self, figures: Figures, resource: Resource, exporters: Sequence[MetricExporter] = ()) -> None:
        self._figures = figures
        self._started_at = time_ns()
        self._registry = CollectorRegistry()
        readers: list[MetricReader] = [_PrometheusReader(self._registry, self._with_histograms)]
        readers += [_ExportingReader(exporter, self._with_histograms) for exporter in exporters]
        self._provider = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        meter = self._provider.get_meter(SCOPE, version("tocsin"))
        for metric, meaning in METRICS.items():
            words: Any = {"unit": meaning.unit, "description": meaning.description}
            if meaning.kind is MetricKind.COUNTER:
                meter.create_observable_counter(metric, [partial(self._observed, metric)], **words)
            elif meaning.kind is MetricKind.GAUGE:
                meter.create_observable_gauge(metric, [partial(self._observed, metric)], **words)

    def text(self) -> bytes:
        """Write everything in the text format of Prometheus."""
        return generate_latest(self._registry)

    def shut_down(self, *, limit_seconds: float) -> None:
        """Send what is there a last time."""
        self._provider.shutdown(timeout_millis=limit_seconds * 1000)

    def _observed(self, metric: Metric, _: CallbackOptions) -> Iterable[Observation]:
        seen = [Observation(series.value, dict(series.labels)) for series in self._figures.of(metric)]
        meaning = METRICS[metric]
        # A counter that begins with its first rise hides that rise from whoever asks for the increase.
        is_known = meaning.kind is MetricKind.COUNTER and not meaning.labels
        return seen or ([Observation(0)] if is_known else [])

    def _with_histograms(self, data: MetricsData) -> MetricsData:
        resource = data.resource_metrics[0]
        scope = resource.scope_metrics[0]
        metrics = [*scope.metrics, *self._histograms()]
        return MetricsData([replace(resource, scope_metrics=[replace(scope, metrics=metrics)])])

    def _histograms(self) -> Iterable[MetricData]:
        for metric, meaning in METRICS.items():
            if meaning.kind is MetricKind.HISTOGRAM and (points := self._points(metric)):
                data = Histogram(points, AggregationTemporality.CUMULATIVE)
                yield MetricData(metric.value, meaning.description, meaning.unit, data)

    def _points(self, metric: Metric) -> list[HistogramDataPoint]:
        now = time_ns()
        return [
            HistogramDataPoint(
                attributes=dict(series.labels),
                start_time_unix_nano=self._started_at,
                time_unix_nano=now,
                count=series.count,
                sum=series.value,
                bucket_counts=list(series.buckets),
                explicit_bounds=BUCKETS,
                min=series.lowest,
                max=series.highest,
            )
            for series in self._figures.of(metric)
        ]
