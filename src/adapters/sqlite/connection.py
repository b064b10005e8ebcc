"""How a file is opened, and what its errors mean to others."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ...domain.errors import StoreUnavailable

OLDEST_SQLITE: Final = (3, 35, 5)
"""The first whose `DROP COLUMN`, the newest feature used, cannot damage the file."""

TOO_LATE: Final = "the database did not answer in time"

CACHE_KIB: Final = 16_384
"""Pages that a connection which writes keeps at hand: what a batch touches lies all over the indexes."""

_PAGES_BETWEEN_CHECKPOINTS: Final = 4000
"""16 MiB: a page that many batches touch is copied from the log into the file once for all of them."""

_PRIMARY_CODE: Final = 0xFF
_RETRY_SECONDS: Final = 0.02
_STATEMENTS_KEPT: Final = 256
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_LOCKED: Final = "the database stayed locked by somebody else"
_UNWRITABLE: Final = "the database file cannot be written"
_REASONS: Final = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: _LOCKED,
        sqlite3.SQLITE_LOCKED: _LOCKED,
        sqlite3.SQLITE_PROTOCOL: _LOCKED,
        sqlite3.SQLITE_INTERRUPT: TOO_LATE,
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_IOERR: "the disk failed to read or write the database",
        sqlite3.SQLITE_NOMEM: "the database ran out of memory",
        sqlite3.SQLITE_CORRUPT: "the database file is damaged",
        sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
        sqlite3.SQLITE_READONLY: _UNWRITABLE,
        sqlite3.SQLITE_PERM: _UNWRITABLE,
        sqlite3.SQLITE_AUTH: _UNWRITABLE,
    }
)
"""What callers are told; what the engine said, which may hold paths, stays the cause and is for the log."""


class UnusableDatabase(StoreUnavailable):
    """The file cannot be the store until somebody repairs it; names the file, so it is for who starts a node."""

    def __init__(self, path: Path, reason: str) -> None:
        """Keep which file it is."""
        super().__init__(f"{path} cannot be used as the database: {reason}")
        self.path = path


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Word what the engine reports about its file as StoreUnavailable; a mistake of ours stays what it is."""
    try:
        yield
    except sqlite3.Error as error:
        code = primary_code(error)
        if code == sqlite3.SQLITE_NOTADB:
            raise UnusableDatabase(path, "it is not a SQLite database") from error
        if code is not None and code in _REASONS:
            raise StoreUnavailable(_REASONS[code]) from error
        raise


def primary_code(error: sqlite3.Error) -> int | None:
    """Tell what went wrong, as SQLite's primary result code; None if Python's binding raised it on its own."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE


def connect(path: Path, *, busy_timeout: float, cache_kib: int = CACHE_KIB) -> sqlite3.Connection:
    """
    Open a file, making it (readable by its owner only) if there is none; `busy_timeout` is in seconds.

    `cache_kib` bounds the memory for its pages, which is taken as they are read.

    Every commit is on the disk before it is acknowledged (synchronous=FULL): a power cut loses nothing.

    Raises:
        StoreUnavailable, UnusableDatabase: it cannot be opened, written or read as a database.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        needed = ".".join(map(str, OLDEST_SQLITE))
        raise UnusableDatabase(path, f"SQLite {needed} or newer is needed, this is {sqlite3.sqlite_version}")
    _make(path)
    with translated(path):
        connection = sqlite3.connect(
            path, timeout=busy_timeout, isolation_level=None, cached_statements=_STATEMENTS_KEPT
        )
        try:
            _configure(connection, path, deadline=time.monotonic() + busy_timeout)
            connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        except BaseException:
            connection.close()
            raise
    return connection


def _make(path: Path) -> None:
    """
    Make the file, for its owner only, if there is none; only look at one that exists.

    To open and close it would drop the locks of this process's other connections, and the next process to leave
    would take their write-ahead log away under them (sqlite.org/howtocorrupt.html, 2.2).
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.is_dir():
            raise UnusableDatabase(path, os.strerror(errno.EISDIR)) from None
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            raise UnusableDatabase(path, os.strerror(errno.EACCES)) from None
    except OSError as error:
        raise UnusableDatabase(path, error.strerror or str(error)) from error


def _configure(connection: sqlite3.Connection, path: Path, *, deadline: float) -> None:
    mode = _write_ahead(connection, deadline)
    if mode != "wal":
        raise UnusableDatabase(path, f"its file system allows no write-ahead log (journal_mode is {mode})")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_BETWEEN_CHECKPOINTS}")


def _write_ahead(connection: sqlite3.Connection, deadline: float) -> str:
    """Switch to WAL; where several processes switch at once SQLite answers busy without waiting, so we wait."""
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if primary_code(error) not in _BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_SECONDS)
