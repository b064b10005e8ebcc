"""PgQueuer: asyncpg, uvloop as its own command line has it where it is installed."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import asyncpg
import uvloop
from pgqueuer import PgQueuer, Queries
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job

from .marks import LEAD_SECONDS, TASK, a_second_after, asked, hit, inserting, mark, started, submissions

CHUNK = 5_000
SCHEDULED_A_SECOND = 500
"""At least, on a busy machine: how far ahead the second has to be in which all are due."""


async def queries() -> Queries:
    """Connect."""
    return Queries(AsyncpgDriver(await asyncpg.connect(TASK.database_url)))


async def setup() -> None:
    """Make the schema."""
    await (await queries()).install()


async def fill() -> None:
    """Store the jobs."""
    queue = await queries()
    for first in range(0, TASK.jobs, CHUNK):
        some = min(CHUNK, TASK.jobs - first)
        await queue.enqueue(["noop"] * some, [None] * some, [0] * some)


async def insert_bulk() -> None:
    """Insert by one call."""
    queue = await queries()
    with inserting():
        await queue.enqueue(["noop"] * TASK.jobs, [None] * TASK.jobs, [0] * TASK.jobs)


async def insert_each() -> None:
    """Insert by a call each."""
    queue = await queries()
    with inserting():
        for _ in range(TASK.jobs):
            await queue.enqueue("noop", None)


async def worker() -> None:
    """Run jobs."""
    mark("start")
    peer = PgQueuer.from_asyncpg_connection(await asyncpg.connect(TASK.database_url))

    @peer.entrypoint("noop")
    async def noop(_: object) -> None:
        hit()

    @peer.entrypoint("at")
    async def at(job: Job) -> None:
        number, due = job.payload.decode().split()
        started(int(number), float(due))

    await peer.qm.run(batch_size=TASK.settings["batch_size"])


async def submit() -> None:
    """Submit one-shots."""
    queue = await queries()
    async for number, due in submissions():
        await queue.enqueue("at", f"{number} {due!r}".encode(), execute_after=timedelta(seconds=LEAD_SECONDS))


async def burst() -> None:
    """Register schedules that are all due in one second, and run them."""
    began, due = time.time(), a_second_after(4 + TASK.jobs / SCHEDULED_A_SECOND)
    instant = datetime.fromtimestamp(due, UTC)
    peer = PgQueuer.from_asyncpg_pool(await asyncpg.create_pool(TASK.database_url, min_size=2, max_size=10))

    def ticking(number: int) -> Callable[[object], Awaitable[None]]:
        async def tick(_: object) -> None:
            started(number, due)

        return tick

    for number in range(TASK.jobs):
        peer.sm.schedule(f"s{number}", f"{instant.minute} * * * * {instant.second}")(ticking(number))
    mark("armed", due=due, seconds=time.time() - began)
    await peer.sm.run()


PARTS = (setup, fill, insert_bulk, insert_each, worker, submit, burst)

uvloop.run({part.__name__: part for part in PARTS}[asked()]())
