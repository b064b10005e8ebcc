"""What grows with the number of jobs, and what must not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from tocsin import JobDefinition, JobType, OverlapPolicy
from tocsin.application.scheduler import Scheduler

from ..engines import Place
from ..figures import Figure, cost, spread
from ..handlers import NOOP
from ..measuring import measured
from ..nodes import client, serving
from ..scenario import Case, Options, Scenario
from ..stored import store_jobs
from ..usage import resident_megabytes

DUE: Final = 100
AT_ONCE: Final = 500
LOOKS: Final = 200
LIVING_SECONDS: Final = 10.0
"""How long a node has to hold what it will before its memory is looked at."""


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    later = JobDefinition(name="later", type=JobType.CRON, schedule="0 4 1 1 *", handler_name=NOOP)
    await store_jobs(place, later, options["jobs"] - DUE)
    async with client(place) as scheduler:
        nothing = await _idle_looks(scheduler)
        await store_jobs(place, _often(), DUE)
        figures = await _fires(place, scheduler, options["rounds"])
    return [*spread("due query with nothing due", nothing, "ms"), *figures, *await _living(place)]


async def _idle_looks(scheduler: Scheduler) -> list[float]:
    took = []
    for _ in range(LOOKS):
        started = time.perf_counter()
        fired = await scheduler.storage.ledger.fire(scheduler.planning.fire, limit=AT_ONCE)
        took.append((time.perf_counter() - started) * 1000)
        if fired.jobs:
            raise AssertionError(f"{fired.jobs} jobs were due on a day when none is")
    return took


async def _fires(place: Place, scheduler: Scheduler, rounds: int) -> list[Figure]:
    """Fire as a timer does, each time once all of the frequent jobs are due."""
    took, fires = [], 0
    await asyncio.sleep(1.5)
    with measured(place) as measurement:
        for _ in range(rounds):
            await asyncio.sleep(1.0)
            started = time.perf_counter()
            fired = await scheduler.storage.ledger.fire(scheduler.planning.fire, limit=AT_ONCE)
            took.append((time.perf_counter() - started) * 1000)
            fires += fired.executions
    if fires < DUE * rounds:
        raise AssertionError(f"{fires} fires in {rounds} rounds of {DUE} jobs")
    costs = [each for each in measurement.costs(fires, "fire") if each.unit == "us"]
    whole = cost("processor time per fire", sum(each.value for each in costs), "us")
    return [*spread(f"query and plans of {DUE} due", took, "ms"), whole, *costs]


async def _living(place: Place) -> list[Figure]:
    """Start a node, and look at its memory after a while."""
    started = time.perf_counter()
    async with serving(place, name="node") as served:
        ready = time.perf_counter() - started
        await asyncio.sleep(LIVING_SECONDS)
        return [cost("start to ready", ready, "s"), cost("memory of a node", resident_megabytes(served.pid), "MB")]


def _often() -> JobDefinition:
    return JobDefinition(
        name="often",
        type=JobType.CRON,
        schedule="* * * * * *",
        handler_name=NOOP,
        overlap_policy=OverlapPolicy.ALLOW_ALL,
    )


def _case(jobs: int, rounds: int) -> Case:
    return Case(name=f"{jobs:,} jobs", options={"jobs": jobs, "rounds": rounds})


SCALE: Final = Scenario(
    name="scale",
    summary="a timer's query, the cost of a fire, start and memory of a node beside many jobs that are not due",
    run=_run,
    cases=[_case(jobs, 20) for jobs in (10_000, 100_000, 1_000_000)],
    quick=[_case(jobs, 5) for jobs in (10_000, 100_000)],
    headlines=["due query with nothing due p99", "processor time per fire", "memory of a node", "start to ready"],
    limit_seconds=900.0,
)
