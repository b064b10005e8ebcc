"""What a node says about itself to the people who run it: lines, spans and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from ..domain.trace import TraceContext

Attribute: TypeAlias = str | bool | int | float
"""A value of a span or a label, named as OpenTelemetry's semantic conventions name it where they do."""


class SpanKind(StrEnum):
    """What a span stands for between its parent and its children (OpenTelemetry, span kinds)."""

    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStart:
    """
    What is known of a span when it begins.

    `span_id`, where given, is the id that it must have, because others know it already; `links` are spans of this or
    other traces that led to it beside its parent. Without a parent it begins a trace: its own `trace_id` if given.
    `undecided` says that the trace began with the parent, of whose flags nobody has decided whether it is recorded:
    then that is decided as for a new trace, by every node alike.
    """

    name: str
    kind: SpanKind = SpanKind.INTERNAL
    parent: TraceContext | None = None
    trace_id: str | None = None
    span_id: str | None = None
    links: Sequence[TraceContext] = ()
    attributes: Mapping[str, Attribute] | None = None
    started_at: datetime | None = None
    undecided: bool = False


class Span(Protocol):
    """A span while it lasts; all calls are cheap, and do nothing if nobody records it."""

    @property
    def context(self) -> TraceContext:
        """Where it lies, to be handed on to what happens under it: right also if nobody records it."""

    def set(self, name: str, value: Attribute) -> None:
        """Set an attribute."""

    def fail(self, message: str, *, error_type: str | None = None) -> None:
        """Say that what it stands for went wrong."""


class Metric(StrEnum):
    """Every figure a node keeps, under its OpenTelemetry name; `ports.metrics.METRICS` says what each one is."""

    FIRES = "tocsin.fires"
    FIRE_LATENESS = "tocsin.fire.lateness"
    SKIPS = "tocsin.skips"
    DISPATCH_TIME = "tocsin.dispatch.time"
    QUEUE_TIME = "tocsin.queue.time"
    RUN_TIME = "tocsin.run.time"
    RUNNING = "tocsin.running"
    DUE_BACKLOG_AGE = "tocsin.due.backlog.age"
    DUE_JOBS = "tocsin.due.jobs"
    READY = "tocsin.ready"
    LEASE_LOSSES = "tocsin.lease.losses"
    RETRIES = "tocsin.retries"
    EVENTS = "tocsin.events"
    LEDGER_ANOMALIES = "tocsin.ledger.anomalies"
    STORE_TIME = "tocsin.store.time"
    PIPE_TIME = "tocsin.pipe.time"
    POOL_IN_USE = "tocsin.pool.in_use"
    POOL_SIZE = "tocsin.pool.size"


class Subject(Protocol):
    """What a task is about, asked only once a line or a span wants to know."""

    @property
    def trace(self) -> TraceContext | None:
        """The span that all it does lies under, as long as it has begun none; it is one that nobody records."""

    @property
    def fields(self) -> Mapping[str, object]:
        """The fields of every line that it writes."""


class Telemetry(Protocol):
    """
    Takes one line per noteworthy fact, a dotted lower-case event name and fields, and with it spans and figures.

    Never raises, never blocks on a network, and masks fields that are secrets by their name. Lines that are written
    within a span, or within `about`, carry what it is about.
    """

    @property
    def traces(self) -> bool:
        """Whether spans go anywhere; while they do not, nobody need gather what only they would tell."""

    def debug(self, event: str, **fields: object) -> None:
        """Say what helps only whoever looks for a fault."""

    def info(self, event: str, **fields: object) -> None:
        """Say what an operator may want to read."""

    def warning(self, event: str, **fields: object) -> None:
        """Say what an operator should look at, though the node copes."""

    def error(self, event: str, **fields: object) -> None:
        """Say what went wrong and needs a person."""

    def current(self) -> TraceContext | None:
        """Tell under which span this code runs, be it one of Tocsin's or of the program that Tocsin runs in."""

    def span(self, start: SpanStart) -> AbstractContextManager[Span]:
        """Record a span that lasts as long as the block; an exception that leaves the block marks it as failed."""

    def record(self, start: SpanStart, *, ended_at: datetime) -> None:
        """Record a span that is over: of what is known only afterwards."""

    def dedicate(self, subject: Subject) -> None:
        """
        Have this task be about a subject from here on: its lines, and the spans that begin in it.

        For code that begins a task and has it to itself.
        """

    def add(self, metric: Metric, amount: int = 1, **labels: Attribute) -> None:
        """Raise a counter."""

    def observe(self, metric: Metric, *values: float, **labels: Attribute) -> None:
        """Enter values, seconds where they are times, into a histogram; many at once cost little more than one."""

    def gauge(self, metric: Metric, value: float, **labels: Attribute) -> None:
        """Say how high something stands now; not a number takes it away."""
