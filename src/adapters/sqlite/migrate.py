"""The schema, step by step: up, down, and where a file stands."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from ...ports.schema import (
    Migration,
    MigrationStatus,
    migrations_of,
    refusal,
    refusal_down,
    statuses,
    steps_down,
    steps_up,
)
from .connection import UnusableDatabase, connect, translated
from .instants import from_micros

_BUSY_TIMEOUT: Final = 5.0
_CREATE: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL,
    compatible INTEGER NOT NULL DEFAULT 1
)"""
# Tables made before steps said whether they are compatible: all that they list is known to whoever adds the column.
_WIDEN: Final = "ALTER TABLE schema_migrations ADD COLUMN compatible INTEGER NOT NULL DEFAULT 1"
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_COLUMNS: Final = "SELECT name FROM pragma_table_info('schema_migrations')"
_APPLIED: Final = "SELECT version, name, checksum, applied_at, {compatible} FROM schema_migrations ORDER BY version"
_RECORD: Final = """
INSERT INTO schema_migrations (version, name, checksum, compatible, applied_at)
VALUES (?, ?, ?, ?, CAST(strftime('%s', 'now') AS INTEGER) * 1000000)"""
_FORGET: Final = "DELETE FROM schema_migrations WHERE version = ?"


def migrations() -> Sequence[Migration]:
    """Read every step that this version knows, oldest first."""
    return migrations_of(__package__)


def status(path: Path) -> Sequence[MigrationStatus]:
    """
    List every step and whether the file has it, oldest first, newer versions' too; a missing file is not made.

    Raises:
        UnusableDatabase: the file is no database, another program's, or a newer version's that this one cannot use.
        StoreUnavailable: it is locked, or cannot be read.
    """
    if not path.exists():
        return statuses(migrations(), [])
    with closing(connect(path, busy_timeout=_BUSY_TIMEOUT)) as connection, translated(path):
        return statuses(migrations(), _usable(connection, path))


def up(path: Path, to: int | None = None, *, busy_timeout: float = _BUSY_TIMEOUT) -> Sequence[MigrationStatus]:
    """
    Take the missing steps up to version `to`, or all, in one transaction; answer those taken, oldest first.

    Raises:
        UnusableDatabase, StoreUnavailable: as for `status`; nothing was changed.
    """
    with closing(connect(path, busy_timeout=busy_timeout)) as connection, translated(path):
        with _exclusively(connection):
            missing = steps_up(migrations(), _usable(connection, path), to)
            connection.execute(_CREATE)
            if not _says_compatible(connection):
                connection.execute(_WIDEN)
            for step in missing:
                _run(connection, step.up)
                connection.execute(_RECORD, (step.version, step.name, step.checksum, step.compatible))
        versions = {step.version for step in missing}
        return [each for each in _taken(connection) if each.version in versions]


def down(path: Path, to: int) -> Sequence[MigrationStatus]:
    """
    Undo the steps past version `to` with all that they hold, in one transaction; answer those undone, newest last.

    Raises:
        UnusableDatabase: as for `status`, and if a newer version took steps after them; nothing was changed.
        StoreUnavailable: as for `status`; nothing was changed.
    """
    with closing(connect(path, busy_timeout=_BUSY_TIMEOUT)) as connection, translated(path):
        with _exclusively(connection):
            taken = _usable(connection, path)
            if reason := refusal_down(migrations(), taken):
                raise UnusableDatabase(path, reason)
            undone = steps_down(migrations(), taken, to)
            for step in undone:
                _run(connection, step.down)
                connection.execute(_FORGET, (step.version,))
        return [step.taken(None) for step in reversed(undone)]


def _usable(connection: sqlite3.Connection, path: Path) -> Sequence[MigrationStatus]:
    """Read the steps taken, oldest first, refusing a schema that is not ours to touch."""
    tables = {name for (name,) in connection.execute(_TABLES)}
    if tables and "schema_migrations" not in tables:
        raise UnusableDatabase(path, "it holds the tables of another program")
    taken = _taken(connection) if tables else []
    if reason := refusal(migrations(), taken):
        raise UnusableDatabase(path, reason)
    return taken


def _taken(connection: sqlite3.Connection) -> Sequence[MigrationStatus]:
    # Before there was a column for it, only the version itself could go on.
    statement = _APPLIED.format(compatible="compatible" if _says_compatible(connection) else "0")
    return [
        MigrationStatus(
            version=version,
            name=name,
            checksum=checksum,
            applied_at=from_micros(applied_at),
            compatible=bool(compatible),
        )
        for version, name, checksum, applied_at, compatible in connection.execute(statement)
    ]


def _says_compatible(connection: sqlite3.Connection) -> bool:
    return ("compatible",) in connection.execute(_COLUMNS).fetchall()


@contextmanager
def _exclusively(connection: sqlite3.Connection) -> Iterator[None]:
    """Let nobody else write meanwhile, so that of two processes that start at once one finds it done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Run statements one by one, because executescript would commit before the first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
