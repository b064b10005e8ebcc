"""Procrastinate: its asynchronous worker on psycopg."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from procrastinate import App, PsycopgConnector

from .marks import TASK, a_second_after, asked, hit, inserting, mark, started, submissions

CHUNK = 5_000
SCHEDULED_A_SECOND = 900
"""At least, on a busy machine: how far ahead the second has to be in which all are due."""
CONCURRENCY = TASK.settings.get("concurrency", 10)

app = App(connector=PsycopgConnector(conninfo=TASK.database_url, min_size=2, max_size=CONCURRENCY + 4))


@app.task(name="noop")
async def noop() -> None:
    """Count."""
    hit()


@app.task(name="at")
async def at(number: int, due: float) -> None:
    """Note when."""
    started(number, due)


async def setup() -> None:
    """Make the schema."""
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def fill() -> None:
    """Store the jobs."""
    async with app.open_async():
        for first in range(0, TASK.jobs, CHUNK):
            await noop.batch_defer_async(*({} for _ in range(min(CHUNK, TASK.jobs - first))))


async def insert_bulk() -> None:
    """Insert by one call."""
    async with app.open_async():
        with inserting():
            await noop.batch_defer_async(*({} for _ in range(TASK.jobs)))


async def insert_each() -> None:
    """Insert by a call each."""
    async with app.open_async():
        with inserting():
            for _ in range(TASK.jobs):
                await noop.defer_async()


async def worker() -> None:
    """Run jobs."""
    mark("start")
    polling = TASK.settings.get("fetch_job_polling_interval")
    async with app.open_async():
        options = {} if polling is None else {"fetch_job_polling_interval": polling}
        await app.run_worker_async(concurrency=CONCURRENCY, **options)


async def submit() -> None:
    """Submit one-shots."""
    async with app.open_async():
        async for number, due in submissions():
            instant = datetime.fromtimestamp(due, UTC)
            await at.configure(schedule_at=instant).defer_async(number=number, due=due)


async def burst() -> None:
    """Register schedules that are all due in one second, and run them."""
    began, due = time.time(), a_second_after(4 + TASK.jobs / SCHEDULED_A_SECOND)
    instant = datetime.fromtimestamp(due, UTC)

    @app.task(name="tick")
    async def tick(timestamp: int, number: int) -> None:
        started(number, timestamp)

    for number in range(TASK.jobs):
        cron = f"{instant.minute} * * * * {instant.second}"
        app.periodic(cron=cron, periodic_id=str(number), task_kwargs={"number": number})(tick)
    mark("armed", due=due, seconds=time.time() - began)
    async with app.open_async():
        await app.run_worker_async(concurrency=CONCURRENCY)


PARTS = (setup, fill, insert_bulk, insert_each, worker, submit, burst)

asyncio.run({part.__name__: part for part in PARTS}[asked()]())
