"""Events that wait: which of them are due, and which are closed by whoever acts upon them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ...domain.event import Event, EventHandler
from ...domain.flow import Gathering
from ...ports.events import GATHERED_BYTES, DueGathering, DueGatherings
from . import filters
from .event_handler_rows import handler_of
from .event_rows import event_of, gathering_of
from .legible import read_if_legible
from .statements import Statement, statements
from .transaction import Row, Transaction

_EVENTS: Final = statements("events")
_HANDLERS: Final = statements("event_handlers")
_START: Final = (filters.EVER, UUID(int=0))


async def due(transaction: Transaction, limit: int) -> DueGatherings:
    """List gatherings whose time has come; drop those that nobody acts upon, or of whose events none is left."""
    items: list[DueGathering] = []
    gone: set[UUID] = set()
    last = _START
    # Any number that cannot be read may come before the first that can.
    while not items and (rows := await _page(transaction, last, limit)):
        last = (rows[-1]["due_at"], rows[-1]["id"])
        found = await _found(transaction, rows)
        items = [item for row in rows if (item := found.due(row)) is not None]
        gone |= {row["id"] for row in rows if found.is_gone(row)}
    await _drop(transaction, gone)
    [following] = await transaction.column(_EVENTS["next_gathering"], after_at=last[0], after_id=last[1])
    return DueGatherings(items=items, next_due=following, now=transaction.now)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What is stored of a page of gatherings, by ids; what cannot be read is None."""

    handlers: Mapping[UUID, EventHandler | None]
    events: Mapping[UUID, Event | None]

    def is_gone(self, row: Row) -> bool:
        """Tell whether nobody acts upon a gathering any more, or nothing of it is left."""
        return not row["enabled"] or not any(id_ in self.events for id_ in row["event_ids"])

    def due(self, row: Row) -> DueGathering | None:
        """Read a gathering, if it is not gone and all of it can be read."""
        handler = self.handlers.get(row["handler_id"])
        events = [self.events[id_] for id_ in row["event_ids"] if id_ in self.events]
        legible = [event for event in events if event is not None]
        if handler is None or not events or len(legible) < len(events):
            return None
        return DueGathering(handler=handler, flow_key=row["flow_key"], gathering=gathering_of(row), events=legible)


async def _page(transaction: Transaction, after: tuple[datetime, UUID], limit: int) -> Sequence[Row]:
    return await transaction.rows(
        _EVENTS["due_gatherings"],
        now=transaction.now,
        after_at=after[0],
        after_id=after[1],
        limit=limit,
        bytes=GATHERED_BYTES,
    )


async def _found(transaction: Transaction, rows: Sequence[Row]) -> _Found:
    enabled = [row for row in rows if row["enabled"]]
    handlers = await _by_ids(transaction, _HANDLERS["handlers_by_ids"], {row["handler_id"] for row in enabled})
    events = await _by_ids(transaction, _EVENTS["events_by_ids"], {id_ for row in enabled for id_ in row["event_ids"]})
    return _Found(
        handlers={row["id"]: read_if_legible(handler_of, row) for row in handlers},
        events={row["id"]: read_if_legible(event_of, row) for row in events},
    )


async def _by_ids(transaction: Transaction, statement: Statement, ids: Collection[UUID]) -> Sequence[Row]:
    return await transaction.rows(statement, ids=list(ids)) if ids else []
