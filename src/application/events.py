"""Events from their arrival to their outcome: built, resolved, stored with all that they do, and handed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from ..domain.errors import StoreUnavailable
from ..domain.event import Event, NewEvent
from ..domain.event_definition import validate_event
from ..domain.execution import JobExecution
from ..domain.flow import Gathering
from ..domain.impact import Impact, Touch
from ..domain.resolution import Resolved
from ..domain.trace import span_of, trace_of
from ..ports.clock import Clock
from ..ports.dispatcher import Dispatcher
from ..ports.events import EventStore, Fanned, HandlersChanged, Triggered
from ..ports.scheduler import EventOutcome
from ..ports.stores import ExecutionStore
from ..ports.telemetry import Telemetry
from .handing_on import hand_on
from .intake import Intake
from .noted_fan_out import NotedFanOut
from .planning import Planning
from .resolver import Resolver

REVISIONS: Final = 20
"""How often a batch is resolved again because event handlers changed meanwhile, before that is a failure."""

SYNC_SECONDS: Final = 30.0
"""How long a trigger waits for its `sync` handlers."""

_FIRST_LOOK: Final = 0.02
_LONGEST_LOOK: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class EventWakers:
    """Whom an event wakes: the timer, the heartbeat, the loop of gatherings and the relay."""

    timer: Callable[[], None] = lambda: None
    heartbeat: Callable[[], None] = lambda: None
    gatherer: Callable[[], None] = lambda: None
    relay: Callable[[], None] = lambda: None


@dataclass(slots=True, kw_only=True)
class Events:
    """What every way in and every loop of events shares; of no tenant."""

    store: EventStore
    executions: ExecutionStore
    resolver: Resolver
    planning: Planning
    dispatcher: Dispatcher
    clock: Clock
    telemetry: Telemetry
    wakers: EventWakers = field(default_factory=EventWakers)
    _intake: Intake = field(init=False)

    def __post_init__(self) -> None:
        """Give events a place to gather in while others are being stored."""
        self._intake = Intake(self._store)

    async def trigger(self, tenant_id: str, events: Sequence[NewEvent]) -> Sequence[EventOutcome]:
        """
        Take events of one tenant in; answer when all that they do is committed, and their `sync` handlers are through.

        Raises:
            InvalidEvent: one of them breaks a bound; none is taken in.
        """
        return [await self._outcome(each) for each in await self.accept(tenant_id, events)]

    async def accept(self, tenant_id: str, events: Sequence[NewEvent]) -> Sequence[Triggered]:
        """
        Take events of one tenant in; answer when all that they do is committed, and wait for no `sync` handlers.

        Raises:
            InvalidEvent: one of them breaks a bound; none is taken in.
        """
        kept = [validate_event(event) for event in events]
        return await self.take([self._event(tenant_id, event) for event in kept])

    async def take(self, events: Sequence[Event]) -> Sequence[Triggered]:
        """Take in events that are complete."""
        return await self._intake.take(events)

    async def revisit(self, batch: Sequence[Resolved], *, closes: Sequence[Gathering] = ()) -> Fanned:
        """Show stored events to handlers again (`EventStore.revisit`), and hand on what comes of it."""
        decide = NotedFanOut(self.planning)
        fanned = await self.store.revisit(batch, decide, closes=closes)
        decide.tell(fanned, self.telemetry, new=False)
        await self._hand_on(fanned)
        return fanned

    def _event(self, tenant_id: str, new: NewEvent) -> Event:
        """Complete an event; it goes on with the trace of whoever published it, or begins one."""
        now = self.clock.now()
        event_id = self.planning.new_id(now)
        parent = new.trace or self.telemetry.current()
        return Event(
            id=event_id,
            tenant_id=tenant_id,
            name=new.name,
            data=new.data,
            received_at=now,
            time=new.time or now,
            origin=new.origin,
            trace=trace_of(event_id) if parent is None else parent.under(span_of(event_id)),
            parent_span_id=None if parent is None else parent.span_id,
            source=new.source,
            subject=new.subject,
            idempotency_key=new.idempotency_key,
            attributes=new.attributes,
            correlation_id=new.correlation_id,
        )

    async def _store(self, events: Sequence[Event]) -> Sequence[Triggered]:
        """Resolve and store a batch; where the registry of handlers moved on in between, again."""
        for attempt in range(REVISIONS):
            revision = await self.resolver.revision(afresh=attempt > 0)
            batch = [await self.resolver.resolve(event) for event in events]
            decide = NotedFanOut(self.planning)
            try:
                fanned = await self.store.trigger(batch, decide, revision=revision)
            except HandlersChanged:
                continue
            decide.tell(fanned, self.telemetry, new=True)
            await self._hand_on(fanned)
            return fanned.events
        raise StoreUnavailable("event handlers are being changed faster than events can be resolved")

    async def _hand_on(self, fanned: Fanned) -> None:
        fresh = [each.event for each in fanned.events if not each.is_duplicate]
        touches = [told for event in fresh for told in (event.impact or Impact()).handlers]
        if fanned.jobs:
            self.wakers.timer()
        if fanned.stopped:
            self.wakers.heartbeat()
        if any(told.touch is Touch.HELD for told in touches):
            self.wakers.gatherer()
        if any(told.event_ids for told in touches):
            self.wakers.relay()
        await hand_on(fanned.dispatches, to=self.dispatcher, telemetry=self.telemetry)

    async def _outcome(self, triggered: Triggered) -> EventOutcome:
        event = triggered.event
        impact = event.impact or Impact()
        awaited = self.resolver.synchronous(event)
        ids = [id_ for told in impact.handlers if told.handler_id in awaited for id_ in told.execution_ids]
        return EventOutcome(
            event_id=event.id,
            matched=impact.matched,
            execution_ids=impact.execution_ids,
            is_duplicate=triggered.is_duplicate,
            outcomes=await self._ended(event.tenant_id, ids) if ids else None,
        )

    async def _ended(self, tenant_id: str, ids: Sequence[UUID]) -> Sequence[JobExecution]:
        """Wait for executions, whichever node runs them; answer them as they ended, or stand when the time is up."""
        found: dict[UUID, JobExecution] = {}
        look, deadline = _FIRST_LOOK, self.clock.monotonic() + SYNC_SECONDS
        while True:
            for id_ in ids:
                if id_ not in found or not found[id_].status.terminal:
                    found[id_] = await self.executions.get(tenant_id, id_)
            is_over = all(execution.status.terminal for execution in found.values())
            if is_over or self.clock.monotonic() >= deadline:
                return [found[id_] for id_ in ids]
            await asyncio.sleep(look)
            look = min(look * 2, _LONGEST_LOOK)
