"""Events over the wire: as they are published, as they are kept, and what they touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import ConfigDict, Field, RootModel

from ....domain.cloudevents import SPECVERSION
from ....domain.errors import InvalidEvent, InvalidInput
from ....domain.event import Event, EventOrigin, NewEvent
from ....domain.impact import HandlerImpact, Impact, Touch
from ....domain.json import Json
from ....domain.patterns import NAME_BOUNDS
from ....domain.trace import TraceContext, read_trace_context
from ....ports.event_requests import EVENTS_BOUNDS, EventOutcome, EventReport
from ....ports.scheduler import IDEMPOTENCY_KEY_BOUNDS
from .executions import ExecutionOut
from .fields import AnyJson, Instant, ShownInstant, Text, written_instant
from .model import Input, Output


class EventIn(Input):
    """An event to publish; the same idempotency key again happens once, and answers the first outcome."""

    refusal: ClassVar[type[InvalidInput]] = InvalidEvent
    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
        {
            "order": {
                "name": "shop:order.created",
                "data": {"order": 4711, "total": 99.5},
                "source": "https://shop.example.com",
                "idempotency_key": "order-4711",
            },
        }
    )

    name: Annotated[Text, Field(min_length=NAME_BOUNDS[0], max_length=NAME_BOUNDS[1])] = Field(
        description="Segments of letters, digits and _-/@+~, split at . and :."
    )
    data: AnyJson = None
    source: Text | None = None
    subject: Text | None = None
    time: Instant | None = Field(default=None, description="When it happened. Default: now.")
    idempotency_key: (
        Annotated[Text, Field(min_length=IDEMPOTENCY_KEY_BOUNDS[0], max_length=IDEMPOTENCY_KEY_BOUNDS[1])] | None
    ) = None
    correlation_id: Text | None = None
    attributes: dict[str, Any] = Field(default_factory=dict)
    traceparent: str | None = Field(default=None, description="The span that it follows from. Default: the request's.")
    tracestate: str | None = None

    def event(self) -> NewEvent:
        """Give the event as the port takes it; a malformed traceparent counts for nothing."""
        told = {name: getattr(self, name) for name in EventIn.model_fields if name not in _TRACED}
        return NewEvent(**told, trace=read_trace_context(self.traceparent, self.tracestate), origin=EventOrigin.HTTP)


_TRACED = ("traceparent", "tracestate")


def event_document(event: NewEvent) -> Json:
    """Write an event as a caller sends it, without what it does not say."""
    told = {field.name: getattr(event, field.name) for field in fields(NewEvent)}
    trace, _ = told.pop("trace"), told.pop("origin")
    if event.time is not None:
        told["time"] = written_instant(event.time)
    if trace is not None:
        told |= {"traceparent": trace.traceparent, "tracestate": trace.tracestate}
    return {name: value for name, value in told.items() if value is not None}


class CloudEventIn(Input):
    """A CloudEvent in JSON format; every other attribute is an extension, a text, a whole number, true or false."""

    model_config = ConfigDict(extra="allow")

    specversion: str = Field(json_schema_extra={"const": SPECVERSION})
    id: str = Field(description="With `source` it tells repetitions apart: the same again happens once.")
    source: str
    type: str = Field(description="The name of the event.")
    subject: str | None = None
    time: Instant | None = None
    datacontenttype: str | None = None
    dataschema: str | None = None
    data: AnyJson = None
    data_base64: str | None = None


class EventsIn(RootModel[EventIn | Annotated[tuple[EventIn, ...], Field(max_length=EVENTS_BOUNDS[1])]]):
    """An event, or a list of up to 1,000."""

    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = EventIn.examples


class CloudEventsIn(RootModel[Annotated[tuple[CloudEventIn, ...], Field(max_length=EVENTS_BOUNDS[1])]]):
    """A batch of up to 1,000 CloudEvents."""


class AnyDataIn(RootModel[AnyJson]):
    """The data of a CloudEvent in binary content mode, whose attributes are headers: `ce-type`, `ce-source`, …."""


class EventOutcomeOut(Output):
    """
    What came of publishing an event.

    `matched` counts the handlers that acted, or hold it; `executions` are what runs, or will run, because of it.
    `duplicate`: it had been published before, and nothing was done. `outcomes` are the executions of sync handlers.
    """

    event_id: UUID
    matched: int
    executions: tuple[UUID, ...]
    duplicate: bool
    outcomes: tuple[ExecutionOut, ...] | None

    @classmethod
    def of(cls, outcome: EventOutcome) -> EventOutcomeOut:
        """Show an outcome."""
        return cls(
            event_id=outcome.event_id,
            matched=outcome.matched,
            executions=tuple(outcome.execution_ids),
            duplicate=outcome.is_duplicate,
            outcomes=None if outcome.outcomes is None else tuple(map(ExecutionOut.of, outcome.outcomes)),
        )

    def value(self) -> EventOutcome:
        """Read an outcome as it was shown."""
        return EventOutcome(
            event_id=self.event_id,
            matched=self.matched,
            execution_ids=self.executions,
            is_duplicate=self.duplicate,
            outcomes=None if self.outcomes is None else [shown.value() for shown in self.outcomes],
        )


class EventOutcomesOut(Output):
    """What came of a batch, in its order."""

    items: tuple[EventOutcomeOut, ...]


class HandlerImpactOut(Output):
    """What one event handler, at one version, made of an event; `reason` says why it did not act."""

    handler_id: UUID
    handler_version: int
    touch: Touch
    action: str
    reason: str | None
    execution_ids: tuple[UUID, ...]
    job_ids: tuple[UUID, ...]
    event_ids: tuple[UUID, ...]
    replayed_at: ShownInstant | None


class ImpactOut(Output):
    """What an event touched: the handlers whose name matched, in the order in which they acted, and how many others."""

    matched: int
    hash: str
    others: int
    stopped: str | None
    handlers: tuple[HandlerImpactOut, ...]

    def value(self) -> Impact:
        """Read an impact as it was shown."""
        told = [{field.name: getattr(each, field.name) for field in fields(HandlerImpact)} for each in self.handlers]
        return Impact(handlers=tuple(HandlerImpact(**each) for each in told), others=self.others, stopped=self.stopped)


class EventOut(Output):
    """An event as it is kept; `impact` is null until it has been resolved, and in the stream of facts."""

    id: UUID
    tenant_id: str
    name: str
    data: AnyJson
    received_at: ShownInstant
    time: ShownInstant
    origin: EventOrigin
    source: str | None
    subject: str | None
    idempotency_key: str | None
    attributes: dict[str, Any]
    correlation_id: str | None
    cause: UUID | None
    depth: int
    trace_id: str
    span_id: str
    parent_span_id: str | None
    trace_flags: int
    tracestate: str | None
    impact: ImpactOut | None

    @classmethod
    def of(cls, event: Event) -> EventOut:
        """Show an event."""
        return cls(**_shown(event))

    def value(self) -> Event:
        """Read an event as it was shown."""
        trace = TraceContext(
            trace_id=self.trace_id, span_id=self.span_id, flags=self.trace_flags, tracestate=self.tracestate
        )
        impact = None if self.impact is None else self.impact.value()
        shown = {field.name: getattr(self, field.name) for field in fields(Event) if field.name not in _NESTED}
        return Event(**shown, trace=trace, impact=impact)


_NESTED = ("trace", "impact")


def _shown(event: Event) -> dict[str, Any]:
    shown = {field.name: getattr(event, field.name) for field in fields(Event) if field.name not in _NESTED}
    trace = {
        "trace_id": event.trace.trace_id,
        "span_id": event.trace.span_id,
        "trace_flags": event.trace.flags,
        "tracestate": event.trace.tracestate,
    }
    return {**shown, **trace, "impact": None if event.impact is None else ImpactOut.model_validate(event.impact)}


class EventReportOut(EventOut):
    """An event with the executions that came of it and are still kept, the first 250 of them."""

    executions: tuple[ExecutionOut, ...]

    @classmethod
    def of_report(cls, report: EventReport) -> EventReportOut:
        """Show an event with its executions."""
        return cls(**_shown(report.event), executions=tuple(map(ExecutionOut.of, report.executions)))

    def report(self) -> EventReport:
        """Read an event with its executions as it was shown."""
        return EventReport(event=self.value(), executions=[shown.value() for shown in self.executions])
