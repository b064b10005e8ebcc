"""What a poll, a claim and a sweep take on a database that many nodes share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar
from uuid import UUID

import asyncpg

from tocsin import JobDefinition, JobType, OverlapPolicy
from tocsin.adapters.system import ManualClock
from tocsin.adapters.telemetry import StructuredLog
from tocsin.application.scheduler import Scheduler
from tocsin.application.sweeper import Sweeper
from tocsin.domain.attempt import Outcome, settle
from tocsin.domain.execution import ExecutionStatus

from ..engines import Engine, Place
from ..figures import Figure, cost, spread
from ..handlers import NOOP
from ..measuring import measured
from ..nodes import client, serving
from ..scenario import Case, Options, Scenario
from ..stored import store_jobs

T = TypeVar("T")

LEASED_AT_ONCE: Final = 500
STARTING: Final = timedelta(seconds=10)
"""What was due before there were nodes is no measure of how late they are."""


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    await store_jobs(place, _job("later", JobType.CRON, "0 4 1 1 *", NOOP), options["jobs"])
    await store_jobs(place, _job("often", JobType.CRON, "* * * * * *", NOOP), options["fires"])
    async with client(place) as scheduler:
        probe = await scheduler.schedule(_job("probe", JobType.EVENT, None, "probe"), allow_unknown_handler=True)
        async with AsyncExitStack() as stack:
            for number in range(options["nodes"]):
                await stack.enter_async_context(
                    serving(place, name=f"node-{number}", roles="api,timer,executor,sweeper")
                )
            since = await scheduler.storage.jobs.now()
            with measured(place):
                polls, claims = await _probed(scheduler, probe.id, options["seconds"])
            late = await _lateness(scheduler, since)
        sweep = await _swept(scheduler, place, probe.id, options["leases"])
    return [
        *spread("due poll", polls, "ms"),
        *spread("claim of one execution", claims, "ms"),
        *spread("lateness of the start", late, "ms"),
        cost("sweep of expired leases", sweep, "ms"),
    ]


async def _probed(scheduler: Scheduler, job_id: UUID, seconds: float) -> tuple[list[float], list[float]]:
    """Poll and claim as a node does, beside the nodes; answer how long each took, in ms."""
    polls: list[float] = []
    claims: list[float] = []
    ledger = scheduler.storage.ledger
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        fired, took = await _timed(ledger.fire(scheduler.planning.fire, limit=500))
        polls.append(took)
        await scheduler.dispatcher.dispatch(fired.dispatches)
        execution = await scheduler.trigger_job(job_id)
        [attempt], took = await _timed(ledger.claim([execution.id], worker_id="probe"))
        claims.append(took)
        await ledger.finish([settle(attempt, Outcome(status=ExecutionStatus.SUCCESS, duration_ms=1), chance=0)])
        await asyncio.sleep(0.02)
    return polls, claims


async def _swept(scheduler: Scheduler, place: Place, job_id: UUID, leases: int) -> float:
    """Let leases lapse and answer how many ms it takes to recover them, once they were seen to have lapsed."""
    ids = [(await scheduler.trigger_job(job_id)).id for _ in range(leases)]
    for first in range(0, leases, LEASED_AT_ONCE):
        await scheduler.storage.ledger.claim(ids[first : first + LEASED_AT_ONCE], worker_id="gone")
    connection = await asyncpg.connect(place.database_url)
    await connection.execute("UPDATE tocsin.executions SET lease_expires_at = now() WHERE worker_id = 'gone'")
    await connection.close()
    clock = ManualClock(datetime.now(UTC))
    sweeper = Sweeper(
        ledger=scheduler.storage.ledger,
        workers=scheduler.storage.workers,
        outbox=scheduler.storage.outbox,
        dispatcher=scheduler.dispatcher,
        clock=clock,
        telemetry=StructuredLog(level="error"),
        capabilities=frozenset,
        grace=timedelta(seconds=5),
    )
    await sweeper.run_once()
    clock.advance(15)
    started = time.perf_counter()
    while (await scheduler.storage.executions.queue(None)).running:
        await sweeper.run_once()
    return (time.perf_counter() - started) * 1000


async def _lateness(scheduler: Scheduler, since: datetime) -> list[float]:
    figures = await scheduler.storage.executions.figures(scheduler.tenant_id, job_id=None, since=since + STARTING)
    return [float(late) for late in figures.lateness_ms]


async def _timed(call: Awaitable[T]) -> tuple[T, float]:
    started = time.perf_counter()
    answer = await call
    return answer, (time.perf_counter() - started) * 1000


def _job(name: str, kind: JobType, schedule: str | None, handler_name: str) -> JobDefinition:
    return JobDefinition(
        name=name,
        type=kind,
        schedule=schedule,
        handler_name=handler_name,
        overlap_policy=OverlapPolicy.ALLOW_ALL,
    )


FLEET: Final = Scenario(
    name="fleet",
    summary="10,000 jobs, 20 of which fire each second, on 10 nodes, and beside them one that polls, claims and sweeps",
    run=_run,
    cases=[Case(name="10 nodes", options={"nodes": 10, "jobs": 10_000, "fires": 20, "seconds": 30, "leases": 10_000})],
    quick=[Case(name="3 nodes", options={"nodes": 3, "jobs": 2_000, "fires": 20, "seconds": 15, "leases": 500})],
    engines=(Engine.POSTGRES,),
    headlines=["due poll p99", "claim of one execution p99", "sweep of expired leases"],
)
