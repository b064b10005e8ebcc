"""Events from their arrival to their outcome: built, resolved, stored with all that they do, and handed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from ..domain.errors import ExecutionNotFound, StoreUnavailable
from ..domain.event import Event, NewEvent
from ..domain.event_definition import validate_event, validate_sample
from ..domain.execution import JobExecution
from ..domain.flow import Gathering
from ..domain.impact import Impact, Touch
from ..domain.resolution import Resolved
from ..domain.trace import span_of, trace_of
from ..ports.clock import Clock
from ..ports.dispatcher import Dispatcher
from ..ports.event_requests import EventOutcome
from ..ports.events import EventStore, Fanned, HandlersChanged, Triggered
from ..ports.stores import ExecutionStore
from ..ports.telemetry import Telemetry
from .handing_on import hand_on
from .intake import BATCH, Intake
from .noted_fan_out import NotedFanOut
from .planning import Planning
from .resolver import Resolution, Resolver
from .running import led_by

REVISIONS: Final = 20
"""How often a batch is resolved again because event handlers changed meanwhile, before that is a failure."""

SYNC_SECONDS: Final = 30.0
"""How long a trigger waits for its `sync` handlers."""

_RESTLESS: Final = "event handlers are being changed faster than events can be resolved"
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
        taken = await self.accept(tenant_id, events)
        awaited = [self._awaited(each.event) for each in taken]
        ended = await self._ended(tenant_id, [id_ for ids in awaited for id_ in ids])
        return [_outcome(each, ids, ended) for each, ids in zip(taken, awaited, strict=True)]

    async def accept(self, tenant_id: str, events: Sequence[NewEvent]) -> Sequence[Triggered]:
        """
        Take events of one tenant in; answer when all that they do is committed, and wait for no `sync` handlers.

        Raises:
            InvalidEvent: one of them breaks a bound; none is taken in.
        """
        kept = [validate_event(event) for event in events]
        return await self.take([self._event(tenant_id, event) for event in kept])

    async def take(self, events: Sequence[Event]) -> Sequence[Triggered]:
        """Take in events that are complete, those of each `BATCH` all or none of them."""
        parts = [events[start : start + BATCH] for start in range(0, len(events), BATCH)]
        return [triggered for part in parts for triggered in await self._take(part)]

    async def revisit(self, batch: Sequence[Resolved], *, closes: Sequence[Gathering] = ()) -> Fanned:
        """Show stored events to handlers again (`EventStore.revisit`), and hand on what comes of it."""
        decide = NotedFanOut(self.planning)
        fanned = await self.store.revisit(batch, decide, closes=closes)
        decide.tell(fanned, self.telemetry, new=False)
        await self._hand_on(fanned)
        return fanned

    def sample(self, tenant_id: str, new: NewEvent) -> Event:
        """
        Complete an event to try something out on; nothing is kept of it.

        Raises:
            InvalidEvent: it breaks a bound.
        """
        return self._event(tenant_id, validate_sample(new))

    def _event(self, tenant_id: str, new: NewEvent) -> Event:
        """Complete an event; it goes on from the handler, and with the trace, of whoever published it."""
        now = self.clock.now()
        event_id = self.planning.new_id(now)
        parent = new.trace or self.telemetry.current()
        leading = led_by.get()
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
            correlation_id=new.correlation_id or (leading.correlation_id if leading else None),
            cause=leading.execution_id if leading else None,
            depth=leading.depth + 1 if leading else 0,
        )

    async def _take(self, events: Sequence[Event]) -> Sequence[Triggered]:
        """Resolve events before they join those of other callers, who do not wait for that; where need be, again."""
        for _ in range(REVISIONS):
            await self.resolver.revision()
            resolutions = [await self.resolver.resolve(event) for event in events]
            with suppress(HandlersChanged):
                return await self._intake.take(resolutions)
        raise StoreUnavailable(_RESTLESS)

    async def _store(self, resolutions: Sequence[Resolution]) -> Sequence[Triggered]:
        """
        Store a batch at the newest revision.

        Raises:
            HandlersChanged: those of one event did since it was resolved.
        """
        for attempt in range(REVISIONS):
            revision = await self.resolver.revision(afresh=attempt > 0)
            batch = [self.resolver.renewed(resolution) for resolution in resolutions]
            decide = NotedFanOut(self.planning)
            try:
                fanned = await self.store.trigger(batch, decide, revision=revision)
            except HandlersChanged:
                continue
            decide.tell(fanned, self.telemetry, new=True)
            await self._hand_on(fanned)
            return fanned.events
        raise StoreUnavailable(_RESTLESS)

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

    def _awaited(self, event: Event) -> Sequence[UUID]:
        """Name the executions that the call which triggered an event waits for."""
        awaited = self.resolver.synchronous(event)
        told = (event.impact or Impact()).handlers
        return [id_ for each in told if each.handler_id in awaited for id_ in each.execution_ids]

    async def _ended(self, tenant_id: str, ids: Sequence[UUID]) -> Mapping[UUID, JobExecution]:
        """
        Wait for executions, whichever node runs them; answer them as they ended, or stand when the time is up.

        Those of an event that came long before may be gone.
        """
        found: dict[UUID, JobExecution] = {}
        open_ids = list(dict.fromkeys(ids))
        look, deadline = _FIRST_LOOK, self.clock.monotonic() + SYNC_SECONDS
        while open_ids:
            for id_ in open_ids:
                with suppress(ExecutionNotFound):
                    found[id_] = await self.executions.get(tenant_id, id_)
            open_ids = [id_ for id_ in open_ids if id_ in found and not found[id_].status.terminal]
            if not open_ids or self.clock.monotonic() >= deadline:
                break
            await asyncio.sleep(look)
            look = min(look * 2, _LONGEST_LOOK)
        return found


def _outcome(triggered: Triggered, awaited: Sequence[UUID], ended: Mapping[UUID, JobExecution]) -> EventOutcome:
    impact = triggered.event.impact or Impact()
    return EventOutcome(
        event_id=triggered.event.id,
        matched=impact.matched,
        execution_ids=impact.execution_ids,
        is_duplicate=triggered.is_duplicate,
        outcomes=[ended[id_] for id_ in awaited if id_ in ended] if awaited else None,
    )
