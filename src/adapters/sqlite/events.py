"""Events at rest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.errors import EventNotFound
from ...domain.event import Event
from ...domain.fan_out import Decide
from ...domain.flow import Gathering
from ...domain.resolution import Resolved, shown_again, wanted
from ...ports.cursors import Position, read_cursor, write_cursor
from ...ports.events import DueGatherings, Fanned, HandlersChanged, Triggered
from ...ports.queries import EventFilter
from ...ports.stores import Page
from . import gatherings
from .database import Database
from .event_rows import event_of, event_row, impact_row
from .fanning import read_events, situation, write
from .instants import from_micros, to_micros
from .readable import read_asked_for, readable
from .statements import statements
from .transaction import LARGEST, Parameters, Row, Transaction, array

_EVENTS: Final = statements("events")
_HANDLERS: Final = statements("event_handlers")
_NOTHING: Final = Fanned(events=(), dispatches=(), stopped=(), jobs=0)


class SqliteEvents:
    """Events, with what waits for event handlers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def trigger(self, batch: Sequence[Resolved], decide: Decide, *, revision: int) -> Fanned:
        """Store the events of a batch that are new, and all that they do."""

        def work(transaction: Transaction) -> Fanned:
            if transaction.column(_HANDLERS["revision"]) != [revision]:
                raise HandlersChanged
            known = _known(transaction, [each.event for each in batch])
            fanned = _decided(transaction, [each for place, each in enumerate(batch) if place not in known], decide)
            transaction.run_many(_EVENTS["insert_event"], (event_row(each.event) for each in fanned.events))
            answered = {event.id: event for event in read_events(transaction, set(known.values()))}
            fresh = iter(fanned.events)
            events = [
                Triggered(event=answered.get(known[place], each.event), is_duplicate=True)
                if place in known
                else next(fresh)
                for place, each in enumerate(batch)
            ]
            return replace(fanned, events=events)

        return await self._database.write(work)

    async def revisit(self, batch: Sequence[Resolved], decide: Decide, *, closes: Sequence[Gathering] = ()) -> Fanned:
        """Show stored events to handlers again."""

        def work(transaction: Transaction) -> Fanned:
            late = gatherings.close(transaction, closes)
            stored = {event.id: event for event in read_events(transaction, {each.event.id for each in batch})}
            shown = [
                shown_again(each, stored[each.event.id])
                for each in batch
                if each.event.id in stored and (each.gathering is None or each.gathering.id not in late)
            ]
            fanned = _decided(transaction, shown, decide)
            transaction.run_many(_EVENTS["save_impact"], (impact_row(each.event) for each in fanned.events))
            return fanned

        return await self._database.write(work)

    async def due_gatherings(self, *, limit: int) -> DueGatherings:
        """List gatherings whose time has come."""
        return await self._database.write(lambda transaction: gatherings.due(transaction, limit))

    async def get(self, tenant_id: str, event_id: UUID) -> Event:
        """Read one event."""

        def work(transaction: Transaction) -> Event:
            row = transaction.row(_EVENTS["events_by_ids"], ids=array([event_id]))
            if row is None or row["tenant_id"] != tenant_id:
                raise EventNotFound(event_id)
            return read_asked_for(row, event_of)

        return await self._database.read(work)

    async def list(self, tenant_id: str, query: EventFilter) -> Page[Event]:
        """Read the events that match, newest first."""
        parameters = _conditions(query)

        def work(transaction: Transaction) -> Page[Event]:
            [found] = transaction.rows(_EVENTS["matching_events"], tenant_id=tenant_id, **parameters)
            ids = json.loads(found["ids"])
            rows = transaction.rows(_EVENTS["events_by_ids"], ids=array(ids[: query.limit]))
            return Page(
                items=[event for _, event in readable(rows, event_of)],
                total=found["total"],
                limit=query.limit,
                offset=query.offset,
                next_cursor=write_cursor(query, _position(rows[-1])) if len(ids) > len(rows) else None,
            )

        return await self._database.read(work)

    async def stored(
        self, tenant_id: str | None, *, since: datetime, until: datetime, limit: int, after: UUID | None = None
    ) -> Sequence[Event]:
        """Read events received in a range, oldest id first."""
        conditions = {
            "tenant_id": tenant_id,
            "since": to_micros(since),
            "until": to_micros(until),
            "limit": limit,
        }

        def work(transaction: Transaction) -> Sequence[Event]:
            behind = "" if after is None else str(after)
            while True:
                ids = transaction.column(_EVENTS["stored_events"], after=behind, **conditions)
                found = read_events(transaction, ids)
                # Nothing at all would mean that there is nothing more.
                if found or len(ids) < limit:
                    return found
                behind = ids[-1]

        return await self._database.read(work)

    async def purge(self, *, keep: timedelta, limit: int) -> int:
        """Remove what is old."""

        def work(transaction: Transaction) -> int:
            before = to_micros(transaction.now - keep)
            removed = transaction.column(_EVENTS["remove_events"], before=before, limit=limit)
            transaction.run(_EVENTS["remove_flows"], now=transaction.now_micros, limit=limit)
            return len(removed)

        return await self._database.write(work)


def _decided(transaction: Transaction, batch: Sequence[Resolved], decide: Decide) -> Fanned:
    """Ask for the decision about a batch, and write what it comes to, but for the events themselves."""
    if not batch:
        return _NOTHING
    accounts = Accounts(transaction.now)
    return write(transaction, accounts, decide(batch, situation(transaction, accounts, wanted(batch))))


def _known(transaction: Transaction, events: Sequence[Event]) -> Mapping[int, UUID]:
    """Find which events of a batch, by their places, are stored already or come earlier in it, and under which id."""
    asked = array((str(event.id), event.tenant_id, event.idempotency_key) for event in events)
    known = {row["place"]: UUID(row["id"]) for row in transaction.rows(_EVENTS["known_events"], events=asked)}
    ids: set[UUID] = set()
    keys: dict[tuple[str, str], UUID] = {}
    for place, event in enumerate(events):
        if place in known:
            continue
        key = None if event.idempotency_key is None else (event.tenant_id, event.idempotency_key)
        first = event.id if event.id in ids else keys.get(key) if key is not None else None
        if first is not None:
            known[place] = first
            continue
        ids.add(event.id)
        if key is not None:
            keys[key] = event.id
    return known


def _conditions(query: EventFilter) -> Parameters:
    """Write a filter as parameters; one item more than the page tells whether it ends there."""
    cursor = read_cursor(query)
    value = cursor.value if cursor else None
    return {
        **{name: array(values) if (values := getattr(query, name)) else None for name in ("name", "source", "subject")},
        "name_prefix": query.name_prefix or None,
        "matched": query.matched,
        "received_after": -LARGEST if query.received_after is None else to_micros(query.received_after),
        "received_before": LARGEST if query.received_before is None else to_micros(query.received_before),
        "cursor_id": str(cursor.id) if cursor else None,
        "cursor_value": to_micros(value) if isinstance(value, datetime) else None,
        "limit": query.limit + 1,
        "offset": min(query.offset or 0, LARGEST),
    }


def _position(row: Row) -> Position:
    return Position(value=from_micros(row["received_at"]), id=UUID(row["id"]))
