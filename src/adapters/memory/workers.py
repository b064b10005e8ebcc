"""The registry of nodes, in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from ...domain.errors import WorkerNotFound
from ...ports.stores import Worker
from .database import MemoryDatabase

_DEAD: Final = "dead"
_STOPPED: Final = "stopped"
_MOURNING: Final = timedelta(days=1)


class MemoryWorkers:
    """Workers by their id."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self._workers = database.workers

    async def beat(self, worker: Worker) -> Worker:
        """Register a worker or refresh it, and answer what it is asked to do."""
        known = self._workers.get(worker.id)
        stored = replace(
            worker,
            heartbeat_at=self._database.now(),
            drain_requested=known is not None and known.drain_requested,
        )
        self._workers[worker.id] = stored
        return stored

    async def drain(self, worker_id: str, *, requested: bool) -> Worker:
        """Ask a worker to take no more work, or to take work again."""
        if worker_id not in self._workers:
            raise WorkerNotFound(worker_id)
        self._workers[worker_id] = replace(self._workers[worker_id], drain_requested=requested)
        return self._workers[worker_id]

    async def list(self) -> Sequence[Worker]:
        """Read every worker, newest heartbeat first."""
        by_id = sorted(self._workers.values(), key=lambda worker: worker.id)
        return sorted(by_id, key=lambda worker: worker.heartbeat_at, reverse=True)

    async def bury(self, *, seen: Collection[tuple[str, datetime]], silent_for: timedelta) -> Sequence[Worker]:
        """Mark dead those that were seen silent and still are, and forget those that are long gone."""
        now = self._database.now()
        for worker in list(self._workers.values()):
            is_mourned = worker.status == _DEAD and worker.heartbeat_at >= now - _MOURNING
            if worker.status == _STOPPED or (worker.status == _DEAD and not is_mourned):
                del self._workers[worker.id]
        leased = {row.worker_id for row in self._database.executions.open() if row.lease_expires_at is not None}
        buried = [
            replace(worker, status=_DEAD)
            for worker in await self.list()
            if worker.status != _DEAD and worker.heartbeat_at < now - silent_for and worker.id not in leased
            if (worker.id, worker.heartbeat_at) in seen
        ]
        self._workers.update((worker.id, worker) for worker in buried)
        return buried
