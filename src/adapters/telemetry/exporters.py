"""Where spans and figures go, as OpenTelemetry's own variables say; nowhere unless one does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor

Signal = Literal["TRACES", "METRICS"]

KNOWN: Final[Mapping[Signal, frozenset[str]]] = MappingProxyType(
    {
        "TRACES": frozenset({"otlp", "console", "none"}),
        # Prometheus fetches from /metrics in any case.
        "METRICS": frozenset({"otlp", "console", "prometheus", "none"}),
    },
)
PROTOCOL: Final = "http/protobuf"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The exporters that the environment names for one signal, and what of it cannot be followed."""

    names: tuple[str, ...]
    complaints: tuple[str, ...] = ()


def wanted(signal: Signal, environment: Mapping[str, str] = os.environ) -> Wanted:
    """
    Read `OTEL_TRACES_EXPORTER` or `OTEL_METRICS_EXPORTER`.

    Without it an endpoint for OTLP means `otlp`, since nobody sets one for nothing.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Wanted(())
    variable = f"OTEL_{signal}_EXPORTER"
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    implied = "otlp" if any(environment.get(name) for name in endpoints) else "none"
    names = [name.strip().lower() for name in (environment.get(variable) or implied).split(",") if name.strip()]
    unknown = [f"{variable}: {name!r} is not known here" for name in names if name not in KNOWN[signal]]
    sending = tuple(dict.fromkeys(name for name in names if name in {"otlp", "console"}))
    return Wanted(sending, (*unknown, *(_protocol(signal, environment) if "otlp" in sending else ())))


def _protocol(signal: Signal, environment: Mapping[str, str]) -> Iterator[str]:
    for variable in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = environment.get(variable)
        if protocol:
            if protocol != PROTOCOL:
                yield f"{variable}: {protocol!r} is not spoken here, only {PROTOCOL}"
            return


def span_processors(names: tuple[str, ...]) -> Iterator[SpanProcessor]:
    """Make what carries spans away: in batches by a thread of its own, or at once to the console."""
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415 - only who exports waits for this import
        BatchSpanProcessor,
        ConsoleSpanExporter,
        SimpleSpanProcessor,
    )

    if "otlp" in names:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - as above

        yield BatchSpanProcessor(OTLPSpanExporter())
    if "console" in names:
        yield SimpleSpanProcessor(ConsoleSpanExporter())


def metric_exporters(names: tuple[str, ...]) -> Iterator[MetricExporter]:
    """Make what carries figures away."""
    if "otlp" in names:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 - as above

        yield OTLPMetricExporter()
    if "console" in names:
        from opentelemetry.sdk.metrics.export import ConsoleMetricExporter  # noqa: PLC0415 - as above

        yield ConsoleMetricExporter()


def resource(instance_id: str) -> Resource:
    """Say who speaks: the service `tocsin` and this node, unless OTEL_SERVICE_NAME and its kin say otherwise."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415 - as above

    given = OTELResourceDetector().detect().attributes
    own = {"service.name": "tocsin", "service.version": version("tocsin"), "service.instance.id": instance_id}
    return Resource.create({name: value for name, value in own.items() if name not in given})
