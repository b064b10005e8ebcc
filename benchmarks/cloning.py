"""
Fills databases in bulk: rows like those of one real job or execution, which the program itself has written.

The tables are found by what they hold, so that no layout is repeated here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, Protocol, TypeAlias
from uuid import UUID

import asyncpg

from .engines import Engine, Place

Row: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[int], Mapping[str, object]]
"""What the columns of clone number n hold instead, where a table has them."""

Wording: TypeAlias = Callable[[int], str]
"""What stands in the documents of clone number n in place of the template's word."""

AT_ONCE: Final = 20_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_PG_COLUMNS: Final = """
SELECT table_name, column_name
FROM information_schema.columns
WHERE
    table_schema = 'tocsin' AND is_generated = 'NEVER' AND is_identity = 'NO'
    AND coalesce(column_default, '') NOT LIKE 'nextval(%'
ORDER BY table_name, ordinal_position
"""
_PG_KEYS: Final = """
SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'tocsin' AND data_type = 'uuid'
"""
_PG_INDEXES: Final = """
SELECT indexname, indexdef
FROM pg_indexes
WHERE
    schemaname = 'tocsin' AND tablename = $1
    AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""
_SQLITE_INDEXES: Final = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"


class Tables(Protocol):
    """The rows of a database, whatever its engine."""

    async def columns(self) -> Mapping[str, Sequence[str]]:
        """List the columns that can be written, by table."""

    async def rows(self, table: str, column: str, key: UUID) -> Sequence[Row]:
        """Read rows by one column; none if the column cannot hold such a key."""

    async def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Add rows."""

    async def update(self, table: str, column: str, key: UUID, values: Mapping[str, object]) -> None:
        """Change columns of the rows that have the key."""

    async def add(self, table: str, column: str, key: UUID, amounts: Mapping[str, int]) -> None:
        """Raise columns of the rows that have the key."""

    def without_indexes(self, table: str) -> AbstractAsyncContextManager[None]:
        """Fill a table faster: its indexes are made anew at the end, but for those that constraints need."""

    async def settle(self) -> None:
        """Bring statistics up to date and write everything to disk, so that none of it is done while measuring."""

    def instant(self, at: datetime) -> object:
        """Word an instant as the columns hold it."""

    def identifier(self, key: UUID) -> object:
        """Word an id as the columns hold it."""


class PostgresTables:
    """Rows through COPY."""

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        self._connection = connection

    async def columns(self) -> Mapping[str, Sequence[str]]:
        """List the columns."""
        return _grouped(tuple(row) for row in await self._connection.fetch(_PG_COLUMNS))

    async def rows(self, table: str, column: str, key: UUID) -> Sequence[Row]:
        """Read rows."""
        if (table, column) not in {tuple(row) for row in await self._connection.fetch(_PG_KEYS)}:
            return []
        return [dict(row) for row in await self._connection.fetch(f"SELECT * FROM {table} WHERE {column} = $1", key)]  # noqa: S608 - names of the schema

    async def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Copy rows in."""
        await self._connection.copy_records_to_table(table, schema_name="tocsin", records=rows, columns=list(columns))

    async def update(self, table: str, column: str, key: UUID, values: Mapping[str, object]) -> None:
        """Change rows."""
        changes = ", ".join(f"{name} = ${number}" for number, name in enumerate(values, start=2))
        await self._connection.execute(f"UPDATE {table} SET {changes} WHERE {column} = $1", key, *values.values())  # noqa: S608 - names of the schema

    async def add(self, table: str, column: str, key: UUID, amounts: Mapping[str, int]) -> None:
        """Raise columns."""
        changes = ", ".join(f"{name} = {name} + {amount}" for name, amount in amounts.items())
        await self._connection.execute(f"UPDATE {table} SET {changes} WHERE {column} = $1", key)  # noqa: S608 - names of the schema

    @asynccontextmanager
    async def without_indexes(self, table: str) -> AsyncIterator[None]:
        """Drop and create them."""
        found = await self._connection.fetch(_PG_INDEXES, table)
        for row in found:
            await self._connection.execute(f"DROP INDEX {row['indexname']}")
        yield
        await self._connection.execute("SET maintenance_work_mem = '1GB'")
        for row in found:
            await self._connection.execute(row["indexdef"])

    async def settle(self) -> None:
        """Vacuum, analyse, and write a checkpoint."""
        await self._connection.execute("VACUUM ANALYZE")
        await self._connection.execute("CHECKPOINT")

    def instant(self, at: datetime) -> object:
        """Leave it as it is."""
        return at

    def identifier(self, key: UUID) -> object:
        """Leave it as it is."""
        return key


class SqliteTables:
    """Rows of a file that no node has open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def columns(self) -> Mapping[str, Sequence[str]]:
        """List the columns."""
        tables = self._connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        # `table_xinfo` marks generated columns, `table_info` leaves them out.
        return {
            table: [row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")] for (table,) in tables
        }

    async def rows(self, table: str, column: str, key: UUID) -> Sequence[Row]:
        """Read rows."""
        found = self._connection.execute(f"SELECT * FROM {table} WHERE {column} = ?", (str(key),))  # noqa: S608 - names of the schema
        names = [each[0] for each in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]

    async def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Insert rows in one transaction."""
        marks = ", ".join("?" for _ in columns)
        with self._connection:
            self._connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608 - names of the schema

    async def update(self, table: str, column: str, key: UUID, values: Mapping[str, object]) -> None:
        """Change rows."""
        changes = ", ".join(f"{name} = ?" for name in values)
        with self._connection:
            self._connection.execute(f"UPDATE {table} SET {changes} WHERE {column} = ?", [*values.values(), str(key)])  # noqa: S608 - names of the schema

    async def add(self, table: str, column: str, key: UUID, amounts: Mapping[str, int]) -> None:
        """Raise columns."""
        changes = ", ".join(f"{name} = {name} + {amount}" for name, amount in amounts.items())
        with self._connection:
            self._connection.execute(f"UPDATE {table} SET {changes} WHERE {column} = ?", (str(key),))  # noqa: S608 - names of the schema

    @asynccontextmanager
    async def without_indexes(self, table: str) -> AsyncIterator[None]:
        """Drop and create them."""
        found = self._connection.execute(_SQLITE_INDEXES, (table,)).fetchall()
        for name, _ in found:
            self._connection.execute(f"DROP INDEX {name}")
        yield
        for _, definition in found:
            self._connection.execute(definition)

    async def settle(self) -> None:
        """Empty the write-ahead log."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def instant(self, at: datetime) -> object:
        """Count microseconds."""
        return (at - _EPOCH) // _MICROSECOND

    def identifier(self, key: UUID) -> object:
        """Word it as text."""
        return str(key)


@asynccontextmanager
async def tables_of(place: Place) -> AsyncIterator[Tables]:
    """Open the tables of a database, beside its nodes if it is a server's."""
    if place.engine is Engine.SQLITE:
        with closing(sqlite3.connect(place.database_url.removeprefix("sqlite:///"))) as file:
            yield SqliteTables(file)
        return
    connection = await asyncpg.connect(place.database_url, server_settings={"search_path": "tocsin"})
    try:
        yield PostgresTables(connection)
    finally:
        await connection.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One real `job` or `execution`; where a clone is `worded` its documents say that in place of `word`."""

    kind: str
    id: UUID
    change: Change = lambda _: {}
    word: str = ""
    worded: Wording | None = None


Found: TypeAlias = Sequence[tuple[str, str, Row]]
"""Rows of a template: table, the column that holds its id, and what else there is to write."""


async def found(tables: Tables, kind: str, key: UUID) -> Found:
    """Read each row of a job or an execution, the table of its own first."""
    home, rows = f"{kind}s", list[tuple[str, str, Row]]()
    for table, columns in sorted((await tables.columns()).items(), key=lambda each: each[0] != home):
        column = "id" if table == home else f"{kind}_id"
        there = await tables.rows(table, column, key) if column in columns else ()
        rows += [(table, column, {name: row[name] for name in columns}) for row in there]
    return rows


async def clone(tables: Tables, template: Template, ids: Sequence[UUID], rows: Found | None = None) -> None:
    """Write each row of the template, as it is now or as it was found before, again under each of these ids."""
    for table, column, row in rows or await found(tables, template.kind, template.id):
        copies = _copies(row, column, map(tables.identifier, ids), template)
        while some := list(islice(copies, AT_ONCE)):
            await tables.insert(table, list(row), some)


def _copies(row: Row, key: str, ids: Iterable[object], template: Template) -> Iterator[tuple[object, ...]]:
    places = {name: place for place, name in enumerate(row)}
    values = list(row.values())
    documents = {
        place: text.split(template.word)
        for place, text in enumerate(values)
        if template.worded and isinstance(text, str) and template.word in text
    }
    for number, each in enumerate(ids):
        values[places[key]] = each
        for name, value in template.change(number).items():
            if name in places:
                values[places[name]] = value
        for place, parts in documents.items():
            values[place] = template.worded(number).join(parts) if template.worded else values[place]
        yield tuple(values)


def _grouped(pairs: Iterable[Sequence[str]]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for table, column in pairs:
        found.setdefault(table, []).append(column)
    return found
