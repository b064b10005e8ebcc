"""Ten nodes on one PostgreSQL with 10,000 jobs: what a poll, a claim and a sweep take beside them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

import asyncpg

from deploy.local.postgres import DURABLE, throwaway_postgres
from tocsin import JobDefinition, JobType, OverlapPolicy, open_scheduler
from tocsin.adapters.system import ManualClock
from tocsin.adapters.telemetry import StructuredLog
from tocsin.application.scheduler import Scheduler
from tocsin.application.sweeper import Sweeper
from tocsin.domain.attempt import Outcome, settle
from tocsin.domain.execution import ExecutionStatus

from .figures import Figure

T = TypeVar("T")

NODES: Final = 10
JOBS: Final = 10_000
EACH_SECOND: Final = 20
"""As many as fire if each of the jobs does every eight minutes or so."""

SECONDS: Final = 30
LEASES: Final = 10_000
AT_ONCE: Final = 50
STARTING: Final = timedelta(seconds=10)
"""What was due before there were nodes is no measure of how late they are."""


async def fleet(_: Path) -> Sequence[Figure]:
    """Run 10 nodes on PostgreSQL, fsync on, with 10,000 jobs, 20 of which fire each second."""
    with throwaway_postgres(settings=DURABLE) as server:
        async with open_scheduler(server.url()) as scheduler:
            creating = await _create_jobs(scheduler)
            probe = await scheduler.schedule(_job("probe", JobType.EVENT, None, "probe"), allow_unknown_handler=True)
            with _nodes(server.url()):
                await _live(scheduler)
                since = await scheduler.storage.jobs.now()
                polls, claims = await _probed(scheduler, probe.id)
                late = await _lateness(scheduler, since)
            sweep = await _swept(scheduler, server.url(), probe.id)
    return [
        Figure(name="jobs created", unit="1/s", values=[creating]),
        Figure(name="due poll", unit="ms", values=polls),
        Figure(name="claim of one execution", unit="ms", values=claims),
        Figure(name="lateness of the start", unit="ms", values=late),
        Figure(name=f"sweep of {LEASES:,} expired leases", unit="ms", values=[sweep]),
    ]


@contextmanager
def _nodes(url: str) -> Iterator[None]:
    """Run the nodes, each a process of its own."""
    roles = ("--roles", "timer,executor,sweeper", "--log-level", "error")
    environment = {**os.environ, "TOCSIN_DATABASE_URL": url}
    nodes = [
        subprocess.Popen([sys.executable, "-m", "tocsin", "serve", *roles], env=environment)  # noqa: S603 - this program
        for _ in range(NODES)
    ]
    try:
        yield
    finally:
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait()


async def _create_jobs(scheduler: Scheduler) -> float:
    """Answer how many jobs were created in a second, `AT_ONCE` at a time."""
    schedules = iter(["* * * * * *"] * EACH_SECOND + ["0 4 1 1 *"] * (JOBS - EACH_SECOND))

    async def create() -> None:
        for schedule in schedules:
            await scheduler.schedule(_job("fleet", JobType.CRON, schedule, "tocsin.noop"))

    started = time.perf_counter()
    await asyncio.gather(*(create() for _ in range(AT_ONCE)))
    return JOBS / (time.perf_counter() - started)


async def _live(scheduler: Scheduler) -> None:
    # No event of this process says so: the nodes are other processes.
    while sum(worker.status == "live" for worker in await scheduler.list_workers()) < NODES:  # noqa: ASYNC110
        await asyncio.sleep(0.2)


async def _probed(scheduler: Scheduler, job_id: UUID) -> tuple[list[float], list[float]]:
    """Poll and claim as a node does, beside the nodes; answer how long each took, in ms."""
    polls: list[float] = []
    claims: list[float] = []
    ledger = scheduler.storage.ledger
    end = time.monotonic() + SECONDS
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


async def _swept(scheduler: Scheduler, url: str, job_id: UUID) -> float:
    """Let leases lapse and answer how many ms it takes to recover them, once they were seen to have lapsed."""
    ids = [(await scheduler.trigger_job(job_id)).id for _ in range(LEASES)]
    for first in range(0, LEASES, 500):
        await scheduler.storage.ledger.claim(ids[first : first + 500], worker_id="gone")
    connection = await asyncpg.connect(url)
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
