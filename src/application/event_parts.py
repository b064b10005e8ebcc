"""Everything of a node that has to do with events, put together from ports."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from ..ports.clock import Clock
from ..ports.dispatcher import Dispatcher
from ..ports.event_streams import EventExport, EventIntake
from ..ports.expressions import Expressions
from ..ports.storage import Storage
from ..ports.telemetry import Telemetry
from .arrivals import Arrivals
from .event_retention import EventRetention
from .events import Events, EventWakers
from .gatherer import Gatherer
from .planning import Planning
from .relay import EXPORT, RELAY, Exporter, Relay
from .resolver import Resolver
from .retention import KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPorts:
    """What events are made of; without an `intake` no stream is read, without an `export` none is written."""

    storage: Storage
    expressions: Expressions
    planning: Planning
    dispatcher: Dispatcher
    clock: Clock
    telemetry: Telemetry
    wakers: EventWakers = field(default_factory=EventWakers)
    intake: EventIntake | None = None
    export: EventExport | None = None
    keep: timedelta = KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class EventParts:
    """The use cases of events and the agents of their loops."""

    events: Events
    gatherer: Gatherer
    relay: Relay
    exporter: Exporter | None
    retention: EventRetention
    arrivals: Arrivals | None

    @classmethod
    def of(cls, ports: EventPorts) -> EventParts:
        """Put them together."""
        storage = ports.storage
        events = Events(
            store=storage.events,
            executions=storage.executions,
            resolver=Resolver(storage.event_handlers, ports.expressions),
            planning=ports.planning,
            dispatcher=ports.dispatcher,
            clock=ports.clock,
            telemetry=ports.telemetry,
            wakers=ports.wakers,
        )
        return cls(
            events=events,
            gatherer=Gatherer(store=storage.events, resolver=events.resolver, events=events),
            relay=Relay(outbox=storage.outbox, events=events, telemetry=ports.telemetry),
            exporter=None
            if ports.export is None
            else Exporter(outbox=storage.outbox, export=ports.export, clock=ports.clock, telemetry=ports.telemetry),
            retention=EventRetention(
                events=storage.events,
                outbox=storage.outbox,
                telemetry=ports.telemetry,
                keep=ports.keep,
                consumers=(RELAY,) if ports.export is None else (RELAY, EXPORT),
            ),
            arrivals=None
            if ports.intake is None
            else Arrivals(intake=ports.intake, events=events, telemetry=ports.telemetry),
        )
