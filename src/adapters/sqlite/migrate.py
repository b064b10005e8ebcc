"""The schema, step by step: up, down, and where a file stands."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from .connection import UnusableDatabase, connect, translated
from .instants import from_micros

_BUSY_TIMEOUT: Final = 5.0
_FILE: Final = re.compile(r"(?P<version>\d{4})_(?P<name>\w+)\.up\.sql")
_CREATE: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
)"""
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_APPLIED: Final = "SELECT version, name, checksum, applied_at FROM schema_migrations ORDER BY version"
_RECORD: Final = """
INSERT INTO schema_migrations (version, name, checksum, applied_at)
VALUES (?, ?, ?, CAST(strftime('%s', 'now') AS INTEGER) * 1000000)"""
_FORGET: Final = "DELETE FROM schema_migrations WHERE version = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationStatus:
    """One step of the schema; `applied_at` is None while the file does not have it."""

    version: int
    name: str
    checksum: str
    applied_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema as SQL, with the way back; `checksum` is the SHA-256 of the way up."""

    version: int
    name: str
    up: str
    down: str

    @property
    def checksum(self) -> str:
        """Tell this text from an edited one."""
        return sha256(self.up.encode()).hexdigest()


@cache
def migrations() -> Sequence[Migration]:
    """Read every step that this version knows, oldest first."""
    folder = files(__package__).joinpath("migrations")
    found = (_FILE.fullmatch(entry.name) for entry in folder.iterdir())
    return tuple(
        Migration(
            version=int(match["version"]),
            name=match["name"],
            up=folder.joinpath(match[0]).read_text("utf-8"),
            down=folder.joinpath(match[0].replace(".up.", ".down.")).read_text("utf-8"),
        )
        for match in sorted((match for match in found if match), key=lambda match: match[0])
    )


def status(path: Path) -> Sequence[MigrationStatus]:
    """
    List every step and whether the file has it, oldest first; a missing file is not made.

    Raises:
        UnusableDatabase: the file is no database, another program's, or a newer version's.
        StoreUnavailable: it is locked, or cannot be read.
    """
    if not path.exists():
        return [_status(migration, None) for migration in migrations()]
    with closing(connect(path, busy_timeout=_BUSY_TIMEOUT)) as connection, translated(path):
        return _statuses(connection, path)


def up(path: Path, to: int | None = None, *, busy_timeout: float = _BUSY_TIMEOUT) -> Sequence[MigrationStatus]:
    """
    Take the missing steps up to version `to`, or all, in one transaction; answer those taken, oldest first.

    Raises:
        UnusableDatabase, StoreUnavailable: as for `status`; nothing was changed.
    """
    with closing(connect(path, busy_timeout=busy_timeout)) as connection, translated(path):
        with _exclusively(connection):
            taken = _applied(connection, path)
            connection.execute(_CREATE)
            missing = [migration for migration in migrations() if migration.version not in taken]
            missing = [migration for migration in missing if to is None or migration.version <= to]
            for migration in missing:
                _run(connection, migration.up)
                connection.execute(_RECORD, (migration.version, migration.name, migration.checksum))
        versions = {migration.version for migration in missing}
        return [each for each in _statuses(connection, path) if each.version in versions]


def down(path: Path, to: int) -> Sequence[MigrationStatus]:
    """
    Undo the steps past version `to` with all that they hold, in one transaction; answer those undone, newest last.

    Raises:
        UnusableDatabase, StoreUnavailable: as for `status`; nothing was changed.
    """
    with closing(connect(path, busy_timeout=_BUSY_TIMEOUT)) as connection, translated(path):
        with _exclusively(connection):
            taken = _applied(connection, path)
            undone = [migration for migration in migrations() if migration.version > to and migration.version in taken]
            for migration in reversed(undone):
                _run(connection, migration.down)
                connection.execute(_FORGET, (migration.version,))
        return [_status(migration, None) for migration in undone]


def _statuses(connection: sqlite3.Connection, path: Path) -> Sequence[MigrationStatus]:
    taken = _applied(connection, path)
    return [_status(migration, taken.get(migration.version)) for migration in migrations()]


def _status(migration: Migration, applied_at: int | None) -> MigrationStatus:
    return MigrationStatus(
        version=migration.version,
        name=migration.name,
        checksum=migration.checksum,
        applied_at=from_micros(applied_at),
    )


def _applied(connection: sqlite3.Connection, path: Path) -> dict[int, int]:
    """Read when each step was taken, by version, refusing a schema that is not ours to touch."""
    tables = {name for (name,) in connection.execute(_TABLES)}
    if tables and "schema_migrations" not in tables:
        raise UnusableDatabase(path, "it holds the tables of another program")
    rows = connection.execute(_APPLIED).fetchall() if tables else []
    known = {migration.version: migration for migration in migrations()}
    for version, name, checksum, _ in rows:
        if version not in known:
            raise UnusableDatabase(path, f"a newer version of Tocsin wrote it (schema {version}_{name})")
        if checksum != known[version].checksum:
            raise UnusableDatabase(path, f"its schema step {version}_{name} is not the one this version knows")
    return {version: applied_at for version, _, _, applied_at in rows}


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
