"""How much of its rate a fleet keeps while nodes are killed and a snapshot keeps the database from tidying up."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Final

import asyncpg

from ..engines import SERVERS, Place
from ..figures import Figure, cost, rate
from ..nodes import client, serving
from ..scenario import Case, Options, Scenario
from ..stored import Backlog, backlog
from ..usage import processor_seconds

NODES: Final = 3
KILL_SECONDS: Final = 10.0
SETTLING_SECONDS: Final = 3.0
STOCK: Final = 60_000
"""How many executions wait at least, so that no node ever has nothing to do."""

ADDED: Final = 20_000
GLANCE: Final = 0.1
MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pace:
    """How many executions ended in a second, and what one of them cost, which a busy machine distorts less."""

    rate: float
    cost: float


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    async with client(place) as scheduler, backlog(place, scheduler) as stock:
        await stock.grow(STOCK)
        await stock.tables.settle()
        async with asyncio.TaskGroup() as group:
            doomed = [asyncio.Event() for _ in range(NODES)]
            ready = [asyncio.Event() for _ in range(NODES)]
            lives = [
                group.create_task(_life(place, f"node-{number}", ready[number], doomed[number]))
                for number in range(NODES)
            ]
            feeding = group.create_task(_feed(stock))
            for each in ready:
                await each.wait()
            await asyncio.sleep(SETTLING_SECONDS)
            healthy = await _kept_up(stock, options["healthy"])
            async with _held_horizon(place):
                killing = group.create_task(_kill(doomed))
                faulty = await _kept_up(stock, options["seconds"])
            for task in (killing, feeding, *lives):
                task.cancel()
    return [
        rate("executions of a healthy fleet", healthy.rate),
        rate("executions under faults", faulty.rate),
        rate("part of the healthy rate", faulty.rate / healthy.rate * 100, "%"),
        cost("processor time per execution of a healthy fleet", healthy.cost, "us"),
        cost("processor time per execution under faults", faulty.cost, "us"),
        rate("part of the healthy rate, by processor time", healthy.cost / faulty.cost * 100, "%"),
    ]


async def _life(place: Place, name: str, ready: asyncio.Event, doomed: asyncio.Event) -> None:
    """Keep a node running: each time it is doomed it is killed, and started again at once."""
    while True:
        async with serving(place, name=name):
            ready.set()
            await doomed.wait()
            doomed.clear()


async def _kill(doomed: Sequence[asyncio.Event]) -> None:
    for each in cycle(doomed):
        await asyncio.sleep(KILL_SECONDS)
        each.set()


async def _feed(stock: Backlog) -> None:
    while True:
        if stock.stored - await stock.ended() < STOCK:
            await stock.grow(ADDED)
        await asyncio.sleep(GLANCE)


async def _kept_up(stock: Backlog, seconds: float) -> _Pace:
    before, spent_before, started = await stock.ended(), _spent(stock.place), time.perf_counter()
    await asyncio.sleep(seconds)
    ended, spent = await stock.ended() - before, _spent(stock.place) - spent_before
    return _Pace(rate=ended / (time.perf_counter() - started), cost=spent / max(ended, 1) * MICROSECONDS)


def _spent(place: Place) -> float:
    """Tell what servers, nodes, those that were killed included, and this process have used so far, in seconds."""
    return sum(processor_seconds(pid) for pid in (os.getpid(), *place.servers.values()))


@asynccontextmanager
async def _held_horizon(place: Place) -> AsyncIterator[None]:
    """Keep a snapshot open, so that no row that dies from now on can be removed."""
    connection = await asyncpg.connect(place.database_url)
    try:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await connection.fetchval("SELECT count(*) FROM tocsin.jobs")
        yield
    finally:
        await connection.close()


FAULTS: Final = Scenario(
    name="faults",
    summary="three nodes with work for all: one killed each 10 s and the oldest snapshot held, against a healthy fleet",
    run=_run,
    # Healthy for as long as a checkpoint takes to come round, which a minute alone may not see.
    cases=[Case(name="600 s", options={"healthy": 300, "seconds": 600})],
    quick=[Case(name="30 s", options={"healthy": 15, "seconds": 30})],
    engines=SERVERS,
    headlines=["part of the healthy rate", "part of the healthy rate, by processor time"],
    most_runs=1,
    limit_seconds=1500.0,
)
