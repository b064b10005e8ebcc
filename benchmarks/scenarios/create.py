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
            return await _made(place, [scheduler] * options["clients"], options["jobs"], {})
    async with serving(place, name="node") as served, HttpScheduler(served.url) as scheduler:
        return await _made(place, [scheduler] * options["clients"], options["jobs"], {"node": served.pid})


async def _made(
    place: Place, schedulers: Sequence[IScheduler], amount: int, others: dict[str, int]
) -> Sequence[Figure]:
    """Make jobs, each client one after the other."""
    waiting, took = iter(range(amount)), list[float]()

    async def make(scheduler: IScheduler) -> None:
        for _ in waiting:
            started = time.perf_counter()
            await scheduler.schedule(LATER)
            took.append((time.perf_counter() - started) * 1000)

    with measured(place, own="client", **others) as measurement:
        await asyncio.gather(*(make(each) for each in schedulers))
    async with client(place) as scheduler:
        if (found := (await scheduler.list_jobs()).total) != amount:
            raise AssertionError(f"{found} jobs are there, not {amount}")
    return [
        rate("jobs", amount / measurement.stop()),
        *spread("time of one", took, "ms"),
        *measurement.costs(amount, "job"),
    ]


def _case(name: str, *, http: bool, clients: int, jobs: int = 2_000) -> Case:
    return Case(name=name, options={"http": http, "clients": clients, "jobs": jobs})


CREATE: Final = Scenario(
    name="create",
    summary="recurring jobs made one by one, by programs that wait for each answer",
    run=_run,
    cases=[
        _case("HTTP, 1 client", http=True, clients=1),
        _case("HTTP, 16 clients", http=True, clients=16),
        _case("in process, 1 client", http=False, clients=1),
        _case("in process, 16 clients", http=False, clients=16),
    ],
    quick=[
        _case("HTTP, 1 client", http=True, clients=1, jobs=100),
        _case("HTTP, 16 clients", http=True, clients=16, jobs=100),
        _case("in process, 1 client", http=False, clients=1, jobs=100),
        _case("in process, 16 clients", http=False, clients=16, jobs=100),
    ],
    headlines=["jobs"],
)
