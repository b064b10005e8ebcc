"""Events that wait: which of them are due, and which are closed by whoever acts upon them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from ...domain.event import Event, EventHandler
from ...domain.flow import Gathering
from ...ports.events import DueGathering, DueGatherings
from .event_handler_rows import readable
from .event_rows import event_of, gathering_of
from .statements import statements
from .transaction import Row, Transaction

_EVENTS: Final = statements("events")
_HANDLERS: Final = statements("event_handlers")
_LAST: Final = UUID(int=2**128 - 1)


async def due(transaction: Transaction, limit: int) -> DueGatherings:
    """List gatherings whose time has come; drop those that nobody acts upon, or of whose events none is left."""
    rows = await transaction.rows(_EVENTS["due_gatherings"], now=transaction.now, limit=limit)
    handlers = await _handlers(transaction, [row["handler_id"] for row in rows if row["enabled"]])
    events = await _events(transaction, [id_ for row in rows if row["enabled"] for id_ in row["event_ids"]])
    items = [_due(row, handlers, events) for row in rows if row["handler_id"] in handlers]
    kept = [item for item in items if item.events]
    await _drop(transaction, {row["id"] for row in rows} - {item.gathering.id for item in kept})
    after_at, after_id = (rows[-1]["due_at"], rows[-1]["id"]) if len(rows) == limit else (transaction.now, _LAST)
    [following] = await transaction.column(_EVENTS["next_gathering"], after_at=after_at, after_id=after_id)
    return DueGatherings(items=kept, next_due=following, now=transaction.now)


async def lock_closed(transaction: Transaction, closes: Sequence[Gathering]) -> set[UUID]:
    """Lock gatherings that are to be closed, with the keys that have them open; answer which are as they were seen."""
    if not closes:
        return set()
    ids = [gathering.id for gathering in closes]
    await transaction.run(_EVENTS["lock_flows_of_gatherings"], ids=ids)
    rows = await transaction.rows(_EVENTS["lock_gatherings"], ids=ids)
    stored = {row["id"]: gathering_of(row) for row in rows}
    return {gathering.id for gathering in closes if stored.get(gathering.id) == gathering}


async def close(transaction: Transaction, ids: set[UUID]) -> None:
    """Remove gatherings, also from the keys that have them open."""
    if ids:
        await transaction.run(_EVENTS["close_gatherings"], ids=list(ids))


async def _drop(transaction: Transaction, ids: set[UUID]) -> None:
    if ids:
        await transaction.run(_EVENTS["lock_flows_of_gatherings"], ids=list(ids))
        await close(transaction, ids)


def _due(row: Row, handlers: Mapping[UUID, EventHandler], events: Mapping[UUID, Event]) -> DueGathering:
    return DueGathering(
        handler=handlers[row["handler_id"]],
        flow_key=row["flow_key"],
        gathering=gathering_of(row),
        events=[events[id_] for id_ in row["event_ids"] if id_ in events],
    )


async def _handlers(transaction: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, EventHandler]:
    rows = await transaction.rows(_HANDLERS["handlers_by_ids"], ids=list(set(ids))) if ids else []
    return {handler.id: handler for handler in readable(rows)}


async def _events(transaction: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, Event]:
    rows = await transaction.rows(_EVENTS["events_by_ids"], ids=list(set(ids))) if ids else []
    return {row["id"]: event_of(row) for row in rows}
