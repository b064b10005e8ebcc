"""The registry of nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Final

from ...domain.errors import WorkerNotFound
from ...ports.stores import Worker
from . import filters
from .database import Database
from .statements import statements
from .transaction import Parameters, Row, Transaction

_WORKERS: Final = statements("workers")
_MOURNING: Final = timedelta(days=1)
_FIELDS: Final = tuple(field.name for field in fields(Worker))
_TOLD: Final = tuple(name for name in _FIELDS if name not in {"heartbeat_at", "drain_requested"})
"""What a worker says of itself."""


class PostgresWorkers:
    """Workers by their id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def beat(self, worker: Worker) -> Worker:
        """Register a worker or refresh it, and answer what it is asked to do."""
        [row] = await self._database.rows(_WORKERS["beat"], **worker_row(worker), now=self._database.now)
        return _worker(row)

    async def drain(self, worker_id: str, *, requested: bool) -> Worker:
        """Ask a worker to take no more work, or to take work again."""
        rows = await self._database.rows(_WORKERS["drain"], id=filters.text(worker_id), requested=requested)
        if not rows:
            raise WorkerNotFound(worker_id)
        return _worker(rows[0])

    async def list(self) -> Sequence[Worker]:
        """Read every worker, newest heartbeat first."""
        return [_worker(row) for row in await self._database.rows(_WORKERS["workers"])]

    async def bury(self, *, seen: Collection[tuple[str, datetime]], silent_for: timedelta) -> Sequence[Worker]:
        """Mark dead those that were seen silent and still are, and forget those that are long gone."""

        async def work(transaction: Transaction) -> Sequence[Worker]:
            now = transaction.now
            await transaction.run(_WORKERS["forget"], now=now, mourning=_MOURNING)
            buried = await transaction.rows(
                _WORKERS["bury"],
                ids=[worker_id for worker_id, _ in seen],
                heartbeats=[heartbeat_at for _, heartbeat_at in seen],
                silent_for=silent_for,
                now=now,
            )
            return [_worker(row) for row in buried]

        return await self._database.write(work)


def worker_row(worker: Worker) -> Parameters:
    """Write what a worker says of itself."""
    return {name: getattr(worker, name) for name in _TOLD}


def _worker(row: Row) -> Worker:
    values = {name: row[name] for name in _FIELDS}
    return Worker(**{**values, "roles": tuple(row["roles"]), "capabilities": tuple(row["capabilities"])})
