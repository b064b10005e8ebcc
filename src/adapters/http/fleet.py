"""What may be asked about the nodes and how they are doing."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from aiohttp import web

from ...domain.errors import StoreUnavailable
from ...ports.reports import HealthStatus
from ...ports.stores import Worker
from .answers import json_answer
from .endpoint import Call, Section, endpoint
from .wire import BASE
from .wire.fleet import HealthOut, LiveOut, MetricsOut, ReadyOut, WorkerOut
from .wire.model import Nothing
from .wire.pages import WorkerPage
from .wire.queries import PeriodQuery

PROMETHEUS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_WORKERS: Final = f"{BASE}/workers"
_WORKER: Final = f"{_WORKERS}/{{worker_id}}"


@endpoint("GET", _WORKERS, {200: WorkerPage})
async def list_workers(call: Call[Nothing, Nothing]) -> web.Response:
    """List the nodes, newest heartbeat first."""
    workers = tuple(map(WorkerOut.of, await call.scheduler.list_workers()))
    page = WorkerPage(items=workers, total=len(workers), limit=None, offset=None, next_cursor=None, has_next=False)
    return json_answer(page)


@endpoint("POST", f"{_WORKER}/drain", {202: WorkerOut}, conflicts=True)
async def drain_worker(call: Call[Nothing, Nothing]) -> web.Response:
    """Have a node take no more work; it follows within seconds, finishes what runs, and is then drained."""
    return _asked(await call.scheduler.drain_worker(call.worker_id))


@endpoint("POST", f"{_WORKER}/resume", {202: WorkerOut}, conflicts=True)
async def resume_worker(call: Call[Nothing, Nothing]) -> web.Response:
    """Have a drained node take work again; it follows within seconds."""
    return _asked(await call.scheduler.resume_worker(call.worker_id))


def _asked(worker: Worker) -> web.Response:
    """Answer what a worker was asked, and where to see how far it has come."""
    headers = {"Location": _WORKERS}
    return json_answer(WorkerOut.of(worker), status=HTTPStatus.ACCEPTED, headers=headers)


@endpoint("GET", f"{BASE}/scheduler/metrics", {200: MetricsOut})
async def get_metrics(call: Call[PeriodQuery, Nothing]) -> web.Response:
    """Add up executions over a period, and what waits now."""
    return json_answer(MetricsOut.of(await call.scheduler.get_metrics(call.query.period)))


@endpoint("GET", f"{BASE}/scheduler/health", {200: HealthOut, 503: HealthOut})
async def get_health(call: Call[Nothing, Nothing]) -> web.Response:
    """Say how this node is doing, part by part; 503 only when unhealthy."""
    health = await call.scheduler.health_check()
    unhealthy = health.status is HealthStatus.UNHEALTHY
    status = HTTPStatus.SERVICE_UNAVAILABLE if unhealthy else HTTPStatus.OK
    return json_answer(HealthOut.of(health), status=status)


@endpoint("GET", "/health", {200: LiveOut})
async def get_live(call: Call[Nothing, Nothing]) -> web.Response:
    """200 while the process serves requests."""
    return json_answer(LiveOut(version=call.node.version))


@endpoint("GET", "/ready", {200: ReadyOut})
async def get_ready(call: Call[Nothing, Nothing]) -> web.Response:
    """200 while the node takes work, 503 while it starts, drains or is drained."""
    if not await call.node.ready():
        raise StoreUnavailable("this node is starting, draining or drained")
    return json_answer(ReadyOut())


@endpoint("GET", "/metrics", {200: "text/plain"})
async def get_figures(call: Call[Nothing, Nothing]) -> web.Response:
    """Write this node's figures in the text format of Prometheus."""
    body = await asyncio.to_thread(call.node.figures)
    return web.Response(body=body, headers={"Content-Type": PROMETHEUS_TYPE})


PROBES: Final = (get_live, get_ready, get_figures)
"""What watches a node asks for, whatever the node's roles are."""

FLEET: Final = Section(
    name="Fleet",
    endpoints=(
        list_workers,
        drain_worker,
        resume_worker,
        get_metrics,
        get_health,
        *PROBES,
    ),
)
