"""The registry of nodes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from ...domain.errors import WorkerNotFound
from ...ports.stores import Worker
from .database import Database
from .instants import from_micros, span_micros, to_micros
from .statements import statements
from .transaction import Parameters, Row, Transaction, array

_WORKERS: Final = statements("workers")
_MOURNING: Final = timedelta(days=1)


class SqliteWorkers:
    """Workers by their id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def beat(self, worker: Worker) -> Worker:
        """Register a worker or refresh it, and answer what it is asked to do."""

        def work(transaction: Transaction) -> Worker:
            stored = replace(worker, heartbeat_at=transaction.now)
            [requested] = transaction.column(_WORKERS["beat"], **worker_row(stored))
            return replace(stored, drain_requested=bool(requested))

        return await self._database.write(work)

    async def drain(self, worker_id: str, *, requested: bool) -> Worker:
        """Ask a worker to take no more work, or to take work again."""

        def work(transaction: Transaction) -> Worker:
            row = transaction.row(_WORKERS["drain"], id=worker_id, requested=requested)
            if row is None:
                raise WorkerNotFound(worker_id)
            return _worker(row)

        return await self._database.write(work)

    async def list(self) -> Sequence[Worker]:
        """Read every worker, newest heartbeat first."""
        return await self._database.read(_workers)

    async def bury(self, *, seen: Collection[tuple[str, datetime]], silent_for: timedelta) -> Sequence[Worker]:
        """Mark dead those that were seen silent and still are, and forget those that are long gone."""
        pairs = array((worker_id, to_micros(heartbeat_at)) for worker_id, heartbeat_at in seen)

        def work(transaction: Transaction) -> Sequence[Worker]:
            now = transaction.now_micros
            transaction.run(_WORKERS["forget"], mourned=now - span_micros(_MOURNING))
            buried = transaction.column(_WORKERS["bury"], seen=pairs, silent=now - span_micros(silent_for))
            return [worker for worker in _workers(transaction) if worker.id in buried]

        return await self._database.write(work)


def _workers(transaction: Transaction) -> Sequence[Worker]:
    return [_worker(row) for row in transaction.rows(_WORKERS["workers"])]


def worker_row(worker: Worker) -> Parameters:
    """Write a worker."""
    return {
        "id": worker.id,
        "name": worker.name,
        "roles": array(worker.roles),
        "capabilities": array(worker.capabilities),
        "version": worker.version,
        "capacity": worker.capacity,
        "running": worker.running,
        "status": worker.status,
        "started_at": to_micros(worker.started_at),
        "heartbeat_at": to_micros(worker.heartbeat_at),
        "anomalies": worker.anomalies,
    }


def _worker(row: Row) -> Worker:
    documents = {name: tuple(json.loads(row[name])) for name in ("roles", "capabilities")}
    instants = {name: from_micros(row[name]) for name in ("started_at", "heartbeat_at")}
    return Worker(**{**row, **documents, **instants, "drain_requested": bool(row["drain_requested"])})
