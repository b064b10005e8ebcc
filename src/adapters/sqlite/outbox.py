"""The outbox: what Tocsin itself lets out, in the order of commits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from ...domain.errors import InvalidEvent
from ...domain.event import Event
from ...domain.event_documents import event_from_document
from ...ports.events import Outgoing
from .database import Database
from .facts import append, interest
from .instants import span_micros, to_micros
from .statements import statements
from .transaction import LARGEST, Transaction

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
            rows = transaction.rows(statement, after=start, limit=limit, tenant_id=tenant_id)
            return Outgoing(
                events=[event_from_document(json.loads(row["event"])) for row in rows],
                positions=[str(row["position"]) for row in rows],
                position=str(rows[-1]["position"] if len(rows) == limit else last),
            )

        return await self._database.watch(work)

    async def listen(self, name: str, *, tenant_id: str | None, pattern: str, lease: timedelta) -> str:
        """Register a listener, or keep one."""

        def work(transaction: Transaction) -> str:
            now = transaction.now_micros
            transaction.run(_OUTBOX["forget_listeners"], now=now)
            listener = {"name": name, "handler_id": None, "tenant_id": tenant_id, "pattern": pattern}
            transaction.run(_OUTBOX["listen"], **listener, expires_at=now + span_micros(lease))
            return str(_bounds(transaction)[1])

        return await self._database.write(work)

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

    async def trim(self, *, keep: timedelta, limit: int) -> int:
        """Remove what is old and was read by every consumer."""

        def work(transaction: Transaction) -> int:
            before = to_micros(transaction.now - keep)
            return len(transaction.column(_OUTBOX["trim"], before=before, limit=limit, largest=LARGEST))

        return await self._database.write(work)


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
