"""Dispatch through the database itself: a table that executors empty, woken by a bell."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from ...domain.bands import TURNS, shares
from ...domain.errors import DispatcherUnavailable, StoreUnavailable
from ...ports.bells import DISPATCH, Bells
from ...ports.dispatcher import Dispatch, Sent
from .database import Database
from .ranges import FULL_LOOK, MOST_FLOORS, Ranges
from .statements import statements
from .transaction import Row, Transaction, columns

HEARING_PAUSE: Final = 2.0
"""Seconds, about, for which a table found empty is believed to be so unless the bell rings."""

DEAF_PAUSE: Final = 0.25
"""The same where the rings of other nodes are not heard."""

FORESTALLED_PAUSE: Final = 0.01
"""The same where others were just taking all that there was, and may yet leave some of it."""

TIDYING: Final = 600.0
"""Seconds between two times that a node removes what is no longer to be run."""

TIDIED: Final = 10_000

TELLING: Final = timedelta(seconds=15)
"""Between two times that some node tells the others how far a queue was emptied, and that a node asks."""

_SQL: Final = statements("dispatches")


class PostgresDispatcher:
    """
    Carries ids in a table of which a crash of the server leaves nothing.

    Each is there once for a capability and gone when it was received, so that one which was received and never
    claimed counts as lost. Within one call bands share what there is by weight (`domain.bands`), and within a band
    the more urgent and then the older goes first. A call that may wait asks the server only if the bell rang, or
    nobody looked for a while.
    """

    is_shared = True

    def __init__(self, database: Database, bells: Bells) -> None:
        self._database = database
        self._bells = bells
        self._ranges = Ranges(first_full_look=random.uniform(0.0, FULL_LOOK))  # noqa: S311 - guards nothing
        self._era: UUID | None = None
        self._ended: UUID | None = None
        self._ask_at = 0.0
        self._turn = 0
        self._rung = asyncio.Event()
        self._nothing_until: dict[frozenset[str], float] = {}
        self._tidy_at = time.monotonic() + _about(TIDYING)
        bells.listen(DISPATCH, self._wake)

    async def dispatch(self, batch: Sequence[Dispatch]) -> None:
        """Add what is not there yet, and ring."""
        if batch:
            await self._rows("insert_dispatches", **_columns(batch, "priority"))
            self._bells.ring(DISPATCH)

    async def receive(self, *, capabilities: Collection[str], limit: int, wait: float) -> Sequence[Dispatch]:
        """
        Take what is most urgent, each band its share, waiting for the first up to `wait` seconds.

        What was taken for a caller who is gone, or behind an answer that got lost, counts as lost.
        """
        asked, until = frozenset(capabilities), time.monotonic() + wait
        if not asked or limit <= 0:
            await asyncio.sleep(wait)
            return []
        while True:
            bell = self._rung
            is_due = self._nothing_until.get(asked, 0.0) <= time.monotonic()
            if (is_due or wait <= 0) and (taken := await self._take(asked, limit, bell)):
                return taken
            now = time.monotonic()
            if now >= until:
                return []
            await _ring_of(bell, min(until, self._nothing_until.get(asked, 0.0)) - now)

    async def acknowledge(self, batch: Sequence[Dispatch]) -> None:
        """Do nothing: what was received is gone from here."""

    async def lost(self, candidates: Sequence[Sent]) -> Sequence[Dispatch]:
        """Tell which of these are not in the table; now and then, remove from it what is no longer to be run."""
        if time.monotonic() >= self._tidy_at:
            self._tidy_at = time.monotonic() + _about(TIDYING)
            await self._rows("forget_settled_dispatches", limit=TIDIED)
        if not candidates:
            return []
        asked = [dispatch for dispatch, _ in candidates]
        return [asked[row["number"]] for row in await self._rows("missing_dispatches", **_columns(asked))]

    def _wake(self) -> None:
        # A fresh bell for those who come later, so that one ring wakes each waiter exactly once.
        self._rung.set()
        self._rung = asyncio.Event()
        self._nothing_until.clear()

    async def _take(self, asked: frozenset[str], limit: int, bell: asyncio.Event) -> Sequence[Dispatch]:
        await self._share_floors()
        era = self._era
        share = shares(self._turn, limit)
        look = self._ranges.look(asked)
        ranges = [{**asdict(each), "share": share[each.band]} for each in look.ranges]
        rows = await self._rows("take_dispatches", limit=limit, **columns(ranges))
        taken = sorted((row for row in rows if row["id"] is not None), key=lambda row: (-row["priority"], row["id"]))
        if era is None or rows[0]["era"] != era:
            self._forget()
        elif not self._ranges.learn(
            look, [((row["capability"], row["priority"]), row["id"]) for row in taken], _seen(rows[0])
        ):
            self._era, self._ended = None, era
            # What was taken is the caller's all the same; to tell the others is then for the next look.
            with suppress(DispatcherUnavailable):
                await self._begin_era(era)
        self._turn = (self._turn + len(taken)) % len(TURNS)
        # A look that began before the last ring says nothing about what came with it.
        if not taken and bell is self._rung:
            pause = FORESTALLED_PAUSE if rows[0]["ranges"] else self._pause
            self._nothing_until[asked] = time.monotonic() + _about(pause)
        return [_dispatch(row) for row in taken]

    async def _share_floors(self) -> None:
        """Ask others how far they emptied each queue, at first and now and then, and tell them what this node found."""
        if self._ended is not None:
            await self._begin_era(self._ended)
        if self._era is None:
            self._ask_at = 0.0
            for row in await self._rows("era"):
                self._era = row["era"]
        if time.monotonic() >= self._ask_at:
            self._ask_at = time.monotonic() + TELLING.total_seconds()
            known = await self._rows("known_floors", most=MOST_FLOORS)
            self._ranges.adopt({(row["capability"], row["priority"]): row["number"] for row in reversed(known)})
        if news := self._ranges.news():
            told = [{"capability": name, "priority": priority, "number": n} for (name, priority), n in news.items()]
            await self._rows("note_floors", era=self._era, pause=TELLING, **columns(told))

    async def _begin_era(self, ended: UUID) -> None:
        """Take back what nodes told each other in an era, and have each of them forget what it believes."""

        async def begin(transaction: Transaction) -> None:
            if await transaction.column(_SQL["begin_era"], ended=ended):
                await transaction.run(_SQL["forget_floors"])

        try:
            await self._database.write(begin)
        except StoreUnavailable as error:
            raise DispatcherUnavailable(str(error)) from error
        if self._ended == ended:
            self._ended = None

    async def _rows(self, statement: str, **parameters: object) -> Sequence[Row]:
        try:
            return await self._database.rows(_SQL[statement], **parameters)
        except StoreUnavailable as error:
            self._forget()
            raise DispatcherUnavailable(str(error)) from error

    def _forget(self) -> None:
        """Trust no floor: after a crash of the server numbers begin anew, and another node may have found one wrong."""
        self._ranges.forget()
        self._era = None

    @property
    def _pause(self) -> float:
        return HEARING_PAUSE if self._bells.listening else DEAF_PAUSE


def _seen(row: Row) -> Mapping[tuple[int, int], int]:
    """Tell the first number that was seen, by range and priority."""
    queues = zip(row["ranges"] or (), row["priorities"] or (), row["firsts"] or (), strict=True)
    return {(number - 1, priority): first for number, priority, first in queues}


def _dispatch(row: Row) -> Dispatch:
    return Dispatch(row["execution_id"], row["capability"], row["priority"])


def _columns(batch: Sequence[Dispatch], *more: str) -> dict[str, list[Any]]:
    return {name: [getattr(each, name) for each in batch] for name in ("execution_id", "capability", *more)}


def _about(seconds: float) -> float:
    """Spread what every node does."""
    return seconds * random.uniform(0.75, 1.25)  # noqa: S311 - guards nothing


async def _ring_of(bell: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await bell.wait()
    except TimeoutError:
        pass
