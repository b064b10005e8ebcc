"""One transaction, as the code inside it sees it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from .instants import to_micros

LARGEST: Final = 2**63 - 1
"""The largest integer that SQLite knows."""

NULL: Final = float("nan")
"""What SQLite takes for NULL. To ask of a None how to adapt it takes Python's driver longer than to write the value."""

Row: TypeAlias = Mapping[str, Any]
"""A row by the names of its columns."""

Parameters: TypeAlias = Mapping[str, Any]
"""What the named parameters of a statement stand for, in the types of SQLite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A snapshot to read from, or the one writer of the file; `now` was read when it began."""

    connection: sqlite3.Connection
    now: datetime

    @property
    def now_micros(self) -> int:
        """When the transaction began, as rows say it."""
        return to_micros(self.now)

    def rows(self, statement: str, **parameters: object) -> list[Row]:
        """Run a statement and read all that it answers."""
        cursor = self.connection.execute(statement, parameters)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def tuples(self, statement: str, **parameters: object) -> list[tuple[Any, ...]]:
        """Run a statement and read all that it answers, each row in the order of its columns: for many rows."""
        found: list[tuple[Any, ...]] = self.connection.execute(statement, parameters).fetchall()
        return found

    def listed(self, statement: str, **parameters: object) -> list[list[Any]]:
        """
        Run a statement that answers its rows as one JSON array of arrays: for batches of executions.

        The engine makes it in one step, during which the other threads of the process run; a cursor over as many rows
        would stop them, and be stopped by them, at each. A single value that JSON cannot hold fails all of it.
        """
        [[found]] = self.connection.execute(statement, parameters)
        rows: list[list[Any]] = json.loads(found)
        return rows

    def batch(self, statement: str, ids: Sequence[str]) -> list[list[Any]]:
        """
        Do as `listed` does with a statement about these ids.

        What is too long for one text is read in parts. A row that JSON cannot hold, which only a stranger can have
        written, is left out.
        """
        try:
            return self.listed(statement, ids=array(ids))
        except (sqlite3.OperationalError, sqlite3.DataError, ValueError) as error:
            # Of a text that is no UTF-8 it is the driver's own, and of an infinity the reader's: neither has a code.
            if not ids or getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) not in _DIVISIBLE:
                raise
            if len(ids) == 1:
                # Which raises again if it is not the row that is at fault.
                return self.batch(statement, [])
            middle = len(ids) // 2
            return [*self.batch(statement, ids[:middle]), *self.batch(statement, ids[middle:])]

    def row(self, statement: str, **parameters: object) -> Row | None:
        """Run a statement and read the one row that it answers, if any."""
        found = self.rows(statement, **parameters)
        return found[0] if found else None

    def column(self, statement: str, **parameters: object) -> list[Any]:
        """Run a statement and read the first column of what it answers."""
        return [row[0] for row in self.connection.execute(statement, parameters)]

    def run(self, statement: str, **parameters: object) -> None:
        """Run a statement that answers nothing."""
        self.connection.execute(statement, parameters)

    def run_many(self, statement: str, rows: Iterable[Parameters] | Iterable[tuple[object, ...]]) -> int:
        """Run a statement for each of many rows, named or, which is faster, numbered; tell how many it changed."""
        return self.connection.executemany(statement, rows).rowcount

    @contextmanager
    def savepoint(self) -> Generator[None]:
        """Undo what is written inside if it raises, and go on with the transaction."""
        self.connection.execute("SAVEPOINT inside")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK TO inside")
            raise
        finally:
            if self.connection.in_transaction:
                self.connection.execute("RELEASE inside")


def array(values: Iterable[object]) -> str:
    """Write a set as the JSON array in which it crosses into a statement, in ASCII; ids cross as text."""
    return _ENCODER.encode(list(values))


def object_of(pairs: Iterable[tuple[str | int, int]]) -> str:
    """Write pairs of an id, or a rowid, and a number as a JSON object, in which an id may come more than once."""
    members = ",".join(f'"{key}":{value}' for key, value in pairs)
    return f"{{{members}}}"


_DIVISIBLE: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG})
"""What half of a batch, or one row of it, may be without."""

_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), default=str)
