"""How fast jobs are made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from tocsin import IScheduler, JobDefinition, JobType
from tocsin.adapters.http import HttpScheduler

from ..engines import Place
from ..figures import Figure, rate, spread
from ..handlers import NOOP
from ..measuring import measured
from ..nodes import client, serving
from ..scenario import Case, Options, Scenario

LATER: Final = JobDefinition(name="later", type=JobType.CRON, schedule="0 4 1 1 *", handler_name=NOOP)


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    if not options["http"]:
        async with client(place) as scheduler:
            return await _made(place, scheduler, options, {})
    async with serving(place, name="node") as served, HttpScheduler(served.url) as scheduler:
        return await _made(place, scheduler, options, {"node": served.pid})


async def _made(place: Place, scheduler: IScheduler, options: Options, others: dict[str, int]) -> Sequence[Figure]:
    """Make jobs, each client one call after the other, so many with each."""
    amount, at_once = options["jobs"], options["at_once"]
    waiting, took = iter(range(0, amount, at_once)), list[float]()

    async def make() -> None:
        for _ in waiting:
            started = time.perf_counter()
            await (scheduler.schedule(LATER) if at_once == 1 else scheduler.schedule_many([LATER] * at_once))
            took.append((time.perf_counter() - started) * 1000)

    with measured(place, own="client", **others) as measurement:
        await asyncio.gather(*(make() for _ in range(options["clients"])))
    async with client(place) as reader:
        if (found := (await reader.list_jobs()).total) != amount:
            raise AssertionError(f"{found} jobs are there, not {amount}")
    return [
        rate("jobs", amount / measurement.stop()),
        *spread("time of one call", took, "ms"),
        *measurement.costs(amount, "job"),
    ]


def _case(name: str, *, http: bool, clients: int, jobs: int = 2_000, at_once: int = 1) -> Case:
    return Case(name=name, options={"http": http, "clients": clients, "jobs": jobs, "at_once": at_once})


CREATE: Final = Scenario(
    name="create",
    summary="recurring jobs made one by one and in bulk, by programs that wait for each answer",
    run=_run,
    cases=[
        _case("HTTP, 1 client", http=True, clients=1),
        _case("HTTP, 16 clients", http=True, clients=16),
        _case("in process, 1 client", http=False, clients=1),
        _case("in process, 16 clients", http=False, clients=16),
        _case("HTTP, in bulk", http=True, clients=1, jobs=20_000, at_once=1_000),
        _case("in process, in bulk", http=False, clients=1, jobs=20_000, at_once=1_000),
    ],
    quick=[
        _case("HTTP, 1 client", http=True, clients=1, jobs=100),
        _case("HTTP, 16 clients", http=True, clients=16, jobs=100),
        _case("in process, 1 client", http=False, clients=1, jobs=100),
        _case("in process, 16 clients", http=False, clients=16, jobs=100),
        _case("HTTP, in bulk", http=True, clients=1, jobs=1_000, at_once=500),
        _case("in process, in bulk", http=False, clients=1, jobs=1_000, at_once=500),
    ],
    headlines=["jobs"],
)
