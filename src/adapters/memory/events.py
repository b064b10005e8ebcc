"""Events, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import nsmallest
from itertools import accumulate, compress
from uuid import UUID

from ...domain.errors import EventNotFound
from ...domain.event import Event
from ...domain.fan_out import Decide
from ...domain.flow import Gathering
from ...domain.json import encoded
from ...domain.resolution import Held, Resolved, shown_again, wanted
from ...ports.cursors import Position
from ...ports.events import GATHERED_BYTES, DueGathering, DueGatherings, Fanned, HandlersChanged, Triggered
from ...ports.queries import EventFilter
from ...ports.stores import Page
from .database import MemoryDatabase
from .documents import detached_event, detached_handler
from .fanning import situation, written
from .paging import page


class MemoryEvents:
    """Events at rest."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self._rows = database.events

    async def trigger(self, batch: Sequence[Resolved], decide: Decide, *, revision: int) -> Fanned:
        """Store the events of a batch that are new, and all that they do."""
        if revision != self._database.revision:
            raise HandlersChanged
        new = list(_are_new(self._database, batch))
        fanned = self._decided(list(compress(batch, new)), decide)
        fresh = iter(fanned.events)
        events = [next(fresh) if is_new else self._known(each.event) for each, is_new in zip(batch, new, strict=True)]
        return replace(fanned, events=events)

    async def revisit(self, batch: Sequence[Resolved], decide: Decide, *, closes: Sequence[Gathering] = ()) -> Fanned:
        """Show stored events to handlers again."""
        closed = {gathering.id for gathering in closes if self._rows.is_unchanged(gathering)}
        late = {gathering.id for gathering in closes} - closed
        shown = [
            shown_again(entry, detached_event(stored))
            for entry in batch
            if (stored := self._rows.get(entry.event.id)) is not None
            and (entry.gathering is None or entry.gathering.id not in late)
        ]
        fanned = self._decided(shown, decide)
        self._rows.close(closed)
        return fanned

    async def due_gatherings(self, *, limit: int) -> DueGatherings:
        """List gatherings whose time has come."""
        now = self._database.now()
        self._drop_orphans(now)
        waiting = self._rows.gatherings.values()
        first = nsmallest(limit + 1, waiting, key=lambda held: (held.gathering.due_at, held.gathering.id))
        ready = [held for held in first[:limit] if held.gathering.due_at <= now]
        sizes = accumulate(map(self._data_bytes, ready))
        due = ready[: max(sum(size <= GATHERED_BYTES for size in sizes), 1)]
        beyond = first[len(due) :]
        return DueGatherings(
            items=[self._due(held) for held in due],
            next_due=beyond[0].gathering.due_at if beyond else None,
            now=now,
        )

    async def get(self, tenant_id: str, event_id: UUID) -> Event:
        """Read one event."""
        event = self._rows.get(event_id)
        if event is None or event.tenant_id != tenant_id:
            raise EventNotFound(event_id)
        return detached_event(event)

    async def list(self, tenant_id: str, query: EventFilter) -> Page[Event]:
        """Read the events that match, newest first."""
        found = page(
            (event for event in self._rows if event.tenant_id == tenant_id and _matches(query, event)),
            query,
            lambda event: Position(value=event.received_at, id=event.id),
            descending=True,
        )
        return replace(found, items=[detached_event(event) for event in found.items])

    async def stored(
        self, tenant_id: str | None, *, since: datetime, until: datetime, limit: int, after: UUID | None = None
    ) -> Sequence[Event]:
        """Read events received in a range, oldest id first."""
        found = (
            event
            for event in self._rows
            if tenant_id in {None, event.tenant_id}
            and since <= event.received_at < until
            and (after is None or event.id > after)
        )
        return [detached_event(event) for event in nsmallest(limit, found, key=lambda event: event.id)]

    async def purge(self, *, keep: timedelta, limit: int) -> int:
        """Remove what is old."""
        now = self._database.now()
        return self._rows.purge(before=now - keep, now=now, limit=limit)

    def _decided(self, batch: Sequence[Resolved], decide: Decide) -> Fanned:
        now = self._database.now()
        if not batch:
            return Fanned(events=(), dispatches=(), stopped=(), jobs=0)
        return written(self._database, decide(batch, situation(self._database, wanted(batch), now)), now)

    def _known(self, event: Event) -> Triggered:
        return Triggered(event=detached_event(self._rows.known(event) or event), is_duplicate=True)

    def _drop_orphans(self, now: datetime) -> None:
        """Drop what is due and has nobody any more to act upon it, or nothing to be acted upon."""
        due = [held for held in self._rows.gatherings.values() if held.gathering.due_at <= now]
        live = {handler.id for handler in self._database.handlers.values() if handler.definition.enabled}
        self._rows.close([held.gathering.id for held in due if held.handler_id not in live or not self._events(held)])

    def _due(self, held: Held) -> DueGathering:
        return DueGathering(
            handler=detached_handler(self._database.handlers[held.handler_id]),
            flow_key=held.flow_key,
            gathering=held.gathering,
            events=[detached_event(event) for event in self._events(held)],
        )

    def _data_bytes(self, held: Held) -> int:
        return sum(len(encoded(event.data).encode()) for event in self._events(held))

    def _events(self, held: Held) -> Sequence[Event]:
        return [event for id_ in held.gathering.event_ids if (event := self._rows.get(id_)) is not None]


def _are_new(database: MemoryDatabase, batch: Sequence[Resolved]) -> Iterator[bool]:
    """Tell of each event of a batch whether it was neither stored before nor came earlier in it."""
    ids: set[UUID] = set()
    keys: set[tuple[str, str]] = set()
    for each in batch:
        event = each.event
        key = None if event.idempotency_key is None else (event.tenant_id, event.idempotency_key)
        is_new = database.events.known(event) is None and event.id not in ids and key not in keys
        if is_new:
            ids.add(event.id)
        if is_new and key is not None:
            keys.add(key)
        yield is_new


def _matches(query: EventFilter, event: Event) -> bool:
    has_matched = event.impact is not None and event.impact.matched > 0
    return (
        (not query.name or event.name in query.name)
        and event.name.startswith(query.name_prefix or "")
        and (not query.source or event.source in query.source)
        and (not query.subject or event.subject in query.subject)
        and query.matched in {None, has_matched}
        and (query.received_after is None or event.received_at >= query.received_after)
        and (query.received_before is None or event.received_at <= query.received_before)
    )
