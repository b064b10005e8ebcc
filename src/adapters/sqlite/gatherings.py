"""Events that wait for a handler: which are due, and how their waiting ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from ...domain.flow import Gathering
from ...ports.events import DueGathering, DueGatherings
from .event_handler_rows import readable_handlers
from .event_rows import gathering_of
from .fanning import read_events
from .statements import statements
from .transaction import Row, Transaction, array

_EVENTS: Final = statements("events")
_HANDLERS: Final = statements("event_handlers")


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
    rows = transaction.rows(_EVENTS["due_gatherings"], limit=limit + 1)
    first = [(row, gathering_of(row)) for row in rows]
    found = [(row, gathering) for row, gathering in first[:limit] if gathering.due_at <= transaction.now]
    beyond = first[len(found) :]
    items = _read(transaction, found)
    acted_upon = {item.gathering.id for item in items}
    _remove(transaction, [row for row, gathering in found if gathering.id not in acted_upon])
    return DueGatherings(items=items, next_due=beyond[0][1].due_at if beyond else None, now=transaction.now)


def _read(transaction: Transaction, found: Sequence[tuple[Row, Gathering]]) -> list[DueGathering]:
    if not found:
        return []
    handler_rows = transaction.rows(_HANDLERS["handlers_by_ids"], ids=array({row["handler_id"] for row, _ in found}))
    handlers = {str(handler.id): handler for handler in readable_handlers(handler_rows)}
    event_ids = {event_id for _, gathering in found for event_id in gathering.event_ids}
    events = {event.id: event for event in read_events(transaction, event_ids)}
    return [
        DueGathering(
            handler=handlers[row["handler_id"]],
            flow_key=row["flow_key"],
            gathering=gathering,
            events=[events[event_id] for event_id in gathering.event_ids if event_id in events],
        )
        for row, gathering in found
        if row["handler_id"] in handlers and any(event_id in events for event_id in gathering.event_ids)
    ]


def _remove(transaction: Transaction, rows: Iterable[Row]) -> None:
    """Remove gatherings, also as the open ones of their keys."""
    gone = [{name: row[name] for name in ("id", "handler_id", "flow_key")} for row in rows]
    if not gone:
        return
    transaction.run_many(_EVENTS["close_flow"], gone)
    transaction.run(_EVENTS["remove_gatherings"], ids=array(row["id"] for row in gone))
