"""All stores over one SQLite file: the default engine, with nothing to install and safe to share by processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ...ports.clock import Clock
from ...ports.storage import Storage
from . import migrate
from .batches import SqliteBatches
from .connection import UnusableDatabase
from .database import Database
from .event_handlers import SqliteEventHandlers
from .events import SqliteEvents
from .executions import SqliteExecutions
from .jobs import SqliteJobs
from .ledger import SqliteLedger
from .locks import SqliteLocks
from .outbox import SqliteOutbox
from .overviews import SqliteOverviews
from .workers import SqliteWorkers

__all__ = ["UnusableDatabase", "migrate", "open_sqlite"]


@asynccontextmanager
async def open_sqlite(path: Path, clock: Clock, *, busy_timeout: float = 5.0) -> AsyncIterator[Storage]:
    """
    Open the file, made and brought to this version's schema if need be; `busy_timeout` is in seconds.

    Raises:
        StoreUnavailable: the file is locked or out of reach.
        UnusableDatabase: it cannot be written, is no database, or has a schema that is not this version's.
    """
    database = Database(path, clock, busy_timeout=busy_timeout)
    await database.open()
    try:
        yield Storage(
            jobs=SqliteJobs(database),
            executions=SqliteExecutions(database),
            ledger=SqliteLedger(database),
            events=SqliteEvents(database),
            event_handlers=SqliteEventHandlers(database),
            outbox=SqliteOutbox(database),
            overviews=SqliteOverviews(database),
            batches=SqliteBatches(database),
            workers=SqliteWorkers(database),
            locks=SqliteLocks(database),
        )
    finally:
        await database.close()
