"""The outbox, over PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from ...domain.errors import StoreUnavailable
from ...domain.event import Event
from ...domain.facts import EXECUTION_STARTED
from ...domain.patterns import matches
from ...ports.events import Outgoing
from . import facts
from .connection import TOO_LATE
from .database import Database
from .event_rows import outgoing_of
from .positions import START, checked, position_of, position_text, read_position
from .statements import statements
from .transaction import Transaction

_OUTBOX: Final = statements("outbox")
_PAUSE_SECONDS: Final = 0.02
_LAPSED_FOR: Final = timedelta(minutes=10)
"""For how long the name of a listener whose lease is over is kept."""


class PostgresOutbox:
    """Events that Tocsin itself lets out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, events: Sequence[Event]) -> None:
        """Add facts that somebody listens to."""

        async def work(transaction: Transaction) -> None:
            await facts.append(transaction, await facts.interest_of(transaction), events)

        if events:
            await self._database.write(work)

    async def read(self, *, after: str | None, limit: int, tenant_id: str | None = None) -> Outgoing:
        """Read from behind a position on."""
        return await self._database.read(partial(_read, after=after, limit=limit, tenant_id=tenant_id))

    async def listen(self, name: str, *, tenant_id: str | None, pattern: str, lease: timedelta) -> str:
        """Register a listener, or keep one; a new one is told only once nobody is left who does not know of it."""

        async def work(transaction: Transaction) -> bool:
            [row] = await transaction.rows(
                _OUTBOX["listen"],
                name=name,
                tenant_id=tenant_id,
                pattern=pattern,
                hears_starts=matches(pattern, EXECUTION_STARTED),
                lease=lease,
                now=transaction.now,
            )
            await transaction.run(_OUTBOX["forget_listeners"], before=transaction.now - _LAPSED_FOR)
            return bool(row["is_live"])

        if not await self._database.write(work):
            await self._be_known()
        [horizon] = await self._database.rows(_OUTBOX["horizon"])
        return position_text((horizon["certain"], 0))

    async def progress(self, consumer: str) -> str | None:
        """Tell how far a consumer has come."""

        async def work(transaction: Transaction) -> str | None:
            for name in ("renumber", "forget_strangers", "forget_end"):
                await transaction.run(_OUTBOX[name])
            row = await transaction.row(_OUTBOX["progress"], name=consumer)
            return None if row is None else position_text(position_of(row))

        return await self._database.write(work)

    async def advance(self, consumer: str, position: str) -> None:
        """Note how far a consumer has come."""
        transaction_id, sequence = read_position(position)
        await self._database.rows(_OUTBOX["advance"], name=consumer, transaction_id=transaction_id, sequence=sequence)

    async def trim(self, *, keep: timedelta, limit: int) -> int:
        """Remove what is old and was read by every consumer."""

        async def work(transaction: Transaction) -> int:
            [removed] = await transaction.column(_OUTBOX["trim"], before=transaction.now - keep, limit=limit)
            return int(removed)

        return await self._database.write(work)

    async def _be_known(self) -> None:
        """
        Wait for the transactions that may have asked for listeners before there was a new one.

        Raises:
            StoreUnavailable: one of them takes longer than a call may.
        """
        unaware = await self._unaware(None)
        try:
            async with asyncio.timeout(self._database.access.deadline):
                while unaware:
                    await asyncio.sleep(_PAUSE_SECONDS)
                    unaware = await self._unaware(unaware)
        except TimeoutError as error:
            raise StoreUnavailable(TOO_LATE) from error

    async def _unaware(self, among: Sequence[str] | None) -> Sequence[str]:
        return await self._database.column(_OUTBOX["unaware"], among=among)


async def _read(transaction: Transaction, *, after: str | None, limit: int, tenant_id: str | None) -> Outgoing:
    [horizon] = await transaction.rows(_OUTBOX["horizon"])
    begins = START if after is None else checked(read_position(after), horizon)
    rows = await transaction.rows(
        _OUTBOX["outgoing"],
        after_id=begins[0],
        after_sequence=begins[1],
        certain=horizon["certain"],
        tenant_id=tenant_id,
        limit=limit,
    )
    positions = [position_text(position_of(row)) for row in rows]
    # All before has ended, and was looked through.
    ends = (horizon["certain"], 0)
    is_moved = after is None or (tenant_id is not None and ends > begins)
    last = position_text(ends) if is_moved else position_text(begins)
    return Outgoing(
        events=[outgoing_of(row) for row in rows],
        positions=positions,
        position=positions[-1] if positions else last,
    )
