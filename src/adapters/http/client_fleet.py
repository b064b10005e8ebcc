"""The client's requests about the nodes and how they are doing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from ...domain.errors import WorkerNotFound
from ...ports.reports import Health, Metrics, Period
from ...ports.stores import Worker
from .transport import Transport
from .wire.fleet import HealthOut, MetricsOut, WorkerOut
from .wire.pages import WorkerPage

_NO_SEGMENTS: Final = frozenset({"", ".", ".."})
"""What no path can carry as a name; no worker is called so."""


class FleetRequests:
    """The part of `IScheduler` that is about nodes."""

    _transport: Transport

    async def list_workers(self) -> Sequence[Worker]:
        """Read the nodes."""
        shown = await self._transport.ask(WorkerPage, "GET", "/workers")
        return [worker.value() for worker in shown.items]

    async def drain_worker(self, worker_id: str) -> Worker:
        """Have a node take no more work (`IScheduler.drain_worker`)."""
        return await self._ask_worker(worker_id, "drain")

    async def resume_worker(self, worker_id: str) -> Worker:
        """Have a node take work again."""
        return await self._ask_worker(worker_id, "resume")

    async def get_metrics(self, period: Period = Period.DAY) -> Metrics:
        """Add up this tenant's executions over a period."""
        query = [("period", period.value)]
        return (await self._transport.ask(MetricsOut, "GET", "/scheduler/metrics", query=query)).value()

    async def health_check(self) -> Health:
        """Say how the node that answers is doing."""
        return (await self._transport.ask(HealthOut, "GET", "/scheduler/health", also={503})).value()

    async def _ask_worker(self, worker_id: str, action: str) -> Worker:
        if worker_id in _NO_SEGMENTS:
            raise WorkerNotFound(worker_id)
        path = f"/workers/{quote(worker_id, safe='')}/{action}"
        return (await self._transport.ask(WorkerOut, "POST", path)).value()
