"""The use cases of events: `IScheduler` as far as events, and what happens, are concerned, as one tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Unpack
from uuid import UUID

from ..domain.errors import InvalidEvent
from ..domain.event import Event, EventHandler, EventHandlerDefinition, NewEvent
from ..domain.json import Json
from ..ports.conflicts import OnConflict
from ..ports.event_requests import (
    EVENTS_BOUNDS,
    EventHandlerChanges,
    EventOptions,
    EventOutcome,
    EventReport,
    FeedItem,
    FilterTrial,
    Replay,
)
from ..ports.handlers import Handlers
from ..ports.ledger import LogLine
from ..ports.queries import LIMIT_BOUNDS, EventFilter, EventHandlerFilter, ExecutionFilter
from ..ports.storage import Storage
from ..ports.stores import Page
from .event_handlers import EventHandlers
from .events import Events
from .following import Follower
from .known_handlers import KnownHandlers
from .planning import Planning
from .replaying import Replayer, checked_window
from .trying import tried


class EventRequests:
    """What the scheduler does about events; its fields are the scheduler's."""

    __slots__ = ()

    storage: Storage
    planning: Planning
    events: Events
    handlers: Handlers
    tenant_id: str
    actor: str | None

    async def trigger_event(self, name: str, data: Json = None, **options: Unpack[EventOptions]) -> EventOutcome:
        """Publish an event (`IScheduler.trigger_event`)."""
        [outcome] = await self.events.trigger(self.tenant_id, [NewEvent(name=name, data=data, **options)])
        return outcome

    async def trigger_events(self, events: Sequence[NewEvent]) -> Sequence[EventOutcome]:
        """Publish several events (`IScheduler.trigger_events`)."""
        fewest, most = EVENTS_BOUNDS
        if not fewest <= len(events) <= most:
            raise InvalidEvent.of("events", f"must be {fewest} to {most}")
        return await self.events.trigger(self.tenant_id, events)

    async def on_event(
        self, definition: EventHandlerDefinition, *, on_conflict: OnConflict = OnConflict.ERROR
    ) -> EventHandler:
        """Add an event handler (`IScheduler.on_event`)."""
        return await self._event_handlers.add(definition, on_conflict)

    async def get_event_handler(self, handler_id: UUID) -> EventHandler:
        """Read one event handler."""
        return await self.storage.event_handlers.get(self.tenant_id, handler_id)

    async def list_event_handlers(self, query: EventHandlerFilter | None = None) -> Page[EventHandler]:
        """Read the event handlers that match."""
        return await self.storage.event_handlers.list(self.tenant_id, query or EventHandlerFilter())

    async def update_event_handler(
        self, handler_id: UUID, *, expected_version: int | None = None, **changes: Unpack[EventHandlerChanges]
    ) -> EventHandler:
        """Change the named fields of an event handler (`IScheduler.update_event_handler`)."""
        return await self._event_handlers.update(handler_id, changes, expected_version=expected_version)

    async def remove_event_handler(self, handler_id: UUID) -> None:
        """Remove an event handler (`IScheduler.remove_event_handler`)."""
        await self._event_handlers.remove(handler_id)

    async def replay_events(
        self, handler_id: UUID, *, since: datetime, until: datetime | None = None, dry_run: bool = True
    ) -> Replay:
        """Show past events to an event handler (`IScheduler.replay_events`)."""
        handler = await self.get_event_handler(handler_id)
        since, until = checked_window(since=since, until=until or await self.storage.jobs.now())
        replayer = Replayer(store=self.storage.events, resolver=self.events.resolver, events=self.events)
        return await replayer.replay(handler, since=since, until=until, dry_run=dry_run)

    async def try_filter(self, expression: str | None, sample: NewEvent, *, pattern: str | None = None) -> FilterTrial:
        """Say what a filter comes to (`IScheduler.try_filter`)."""
        event = self.events.sample(self.tenant_id, sample)
        return await tried(self.events.resolver.expressions, expression, event, pattern=pattern)

    async def list_events(self, query: EventFilter | None = None) -> Page[Event]:
        """Read events, newest first."""
        return await self.storage.events.list(self.tenant_id, query or EventFilter())

    async def get_event(self, event_id: UUID) -> EventReport:
        """Read an event with what came of it (`IScheduler.get_event`)."""
        event = await self.storage.events.get(self.tenant_id, event_id)
        query = ExecutionFilter(event_id=event_id, limit=LIMIT_BOUNDS[1])
        executions = await self.storage.executions.list(self.tenant_id, query)
        return EventReport(event=event, executions=executions.items)

    def watch(self, *, after: str | None = None) -> AsyncIterator[FeedItem]:
        """Tell what happens to this tenant's jobs and executions (`IScheduler.watch`)."""
        return self._follower.facts(self.tenant_id, after=after)

    def follow_execution_logs(self, execution_id: UUID, *, after: int = 0) -> AsyncIterator[LogLine]:
        """Read what the handler logs as it comes (`IScheduler.follow_execution_logs`)."""
        return self._follower.log_lines(self.tenant_id, execution_id, after=after)

    @property
    def _follower(self) -> Follower:
        return Follower(outbox=self.storage.outbox, executions=self.storage.executions, clock=self.events.clock)

    @property
    def _event_handlers(self) -> EventHandlers:
        return EventHandlers(
            storage=self.storage,
            planning=self.planning,
            expressions=self.events.resolver.expressions,
            known=KnownHandlers(handlers=self.handlers, storage=self.storage),
            tenant_id=self.tenant_id,
            actor=self.actor,
        )
