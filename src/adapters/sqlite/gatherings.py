"""Events that wait for a handler: which are due, and how their waiting ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final
from uuid import UUID

from ...domain.event import Event
from ...domain.flow import Gathering
from ...ports.events import GATHERED_BYTES, DueGathering, DueGatherings
from .event_handler_rows import readable_handlers
from .event_rows import event_of, gathering_of
from .instants import from_micros
from .readable import readable
from .statements import statements
from .transaction import LARGEST, Parameters, Row, Transaction, array

_EVENTS: Final = statements("events")
_HANDLERS: Final = statements("event_handlers")
_FIRST: Final[Parameters] = {"due_at": -LARGEST, "id": ""}
"""Behind which every gathering lies."""


def close(transaction: Transaction, gatherings: Sequence[Gathering]) -> set[UUID]:
    """End the waiting of gatherings that stand as they are given; answer the ids of those that do not."""
    wanted = {gathering.id: gathering for gathering in gatherings}
    rows = transaction.rows(_EVENTS["gatherings_by_ids"], ids=array(wanted)) if wanted else []
    unchanged = [row for row in rows if gathering_of(row) == wanted[UUID(row["id"])]]
    _remove(transaction, unchanged)
    return wanted.keys() - {UUID(row["id"]) for row in unchanged}


def due(transaction: Transaction, limit: int) -> DueGatherings:
    """List gatherings whose time has come; what is due in vain, or waits for events that are gone, is dropped."""
    _remove(transaction, transaction.rows(_EVENTS["gatherings_in_vain"], now=transaction.now_micros))
    items: list[DueGathering] = []
    room, behind = GATHERED_BYTES, _FIRST
    while True:
        rows = transaction.rows(_EVENTS["due_gatherings"], **behind, limit=limit - len(items) + 1)
        ready = [row for row in rows[: limit - len(items)] if row["due_at"] <= transaction.now_micros]
        sizes = accumulate(row["data_bytes"] for row in ready)
        taken = ready[: max(sum(size <= room for size in sizes), 0 if items else 1)]
        found = _read(transaction, taken)
        items += [item for _, item in found]
        if len(found) == len(taken):
            beyond = rows[len(taken) :]
            next_due = from_micros(beyond[0]["due_at"]) if beyond else None
            return DueGatherings(items=items, next_due=next_due, now=transaction.now)
        # In place of what was passed over there may be more behind it.
        room -= sum(row["data_bytes"] for row, _ in found)
        behind = {name: taken[-1][name] for name in _FIRST}


def _read(transaction: Transaction, taken: Sequence[Row]) -> list[tuple[Row, DueGathering]]:
    """Read gatherings with their handlers and events, but for those of which something cannot be read."""
    gatherings = list(readable(taken, gathering_of))
    if not gatherings:
        return []
    handler_rows = transaction.rows(_HANDLERS["handlers_by_ids"], ids=array({row["handler_id"] for row in taken}))
    handlers = {str(handler.id): handler for handler in readable_handlers(handler_rows)}
    stored = _events(transaction, {event_id for _, gathering in gatherings for event_id in gathering.event_ids})
    _remove(transaction, [row for row, gathering in gatherings if stored.keys().isdisjoint(gathering.event_ids)])
    found = []
    for row, gathering in gatherings:
        held = [stored[event_id] for event_id in gathering.event_ids if event_id in stored]
        events = [event for event in held if event is not None]
        handler = handlers.get(row["handler_id"])
        if handler is not None and events and len(events) == len(held):
            item = DueGathering(handler=handler, flow_key=row["flow_key"], gathering=gathering, events=events)
            found.append((row, item))
    return found


def _events(transaction: Transaction, ids: Iterable[UUID]) -> Mapping[UUID, Event | None]:
    """Read the events that are there, by their ids; one that cannot be read is None."""
    rows = transaction.rows(_EVENTS["events_by_ids"], ids=array(ids))
    return {UUID(row["id"]): None for row in rows} | {event.id: event for _, event in readable(rows, event_of)}


def _remove(transaction: Transaction, rows: Iterable[Row]) -> None:
    """Remove gatherings, also as the open ones of their keys."""
    gone = [{name: row[name] for name in ("id", "handler_id", "flow_key")} for row in rows]
    if not gone:
        return
    transaction.run_many(_EVENTS["close_flow"], gone)
    transaction.run(_EVENTS["remove_gatherings"], ids=array(row["id"] for row in gone))
