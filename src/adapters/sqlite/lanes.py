"""Threads that own connections, each lane for callers that must not wait for those of another."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

from ...domain.errors import StoreUnavailable
from ...ports.clock import Clock
from .connection import TOO_LATE, UnusableDatabase, connect, translated
from .transaction import Transaction

T = TypeVar("T")

_STEPS_BETWEEN_LOOKS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """Which file to open and how long to wait for its lock, in seconds; `clock` stamps every row."""

    path: Path
    clock: Clock
    busy_timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Errand:
    """A function to run in one transaction, where its answer goes, and when nobody waits for it any more."""

    work: Callable[[Transaction], Any]
    answer: Future[Any]
    deadline: float


class Lane:
    """
    Threads that take turns with the transactions of one kind of caller.

    `begin` starts each transaction; `patience` is after how many seconds one is given up, its wait for a
    turn included; `cache_kib` is for the pages of each thread. The threads are daemons: a transaction that the
    end of the process cuts off never happened.
    """

    def __init__(self, file: File, begin: str, *, patience: float, cache_kib: int) -> None:
        self._file = file
        self._begin = begin
        self._patience = patience
        self._cache_kib = cache_kib
        self._errands: SimpleQueue[_Errand | None] = SimpleQueue()
        self._ends: list[Future[None]] = []

    def start(self, threads: int) -> None:
        """Start the threads; each opens its connection when it is first needed."""
        for _ in range(threads):
            end: Future[None] = Future()
            self._ends.append(end)
            Thread(target=self._run, args=[end], name=f"{self._file.path.name}: {self._begin}", daemon=True).start()

    def stop(self) -> Sequence[Future[None]]:
        """Let the threads end once they have done what was sent, and answer their ends."""
        for _ in self._ends:
            self._errands.put(None)
        return self._ends

    async def send(self, work: Callable[[Transaction], T]) -> T:
        """
        Run a function in one transaction; whatever it raises undoes all of it.

        Raises:
            StoreUnavailable: its turn did not come in time, or the file did not answer; nothing was changed.
        """
        answer: Future[T] = Future()
        self._errands.put(_Errand(work=work, answer=answer, deadline=time.monotonic() + self._patience))
        return await asyncio.wrap_future(answer)

    def _run(self, end: Future[None]) -> None:
        """Own one connection, opened again after it was left in a bad state, until told to end."""
        connection: sqlite3.Connection | None = None
        while (errand := self._errands.get()) is not None:
            if not errand.answer.set_running_or_notify_cancel():
                continue
            try:
                with _worded_for_callers():
                    _check(errand)
                    connection = connection or self._connected()
                    errand.answer.set_result(self._transact(connection, errand))
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller, not to this thread
                errand.answer.set_exception(error)
                if connection is not None and not _is_clean(connection):
                    _close(connection)
                    connection = None
            del errand
        if connection is not None:
            _close(connection)
        end.set_result(None)

    def _connected(self) -> sqlite3.Connection:
        return connect(self._file.path, busy_timeout=self._file.busy_timeout, cache_kib=self._cache_kib)

    def _transact(self, connection: sqlite3.Connection, errand: _Errand) -> object:
        connection.set_progress_handler(lambda: time.monotonic() > errand.deadline, _STEPS_BETWEEN_LOOKS)
        with translated(self._file.path):
            connection.execute(self._begin)
            try:
                answer: object = errand.work(Transaction(connection=connection, now=self._file.clock.now()))
                connection.execute("COMMIT")
            except BaseException:
                connection.set_progress_handler(None, 0)
                # A full disk or a passed deadline has undone it already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        return answer


def _check(errand: _Errand) -> None:
    """Refuse what nobody waits for any more, before it keeps the next ones waiting."""
    if time.monotonic() > errand.deadline:
        raise StoreUnavailable(TOO_LATE)


@contextmanager
def _worded_for_callers() -> Iterator[None]:
    """Keep which file it is, and what is wrong with it, for the log."""
    try:
        yield
    except UnusableDatabase as error:
        raise StoreUnavailable("the database file cannot be used") from error


def _is_clean(connection: sqlite3.Connection) -> bool:
    """Tell whether another transaction can begin."""
    try:
        return not connection.in_transaction
    except sqlite3.Error:
        return False


def _close(connection: sqlite3.Connection) -> None:
    """Let a connection go, in whatever state it is."""
    with suppress(sqlite3.Error):
        connection.close()
