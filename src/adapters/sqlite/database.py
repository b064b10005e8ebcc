"""One file as its callers see it: who writes, and who reads without waiting for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

from ...domain.errors import StoreUnavailable
from ...ports.clock import Clock
from .connection import CACHE_KIB
from .lanes import File, Lane
from .migrate import up
from .transaction import Transaction

T = TypeVar("T")

_READERS: Final = 2
_CACHE_KIB_OF_READERS: Final = 2048
_PATIENCE: Final = 30.0
_PATIENCE_OF_REQUESTS: Final = 10.0


class Database:
    """
    One file. Whole transaction functions are sent to its threads, so that the event loop never waits for a disk.

    SQLite has one writer at a time, so one thread writes and contends with nobody in this process. What
    requests read, long reports included, has threads of its own, and so has what retention looks for: a
    heartbeat must not queue behind them, or every lease of the node is given up.
    """

    def __init__(self, path: Path, clock: Clock, *, busy_timeout: float) -> None:
        self._path = path
        self._clock = clock
        self._busy_timeout = busy_timeout
        file = File(path=path, clock=clock, busy_timeout=busy_timeout)
        self._writes = Lane(file, "BEGIN IMMEDIATE", patience=_PATIENCE, cache_kib=CACHE_KIB)
        self._reads = Lane(file, "BEGIN", patience=_PATIENCE_OF_REQUESTS, cache_kib=_CACHE_KIB_OF_READERS)
        self._watches = Lane(file, "BEGIN", patience=_PATIENCE, cache_kib=_CACHE_KIB_OF_READERS)
        self._searches = Lane(file, "BEGIN", patience=_PATIENCE, cache_kib=_CACHE_KIB_OF_READERS)
        self._is_open = False

    async def open(self) -> None:
        """
        Make the file if there is none, bring its schema up, and start the threads.

        Raises:
            StoreUnavailable, UnusableDatabase: it cannot be opened, or is not one that this version can use.
        """
        await asyncio.to_thread(up, self._path, busy_timeout=self._busy_timeout)
        for lane in (self._writes, self._watches, self._searches):
            lane.start(1)
        self._reads.start(_READERS)
        self._is_open = True

    async def close(self) -> None:
        """Finish what was sent and close the connections, waiting no longer than a lock would be waited for."""
        self._is_open = False
        lanes = (self._writes, self._reads, self._watches, self._searches)
        ends = [asyncio.wrap_future(end) for lane in lanes for end in lane.stop()]
        await asyncio.wait(ends, timeout=self._busy_timeout)

    def now(self) -> datetime:
        """Read the clock that every row is stamped by."""
        return self._clock.now()

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """
        Run a function as the only writer of the file, and commit; whatever it raises undoes all of it.

        Cancelling the call does not undo a transaction that has begun.

        Raises:
            StoreUnavailable: the file was locked too long, full or out of reach; nothing was changed.
        """
        return await self._send(self._writes, work)

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """
        Run a function on a snapshot of the file, for a request.

        Raises:
            StoreUnavailable: the file was out of reach, or reading it took too long.
        """
        return await self._send(self._reads, work)

    async def watch(self, work: Callable[[Transaction], T]) -> T:
        """
        Run a short function on a snapshot of the file, for a loop on which leases depend.

        Raises:
            StoreUnavailable: as for `read`.
        """
        return await self._send(self._watches, work)

    async def search(self, work: Callable[[Transaction], T]) -> T:
        """
        Run a function on a snapshot of the file that may take long and that nobody waits for.

        Raises:
            StoreUnavailable: as for `read`.
        """
        return await self._send(self._searches, work)

    async def _send(self, lane: Lane, work: Callable[[Transaction], T]) -> T:
        if not self._is_open:
            raise StoreUnavailable("the database is closed")
        return await lane.send(work)
