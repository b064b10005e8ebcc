"""The threads that own the connections: one that writes, a few that read."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeAlias, TypeVar

from ...domain.errors import StoreUnavailable
from ...ports.clock import Clock
from .connection import connect, translated
from .migrate import up
from .transaction import Transaction

T = TypeVar("T")

_READERS: Final = 2
_DEADLINE_SECONDS: Final = 30.0
_STEPS_BETWEEN_LOOKS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Errand:
    """A function to run in one transaction, where its answer goes, and when nobody waits for it any more."""

    work: Callable[[Transaction], Any]
    answer: Future[Any]
    deadline: float


_Errands: TypeAlias = "SimpleQueue[_Errand | None]"


class Database:
    """
    One file. Whole transaction functions are sent to its threads, so that the event loop never waits for a disk.

    SQLite has one writer at a time, so one thread writes and contends with nobody in this process. The
    threads are daemons: a transaction that the end of the process cuts off never happened.
    """

    def __init__(self, path: Path, clock: Clock, *, busy_timeout: float) -> None:
        self._path = path
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._writes: _Errands = SimpleQueue()
        self._reads: _Errands = SimpleQueue()
        self._ends: list[Future[None]] = []
        self._is_open = False

    async def open(self) -> None:
        """
        Make the file if there is none, bring its schema up, and start the threads.

        Raises:
            StoreUnavailable, UnusableDatabase: it cannot be opened, or is not one that this version can use.
        """
        await asyncio.to_thread(up, self._path, busy_timeout=self._busy_timeout)
        self._start(self._writes, "BEGIN IMMEDIATE")
        for _ in range(_READERS):
            self._start(self._reads, "BEGIN")
        self._is_open = True

    async def close(self) -> None:
        """Finish what was sent and close the connections, waiting no longer than a lock would be waited for."""
        self._is_open = False
        self._writes.put(None)
        for _ in range(_READERS):
            self._reads.put(None)
        await asyncio.wait([asyncio.wrap_future(end) for end in self._ends], timeout=self._busy_timeout)

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
        Run a function on a snapshot of the file.

        Raises:
            StoreUnavailable: the file was out of reach, or reading it took too long.
        """
        return await self._send(self._reads, work)

    async def _send(self, errands: _Errands, work: Callable[[Transaction], T]) -> T:
        if not self._is_open:
            raise StoreUnavailable(f"the database {self._path} is closed")
        answer: Future[T] = Future()
        errands.put(_Errand(work=work, answer=answer, deadline=time.monotonic() + _DEADLINE_SECONDS))
        return await asyncio.wrap_future(answer)

    def _start(self, errands: _Errands, begin: str) -> None:
        end: Future[None] = Future()
        self._ends.append(end)

        def run() -> None:
            try:
                self._serve(errands, begin)
            finally:
                end.set_result(None)

        Thread(target=run, name=f"{self._path.name}: {begin}", daemon=True).start()

    def _serve(self, errands: _Errands, begin: str) -> None:
        """Own one connection, opened when it is first needed and again after it was left in a bad state."""
        connection: sqlite3.Connection | None = None
        while (errand := errands.get()) is not None:
            if not errand.answer.set_running_or_notify_cancel():
                continue
            try:
                connection = connection or connect(self._path, busy_timeout=self._busy_timeout)
                errand.answer.set_result(self._transact(connection, errand, begin))
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller, not to this thread
                errand.answer.set_exception(error)
                if connection is not None and connection.in_transaction:
                    connection.close()
                    connection = None
            del errand
        if connection is not None:
            connection.close()

    def _transact(self, connection: sqlite3.Connection, errand: _Errand, begin: str) -> object:
        connection.set_progress_handler(lambda: time.monotonic() > errand.deadline, _STEPS_BETWEEN_LOOKS)
        with translated(self._path):
            connection.execute(begin)
            try:
                answer: object = errand.work(Transaction(connection=connection, now=self._clock.now()))
                connection.execute("COMMIT")
            except BaseException:
                connection.set_progress_handler(None, 0)
                connection.execute("ROLLBACK")
                raise
        return answer
