"""What each figure of a node is: its kind, its unit, its labels and what it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from ..domain.execution import SkipReason
from ..domain.ledger import FindingKind
from .telemetry import Attribute, Metric


class MetricKind(StrEnum):
    """How the values of a metric come together: added up, standing at a height, or spread over buckets."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A metric in words; `unit` is in UCUM, as OpenTelemetry has it, and `labels` are all that it may carry."""

    kind: MetricKind
    unit: str
    description: str
    labels: tuple[str, ...] = ()


_COUNTER: Final = MetricKind.COUNTER
_GAUGE: Final = MetricKind.GAUGE
_HISTOGRAM: Final = MetricKind.HISTOGRAM
_HANDLER: Final = ("handler_type", "handler")

METRICS: Final[Mapping[Metric, Meaning]] = MappingProxyType(
    {
        Metric.FIRES: Meaning(_COUNTER, "{execution}", "Executions that schedules made."),
        Metric.FIRE_LATENESS: Meaning(
            _HISTOGRAM, "s", "From the nominal time of a scheduled execution to its first start.", _HANDLER
        ),
        Metric.SKIPS: Meaning(_COUNTER, "{time}", "Nominal times that were recorded as skipped.", ("reason",)),
        Metric.DISPATCH_TIME: Meaning(
            _HISTOGRAM, "s", "From when an execution became available to when a node claimed it.", _HANDLER
        ),
        Metric.QUEUE_TIME: Meaning(
            _HISTOGRAM,
            "s",
            "From when an execution was made, or its nominal time if that is later, to its first start.",
            _HANDLER,
        ),
        Metric.RUN_TIME: Meaning(
            _HISTOGRAM, "s", "How long an attempt took its handler, by how it ended.", (*_HANDLER, "outcome")
        ),
        Metric.RUNNING: Meaning(_GAUGE, "{attempt}", "Attempts that this node holds."),
        Metric.DUE_BACKLOG_AGE: Meaning(
            _GAUGE, "s", "How long the most overdue job has been due; of all nodes together."
        ),
        Metric.DUE_JOBS: Meaning(_GAUGE, "{job}", "Jobs that are due and not yet fired; of all nodes together."),
        Metric.READY: Meaning(
            _GAUGE, "{execution}", "Executions that are available and not yet claimed; of all nodes together."
        ),
        Metric.LEASE_LOSSES: Meaning(
            _COUNTER,
            "{lease}",
            "Leases that ended before their attempt: seen expired, given up by their node, or found taken at the end.",
            ("seen",),
        ),
        Metric.RETRIES: Meaning(_COUNTER, "{attempt}", "Attempts that failed and are followed by another.", _HANDLER),
        Metric.EVENTS: Meaning(_COUNTER, "{event}", "Events that came in, by what became of them.", ("outcome",)),
        Metric.LEDGER_ANOMALIES: Meaning(
            _COUNTER, "{finding}", "Findings of the ledger watch that were made twice.", ("kind",)
        ),
        Metric.STORE_TIME: Meaning(_HISTOGRAM, "s", "How long one call of the database took.", ("operation",)),
        Metric.PIPE_TIME: Meaning(_HISTOGRAM, "s", "How long one call of Redis took.", ("operation",)),
        Metric.POOL_IN_USE: Meaning(_GAUGE, "{connection}", "Connections to the database that are at work."),
        Metric.POOL_SIZE: Meaning(_GAUGE, "{connection}", "Connections to the database that are open."),
    },
)

BEGUN: Final[Sequence[tuple[Metric, Mapping[str, Attribute]]]] = (
    *((Metric.SKIPS, {"reason": reason.value}) for reason in SkipReason),
    *((Metric.LEASE_LOSSES, {"seen": seen}) for seen in ("expired", "fenced", "at_end")),
    *(
        (Metric.EVENTS, {"outcome": outcome})
        for outcome in ("matched", "unmatched", "stopped", "duplicate", "set_aside")
    ),
    *((Metric.LEDGER_ANOMALIES, {"kind": kind.value}) for kind in FindingKind),
)
"""Counters that stand at 0 from the start: a rise from nothing at all would be seen by nobody (Prometheus, rate)."""

BUCKETS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0),
)
"""Upper bounds of the buckets of every histogram, in seconds."""
