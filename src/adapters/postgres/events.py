"""Events at rest, over PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import asyncpg

from ...domain.accounts import Accounts
from ...domain.errors import EventNotFound
from ...domain.event import Event
from ...domain.fan_out import Decide
from ...domain.flow import Gathering
from ...domain.resolution import Resolved, shown_again, wanted
from ...ports.cursors import Position, read_cursor, write_cursor
from ...ports.events import DueGatherings, Fanned, HandlersChanged
from ...ports.queries import EventFilter
from ...ports.stores import Page
from . import filters, gatherings
from .database import Database
from .event_rows import event_of
from .fanning import write_again, write_new
from .legible import legible, read_asked_for
from .newness import Newness, nothing_done
from .races import again_if_raced, with_jobs_locked
from .situation import situation
from .statements import statements
from .transaction import Parameters, Row, Transaction

_EVENTS: Final = statements("events")
_HANDLERS: Final = statements("event_handlers")
_FIRST: Final = UUID(int=0)
_OF_HANDLERS: Final = frozenset({"event_flows_handler_id_fkey", "event_gatherings_handler_id_fkey"})


class PostgresEvents:
    """Events at rest."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def trigger(self, batch: Sequence[Resolved], decide: Decide, *, revision: int) -> Fanned:
        """Store the events of a batch that are new, and all that they do."""

        async def once(locked: Collection[UUID]) -> Fanned:
            work = partial(_triggered, batch=batch, decide=decide, revision=revision, locked=locked)
            return await self._database.change(work)

        try:
            return await again_if_raced(lambda: with_jobs_locked(once))
        except asyncpg.ForeignKeyViolationError as error:
            if error.constraint_name not in _OF_HANDLERS:
                raise
            # Removed since the revision was read.
            raise HandlersChanged from error

    async def revisit(self, batch: Sequence[Resolved], decide: Decide, *, closes: Sequence[Gathering] = ()) -> Fanned:
        """Show stored events to handlers again."""

        async def once(locked: Collection[UUID]) -> Fanned:
            work = partial(_revisited, batch=batch, decide=decide, closes=closes, locked=locked)
            return await self._database.write(work)

        return await again_if_raced(lambda: with_jobs_locked(once))

    async def due_gatherings(self, *, limit: int) -> DueGatherings:
        """List gatherings whose time has come."""
        return await self._database.write(partial(gatherings.due, limit=limit))

    async def get(self, tenant_id: str, event_id: UUID) -> Event:
        """Read one event."""
        rows = await self._database.rows(_EVENTS["events_by_ids"], ids=[event_id])
        if not rows or rows[0]["tenant_id"] != tenant_id:
            raise EventNotFound(event_id)
        return read_asked_for(event_of, rows[0])

    async def list(self, tenant_id: str, query: EventFilter) -> Page[Event]:
        """Read the events that match, newest first; what cannot be read is counted and left out."""
        parameters = _conditions(query)

        async def work(transaction: Transaction) -> Page[Event]:
            [found] = await transaction.rows(_EVENTS["matching_events"], tenant_id=tenant_id, **parameters)
            rows = await transaction.rows(_EVENTS["events_by_ids"], ids=found["ids"][: query.limit])
            more = len(found["ids"]) > len(rows)
            return Page(
                items=legible(event_of, rows),
                total=found["total"],
                limit=query.limit,
                offset=query.offset,
                next_cursor=write_cursor(query, _position(rows[-1])) if more else None,
            )

        return await self._database.read(work)

    async def stored(
        self, tenant_id: str | None, *, since: datetime, until: datetime, limit: int, after: UUID | None = None
    ) -> Sequence[Event]:
        """Read events received in a range, oldest id first; no page is empty for what cannot be read."""
        after = after or _FIRST
        while rows := await self._database.rows(
            _EVENTS["stored_events"],
            tenant_id=tenant_id,
            since=filters.instant(since),
            until=filters.instant(until),
            after=after,
            limit=limit,
        ):
            if events := legible(event_of, rows):
                return events
            after = rows[-1]["id"]
        return []

    async def purge(self, *, keep: timedelta, limit: int) -> int:
        """Remove what is old."""

        async def work(transaction: Transaction) -> int:
            removed = await transaction.column(_EVENTS["remove_events"], before=transaction.now - keep, limit=limit)
            await transaction.run(_EVENTS["remove_flows"], now=transaction.now, limit=limit)
            return len(removed)

        return await self._database.write(work)


async def _triggered(
    transaction: Transaction,
    *,
    batch: Sequence[Resolved],
    decide: Decide,
    revision: int,
    locked: Collection[UUID],
) -> Fanned:
    if await transaction.column(_HANDLERS["revision"]) != [revision]:
        raise HandlersChanged
    newness = Newness.of(batch, await _stored(transaction, [resolved.event for resolved in batch]))
    if not newness.fresh:
        return nothing_done(newness.answered(()))
    accounts = Accounts(transaction.now)
    found = await situation(transaction, accounts, wanted(newness.fresh), locked=locked)
    fanned = await write_new(transaction, accounts, decide(newness.fresh, found))
    return replace(fanned, events=newness.answered(fanned.events))


async def _stored(transaction: Transaction, events: Sequence[Event]) -> Sequence[Event]:
    """Read what is there already of events, by their ids and their tenants' keys."""
    keyed = [event for event in events if event.idempotency_key is not None]
    rows = await transaction.rows(
        _EVENTS["known_events"],
        ids=[event.id for event in events],
        tenant_ids=[event.tenant_id for event in keyed],
        idempotency_keys=[event.idempotency_key for event in keyed],
    )
    return [read_asked_for(event_of, row) for row in rows]


async def _revisited(
    transaction: Transaction,
    *,
    batch: Sequence[Resolved],
    decide: Decide,
    closes: Sequence[Gathering],
    locked: Collection[UUID],
) -> Fanned:
    closed = await gatherings.lock_closed(transaction, closes)
    late = {gathering.id for gathering in closes} - closed
    rows = await transaction.rows(_EVENTS["lock_events"], ids=[resolved.event.id for resolved in batch])
    stored = {row["id"]: read_asked_for(event_of, row) for row in rows}
    shown = [
        shown_again(resolved, stored[resolved.event.id])
        for resolved in batch
        if resolved.event.id in stored and late.isdisjoint(_closing(resolved))
    ]
    await gatherings.close(transaction, closed)
    if not shown:
        return nothing_done()
    accounts = Accounts(transaction.now)
    found = await situation(transaction, accounts, wanted(shown), locked=locked)
    return await write_again(transaction, accounts, decide(shown, found))


def _closing(resolved: Resolved) -> set[UUID]:
    """Tell which gatherings an entry of a revisit closes."""
    closing = [resolved.gathering, *(match.gathering for match in resolved.matches)]
    return {gathering.id for gathering in closing if gathering is not None}


def _conditions(query: EventFilter) -> Parameters:
    """Write a filter as parameters; one item more than the page tells whether it ends there."""
    cursor = read_cursor(query)
    return {
        **{name: filters.any_of(getattr(query, name)) for name in ("name", "source", "subject")},
        "name_prefix": filters.text(query.name_prefix),
        "matched": query.matched,
        "received_after": filters.instant(query.received_after),
        "received_before": filters.instant(query.received_before),
        "cursor_id": cursor.id if cursor else None,
        "cursor_instant": cursor.value if cursor else None,
        "limit": query.limit + 1,
        "offset": filters.number(query.offset or 0),
    }


def _position(row: Row) -> Position:
    return Position(value=row["received_at"], id=row["id"])
