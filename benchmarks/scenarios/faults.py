"""How much of its rate a fleet keeps while nodes are killed and a snapshot keeps the database from tidying up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Final

import asyncpg

from ..engines import SERVERS, Place
from ..figures import Figure, rate
from ..nodes import client, serving
from ..scenario import Case, Options, Scenario
from ..stored import Backlog, backlog

NODES: Final = 3
KILL_SECONDS: Final = 10.0
SETTLING_SECONDS: Final = 3.0
STOCK: Final = 60_000
"""How many executions wait at least, so that no node ever has nothing to do."""

ADDED: Final = 20_000
GLANCE: Final = 0.1


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
            healthy = await _ended_each_second(stock, options["healthy"])
            async with _held_horizon(place):
                killing = group.create_task(_kill(doomed))
                faulty = await _ended_each_second(stock, options["seconds"])
            for task in (killing, feeding, *lives):
                task.cancel()
    return [
        rate("executions of a healthy fleet", healthy),
        rate("executions under faults", faulty),
        rate("part of the healthy rate", faulty / healthy * 100, "%"),
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


async def _ended_each_second(stock: Backlog, seconds: float) -> float:
    before, started = await stock.ended(), time.perf_counter()
    await asyncio.sleep(seconds)
    after = await stock.ended()
    return (after - before) / (time.perf_counter() - started)


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
    cases=[Case(name="600 s", options={"healthy": 60, "seconds": 600})],
    quick=[Case(name="30 s", options={"healthy": 15, "seconds": 30})],
    engines=SERVERS,
    headlines=["part of the healthy rate"],
    most_runs=1,
    limit_seconds=1200.0,
)
