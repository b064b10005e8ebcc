"""Replay: past events are shown to a handler that was registered later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from ..domain.errors import InvalidEvent
from ..domain.event import Event, EventHandler
from ..domain.impact import HandlerImpact, Impact, Touch
from ..domain.patterns import matches
from ..domain.resolution import Resolved
from ..ports.event_requests import Replay
from ..ports.events import EventStore
from .events import Events
from .resolver import Resolver, without_flow

PAGE: Final = 200
EVENTS_SHOWN: Final = 100


def checked_window(*, since: datetime, until: datetime) -> tuple[datetime, datetime]:
    """
    Hold the bounds of a replay against each other.

    Raises:
        InvalidEvent: one has no UTC offset, or they are the wrong way round.
    """
    for name, at in (("since", since), ("until", until)):
        if at.utcoffset() is None:
            raise InvalidEvent.of(name, "must have a UTC offset")
    if since >= until:
        raise InvalidEvent.of("since", "must be earlier than until")
    return since, until


@dataclass(slots=True)
class _Tally:
    seen: int = 0
    known: int = 0
    touches: Counter[Touch] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    event_ids: list[UUID] = field(default_factory=list)

    def count(self, event_id: UUID, touch: Touch, reason: str | None) -> None:
        self.touches[touch] += 1
        if touch is Touch.REFUSED:
            self.reasons[reason or "unknown"] += 1
        if touch is Touch.ACTED and len(self.event_ids) < EVENTS_SHOWN:
            self.event_ids.append(event_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """Walks through stored events, page by page, each page a transaction of its own."""

    store: EventStore
    resolver: Resolver
    events: Events

    async def replay(self, handler: EventHandler, *, since: datetime, until: datetime, dry_run: bool) -> Replay:
        """Show a handler the events received since <= t < until (`IScheduler.replay_events`)."""
        tally, after = _Tally(), None
        tenant_id = None if handler.definition.every_tenant else handler.tenant_id
        while True:
            page = await self.store.stored(tenant_id, since=since, until=until, limit=PAGE, after=after)
            if not page:
                break
            after = page[-1].id
            await self._show(handler, page, tally, dry_run=dry_run)
        return Replay(
            handler_id=handler.id,
            is_dry_run=dry_run,
            seen=tally.seen,
            acted=tally.touches[Touch.ACTED],
            filtered=tally.touches[Touch.FILTERED],
            refused=tally.touches[Touch.REFUSED],
            known=tally.known,
            event_ids=tally.event_ids,
            reasons=dict(tally.reasons),
        )

    async def _show(self, handler: EventHandler, page: Sequence[Event], tally: _Tally, *, dry_run: bool) -> None:
        named = [event for event in page if matches(handler.definition.event, event.name)]
        fresh = [event for event in named if not _has_acted(event, handler.id)]
        tally.seen += len(named)
        tally.known += len(named) - len(fresh)
        batch = [without_flow(await self.resolver.held_against([handler], event), handler.id) for event in fresh]
        if dry_run:
            for resolved in batch:
                _count_planned(resolved, tally)
            return
        if batch:
            fanned = await self.events.revisit(batch)
            for each in fanned.events:
                for told in _told_by(handler.id, (each.event.impact or Impact()).handlers):
                    tally.count(each.event.id, told.touch, told.reason)


def _has_acted(event: Event, handler_id: UUID) -> bool:
    told = _told_by(handler_id, (event.impact or Impact()).handlers)
    return any(each.touch.is_match for each in told)


def _told_by(handler_id: UUID, told: Iterable[HandlerImpact]) -> list[HandlerImpact]:
    return [each for each in told if each.handler_id == handler_id]


def _count_planned(resolved: Resolved, tally: _Tally) -> None:
    for told in resolved.left_out:
        tally.count(resolved.event.id, told.touch, told.reason)
    for _ in resolved.matches:
        tally.count(resolved.event.id, Touch.ACTED, None)
