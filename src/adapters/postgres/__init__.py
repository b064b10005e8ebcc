"""All stores over one PostgreSQL database, for any number of nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from ...domain.errors import StoreUnavailable
from ...ports.clock import Clock
from ...ports.schema import MigrationStatus
from ...ports.storage import Storage
from . import migrate
from .batches import PostgresBatches
from .bells import PostgresBells
from .connection import Access, Unreachable
from .database import Database
from .dispatcher import PostgresDispatcher
from .event_handlers import PostgresEventHandlers
from .events import PostgresEvents
from .executions import PostgresExecutions
from .jobs import PostgresJobs
from .ledger import PostgresLedger
from .locks import PostgresLocks
from .migrate import UnusableSchema
from .outbox import PostgresOutbox
from .overviews import PostgresOverviews
from .workers import PostgresWorkers

__all__ = [
    "Access",
    "Database",
    "MigrationStatus",
    "PostgresBells",
    "PostgresDispatcher",
    "Unreachable",
    "UnusableSchema",
    "migrate",
    "open_database",
    "open_postgres",
    "postgres_storage",
]

_NOT_UP: Final = (
    f"the schema is not up to date after {migrate.PATIENCE:.0f} s; `tocsin migrate up` takes as long as it needs"
)
"""Who starts a node must not have to guess why it does not answer."""


@asynccontextmanager
async def open_database(access: Access, clock: Clock | None = None) -> AsyncIterator[Database]:
    """
    Open the database, brought to this version's schema if need be; `clock` stands in for the server's, for tests.

    Raises:
        StoreUnavailable: the server is out of reach, or refuses who asks; or the schema takes too long to bring up.
        UnusableSchema: the database has a schema that this version cannot use.
    """
    try:
        async with asyncio.timeout(migrate.PATIENCE):
            await migrate.up(access)
    except TimeoutError as error:
        raise StoreUnavailable(_NOT_UP) from error
    database = Database(access, clock)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def postgres_storage(database: Database) -> Storage:
    """Give the faces of an open database."""
    return Storage(
        jobs=PostgresJobs(database),
        executions=PostgresExecutions(database),
        ledger=PostgresLedger(database),
        events=PostgresEvents(database),
        event_handlers=PostgresEventHandlers(database),
        outbox=PostgresOutbox(database),
        overviews=PostgresOverviews(database),
        batches=PostgresBatches(database),
        workers=PostgresWorkers(database),
        locks=PostgresLocks(database),
    )


@asynccontextmanager
async def open_postgres(access: Access, clock: Clock | None = None) -> AsyncIterator[Storage]:
    """Open a database and give its faces; arguments and errors as for `open_database`."""
    async with open_database(access, clock) as database:
        yield postgres_storage(database)
