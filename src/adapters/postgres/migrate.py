"""The schema, step by step: up, down, and where a database stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

import asyncpg

from ...domain.errors import StoreUnavailable
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
from .connection import SCHEMA, Access, translated

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

LOCK: Final = 0x746F6373696E  # "tocsin": the same in every process and every version
"""The advisory lock, taken for one transaction, under which a schema is changed."""

PATIENCE: Final = 120.0
"""Seconds to wait for whoever else changes the schema, or holds a table; the steps themselves may take any time."""

_SETTINGS: Final = """
SET LOCAL search_path = {schema};
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = '{patience}s'"""
_HAS_SCHEMA: Final = "SELECT to_regnamespace($1) IS NOT NULL"
_SET_UP: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer NOT NULL PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    compatible boolean NOT NULL DEFAULT true
)"""
_IS_THERE: Final = "SELECT to_regclass($1) IS NOT NULL"
_TAKEN: Final = """
SELECT version, name, checksum, applied_at, compatible FROM schema_migrations ORDER BY version"""
_RECORD: Final = """
INSERT INTO schema_migrations (version, name, checksum, compatible) VALUES ($1, $2, $3, $4)"""
_FORGET: Final = "DELETE FROM schema_migrations WHERE version = $1"


class UnusableSchema(StoreUnavailable):
    """The database cannot be the store until somebody changes its schema; for who starts a node."""


def migrations() -> Sequence[Migration]:
    """Read every step that this version knows, oldest first."""
    return migrations_of(__package__)


async def status(access: Access) -> Sequence[MigrationStatus]:
    """
    List every step and whether the database has it, oldest first, newer versions' too; changes nothing.

    Raises:
        UnusableSchema: it is a newer version's that this one cannot use.
        StoreUnavailable: the server is out of reach.
    """
    async with _alone(access, within=PATIENCE) as connection:
        return statuses(migrations(), await _usable(connection))


async def up(access: Access, to: int | None = None) -> Sequence[MigrationStatus]:
    """
    Take the missing steps up to version `to`, or all, in one transaction; answer those taken, oldest first.

    Of several that start at once one takes them, and the others wait and find it done. However long it takes, whoever
    cannot wait gives up by cancelling.

    Raises:
        UnusableSchema, StoreUnavailable: as for `status`; nothing was changed.
    """
    async with _alone(access) as connection:
        missing = steps_up(migrations(), await _usable(connection), to)
        if missing:
            await _set_up(connection)
        for step in missing:
            await connection.execute(step.up)
            await connection.execute(_RECORD, step.version, step.name, step.checksum, step.compatible)
        versions = {step.version for step in missing}
        return [each for each in await _taken(connection) if each.version in versions]


async def down(access: Access, to: int) -> Sequence[MigrationStatus]:
    """
    Undo the steps past version `to` with all that they hold, in one transaction; answer those undone, newest last.

    Raises:
        UnusableSchema: as for `status`, and if a newer version took steps after them; nothing was changed.
        StoreUnavailable: as for `status`; nothing was changed.
    """
    async with _alone(access) as connection:
        taken = await _usable(connection)
        if reason := refusal_down(migrations(), taken):
            raise UnusableSchema(_unusable(reason))
        undone = steps_down(migrations(), taken, to)
        for step in undone:
            await connection.execute(step.down)
            await connection.execute(_FORGET, step.version)
        return [step.taken(None) for step in reversed(undone)]


@asynccontextmanager
async def _alone(access: Access, *, within: float | None = None) -> AsyncGenerator[Connection]:
    """Open a transaction in which nobody else changes or reads the schema's state."""
    connection = await access.connect()
    try:
        with translated():
            async with asyncio.timeout(within), connection.transaction():
                await connection.execute(_SETTINGS.format(schema=SCHEMA, patience=PATIENCE))
                await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
                yield connection
    finally:
        connection.terminate()


async def _set_up(connection: Connection) -> None:
    # To make a schema "if not exists" takes the right to make schemas, which who gave us this one need not give.
    if not await connection.fetchval(_HAS_SCHEMA, SCHEMA):
        await connection.execute(f"CREATE SCHEMA {SCHEMA}")
    await connection.execute(_SET_UP)


async def _usable(connection: Connection) -> Sequence[MigrationStatus]:
    """Read the steps taken, oldest first, refusing a schema that is not ours to touch."""
    taken = await _taken(connection)
    if reason := refusal(migrations(), taken):
        raise UnusableSchema(_unusable(reason))
    return taken


async def _taken(connection: Connection) -> Sequence[MigrationStatus]:
    # In full: a search path passes over a schema that its user may not enter, which must be refused and not set up.
    if not await connection.fetchval(_IS_THERE, f"{SCHEMA}.schema_migrations"):
        return []
    return [MigrationStatus(**dict(row)) for row in await connection.fetch(_TAKEN)]


def _unusable(reason: str) -> str:
    return f"the schema {SCHEMA} cannot be used as the database: {reason}"
