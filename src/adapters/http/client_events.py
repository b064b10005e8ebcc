"""The client's requests about events and event handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import Final, Unpack
from uuid import UUID

from ...application.events import SYNC_SECONDS
from ...domain.errors import InvalidEvent, InvalidInput
from ...domain.event import Event, EventHandler, EventHandlerDefinition, NewEvent
from ...domain.event_definition import validate_event, validate_handler, validate_sample
from ...domain.json import EVENT_LIMIT, Json, encoded
from ...ports.conflicts import OnConflict
from ...ports.event_requests import (
    EVENTS_BOUNDS,
    EventHandlerChanges,
    EventOptions,
    EventOutcome,
    EventReport,
    FeedItem,
    FilterTrial,
    Replay,
)
from ...ports.queries import EventFilter, EventHandlerFilter
from ...ports.stores import Page
from .client_streams import follow
from .client_words import named
from .transport import Transport
from .wire.event_handlers import EventHandlerOut, definition_document, written_fields
from .wire.events import EventOut, EventOutcomeOut, EventOutcomesOut, EventReportOut, event_document
from .wire.fields import written_instant
from .wire.pages import EventHandlerPage, EventPage, read_page
from .wire.replays import ReplayOut
from .wire.trials import FilterTrialOut

_BATCH_BYTES: Final = EVENT_LIMIT // 2
"""The size of a batch, which is split before it is too large for a body; one event may be larger."""


class EventRequests:
    """The part of `IScheduler` that is about events."""

    _transport: Transport

    async def trigger_event(self, name: str, data: Json = None, **options: Unpack[EventOptions]) -> EventOutcome:
        """Publish an event (`IScheduler.trigger_event`)."""
        [outcome] = await self.trigger_events([NewEvent(name=name, data=data, **options)])
        return outcome

    async def trigger_events(self, events: Sequence[NewEvent]) -> Sequence[EventOutcome]:
        """Publish events (`IScheduler.trigger_events`), in several requests if one would be too large."""
        fewest, most = EVENTS_BOUNDS
        if not fewest <= len(events) <= most:
            raise InvalidEvent.of("events", f"must be {fewest} to {most}")
        bodies = [event_document(validate_event(event)) for event in events]
        outcomes: list[EventOutcome] = []
        for batch in _batches(bodies):
            shown = await self._transport.ask(
                EventOutcomesOut, "POST", "/events", body=batch, extra_seconds=SYNC_SECONDS
            )
            outcomes += map(EventOutcomeOut.value, shown.items)
        return outcomes

    async def list_events(self, query: EventFilter | None = None) -> Page[Event]:
        """Read events, newest first."""
        shown = await self._transport.ask(EventPage, "GET", "/events", query=named(query))
        return read_page(shown, EventOut.value)

    async def get_event(self, event_id: UUID) -> EventReport:
        """Read an event with its impact snapshot and its executions."""
        return (await self._transport.ask(EventReportOut, "GET", f"/events/{event_id}")).report()

    async def watch(self, *, after: str | None = None) -> AsyncIterator[FeedItem]:
        """Tell job and execution facts as they happen (`IScheduler.watch`)."""
        async with follow(self._transport, "/stream", [], after=after) as messages:
            async for message in messages:
                fact = message.read(EventOut).value() if message.data else None
                yield FeedItem(position=message.id or "", fact=fact)

    async def on_event(
        self, definition: EventHandlerDefinition, *, on_conflict: OnConflict = OnConflict.ERROR
    ) -> EventHandler:
        """Add an event handler (`IScheduler.on_event`)."""
        body = definition_document(validate_handler(definition))
        query = [("on_conflict", on_conflict.value)]
        return (await self._transport.ask(EventHandlerOut, "POST", "/event-handlers", query=query, body=body)).value()

    async def get_event_handler(self, handler_id: UUID) -> EventHandler:
        """Read one event handler."""
        return (await self._transport.ask(EventHandlerOut, "GET", f"/event-handlers/{handler_id}")).value()

    async def list_event_handlers(self, query: EventHandlerFilter | None = None) -> Page[EventHandler]:
        """Read the event handlers that match."""
        shown = await self._transport.ask(EventHandlerPage, "GET", "/event-handlers", query=named(query))
        return read_page(shown, EventHandlerOut.value)

    async def update_event_handler(
        self, handler_id: UUID, *, expected_version: int | None = None, **changes: Unpack[EventHandlerChanges]
    ) -> EventHandler:
        """Change the named fields of an event handler (`IScheduler.update_event_handler`)."""
        path, body = f"/event-handlers/{handler_id}", written_fields(changes)
        shown = await self._transport.ask(EventHandlerOut, "PATCH", path, body=body, version=expected_version)
        return shown.value()

    async def remove_event_handler(self, handler_id: UUID) -> None:
        """Remove an event handler (`IScheduler.remove_event_handler`)."""
        await self._transport.tell("DELETE", f"/event-handlers/{handler_id}")

    async def replay_events(
        self, handler_id: UUID, *, since: datetime, until: datetime | None = None, dry_run: bool = True
    ) -> Replay:
        """Show past events to an event handler (`IScheduler.replay_events`)."""
        body: dict[str, Json] = {"dry_run": dry_run}
        for name, at in (("since", since), ("until", until)):
            if at is not None and at.utcoffset() is None:
                raise InvalidInput.of(name, "must have a UTC offset")
            body |= {} if at is None else {name: written_instant(at)}
        path = f"/event-handlers/{handler_id}/replay"
        return (await self._transport.ask(ReplayOut, "POST", path, body=body)).value()

    async def try_filter(self, expression: str | None, sample: NewEvent, *, pattern: str | None = None) -> FilterTrial:
        """Say what a filter comes to (`IScheduler.try_filter`)."""
        body: dict[str, Json] = {"event": pattern, "filter": expression}
        body["sample"] = event_document(validate_sample(sample))
        return (await self._transport.ask(FilterTrialOut, "POST", "/event-handlers/test", body=body)).value()


def _batches(bodies: Sequence[Json]) -> Iterator[Sequence[Json]]:
    """Split bodies into lists that a server reads, in order."""
    batch: list[Json] = []
    size = 0
    for body in bodies:
        length = len(encoded(body).encode())
        if batch and size + length > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(body)
        size += length
    yield batch
