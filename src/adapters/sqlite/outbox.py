"""The outbox: what Tocsin itself lets out, in the order of commits."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final

from ...domain.errors import InvalidEvent
from ...domain.event import Event
from ...domain.event_documents import event_from_document
from ...ports.events import Outgoing
from .database import Database
from .facts import append, interest
from .instants import span_micros, to_micros
from .readable import readable
from .statements import statements
from .transaction import LARGEST, Row, Transaction, array

_OUTBOX: Final = statements("outbox")


class SqliteOutbox:
    """Events on their way out, and who waits for them; a position is the number of the event that it lies behind."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, events: Sequence[Event]) -> None:
        """Add facts that somebody listens to."""

        def work(transaction: Transaction) -> None:
            listeners = interest(transaction)
            append(transaction, [event for event in events if listeners.wants(event.tenant_id, event.name)])

        await self._database.write(work)

    async def read(self, *, after: str | None, limit: int, tenant_id: str | None = None) -> Outgoing:
        """Read from behind a position on."""

        def work(transaction: Transaction) -> Outgoing:
            first, last = _bounds(transaction)
            start = first if after is None else _number(after, last)
            if start < first:
                raise InvalidEvent.of("position", "what followed it is not kept any more")
            statement = _OUTBOX["read"] if tenant_id is None else _OUTBOX["read_of_tenant"]
            while True:
                rows = transaction.rows(statement, after=start, limit=limit, tenant_id=tenant_id)
                start = rows[-1]["position"] if len(rows) == limit else last
                found = list(readable(rows, _event))
                # Nothing at all would mean that there is nothing more.
                if found or len(rows) < limit:
                    return Outgoing(
                        events=[event for _, event in found],
                        positions=[str(row["position"]) for row, _ in found],
                        position=str(start),
                    )

        return await self._database.watch(work)

    async def listen(
        self, name: str, *, tenant_id: str | None, pattern: str, lease: timedelta, after: str | None = None
    ) -> str:
        """Register a listener, or keep one."""

        def work(transaction: Transaction) -> tuple[int, int]:
            now = transaction.now_micros
            transaction.run(_OUTBOX["forget_listeners"], now=now)
            known = transaction.column(
                _OUTBOX["listens_since"], name=name, tenant_id=tenant_id, pattern=pattern, now=now
            )
            [since] = known or transaction.column(_OUTBOX["skip_position"])
            listener = {"name": name, "handler_id": None, "tenant_id": tenant_id, "pattern": pattern, "since": since}
            transaction.run(_OUTBOX["listen"], **listener, expires_at=now + span_micros(lease))
            return since, _bounds(transaction)[1]

        since, last = await self._database.write(work)
        # It listens all the same, so that is written before anything is refused.
        if after is not None and _number(after, last) < since:
            raise InvalidEvent.of("position", "nobody listened there, or not all the time since")
        return str(last)

    async def progress(self, consumer: str) -> str | None:
        """Tell how far a consumer has come."""
        found = await self._database.watch(lambda transaction: transaction.column(_OUTBOX["progress"], name=consumer))
        return str(found[0]) if found else None

    async def advance(self, consumer: str, position: str) -> None:
        """Note how far a consumer has come."""

        def work(transaction: Transaction) -> None:
            number = _number(position, _bounds(transaction)[1])
            transaction.run(_OUTBOX["advance"], name=consumer, position=number)

        await self._database.write(work)

    async def trim(self, *, keep: timedelta, limit: int, consumers: Collection[str]) -> int:
        """Remove what is old and was read by each of these consumers."""

        def work(transaction: Transaction) -> int:
            before = to_micros(transaction.now - keep)
            passed = {"consumers": array(consumers), "largest": LARGEST}
            removed = transaction.column(_OUTBOX["trim"], before=before, limit=limit, **passed)
            if removed:
                transaction.run(_OUTBOX["save_end"], position=max(removed))
            return len(removed)

        return await self._database.write(work)


def _event(row: Row) -> Event:
    return event_from_document(json.loads(row["event"]))


def _bounds(transaction: Transaction) -> tuple[int, int]:
    [row] = transaction.rows(_OUTBOX["bounds"])
    return row["first"], row["last"]


def _number(position: str, last: int) -> int:
    """
    Read a position.

    Raises:
        InvalidEvent: on field `position`, if it is none that was ever written.
    """
    # As long as the longest that could ever be written; more digits are no number to Python.
    if not position.isascii() or not position.isdecimal() or len(position) > len(str(LARGEST)):
        raise InvalidEvent.of("position", "is not a position of the outbox")
    if int(position) > last:
        raise InvalidEvent.of("position", "lies behind the end of the outbox")
    return int(position)
