"""The outbox, over PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from ...domain.errors import InvalidEvent, StoreUnavailable
from ...domain.event import Event
from ...domain.facts import EXECUTION_STARTED
from ...domain.patterns import matches
from ...ports.events import Outgoing
from . import facts
from .connection import TOO_LATE
from .database import Database
from .event_rows import outgoing_of
from .legible import read_if_legible
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
        """Read from behind a position on, past what cannot be read."""
        ask = partial(self._database.ask, _OUTBOX["outgoing"], tenant_id=tenant_id, limit=limit)
        position = START if after is None else read_position(after)
        rows = await ask(after_id=position[0], after_sequence=position[1])
        if after is not None:
            checked(position, rows[0])
        found: list[tuple[str, Event]] = []
        while not found and rows[0]["sequence"] is not None:
            position = position_of(rows[-1])
            read = [(position_text(position_of(row)), read_if_legible(outgoing_of, row)) for row in rows]
            found = [(behind, event) for behind, event in read if event is not None]
            if not found:
                rows = await ask(after_id=position[0], after_sequence=position[1])
        if not found and (after is None or tenant_id is not None):
            # All before has ended, and was looked through.
            position = max(position, (rows[0]["certain"], 0))
        return Outgoing(
            events=[event for _, event in found],
            positions=[behind for behind, _ in found],
            position=position_text(position),
        )

    async def listen(
        self, name: str, *, tenant_id: str | None, pattern: str, lease: timedelta, after: str | None = None
    ) -> str:
        """Register a listener, or keep one; a new one is told only once nobody is left who does not know of it."""

        async def work(transaction: Transaction) -> int | None:
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
            since: int | None = row["since"]
            return since

        since = await self._database.write(work)
        if since is None:
            await self._be_known()
            await self._database.rows(_OUTBOX["begin"], name=name, tenant_id=tenant_id, pattern=pattern)
        [horizon] = await self._database.rows(_OUTBOX["horizon"])
        if after is not None and (since is None or checked(read_position(after), horizon) < (since, 0)):
            raise InvalidEvent.of("position", "lies before what is listened to without a gap")
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

    async def trim(self, *, keep: timedelta, limit: int, consumers: Collection[str]) -> int:
        """Remove what is old and was read by each of these consumers."""

        async def work(transaction: Transaction) -> int:
            before = transaction.now - keep
            [removed] = await transaction.column(_OUTBOX["trim"], before=before, limit=limit, consumers=list(consumers))
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
