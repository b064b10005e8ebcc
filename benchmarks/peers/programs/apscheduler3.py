"""APScheduler 3: its asyncio scheduler, jobs kept in PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from .marks import TASK, a_second_after, asked, inserting, mark, started, submissions

SCHEDULED_A_SECOND = 100
"""At least, on a busy machine: how far ahead the second has to be in which all are due."""
BEFORE_THE_FIRST_SECONDS = 2.0


async def at(number: int, due: float) -> None:
    """Note when."""
    started(number, due)


def scheduler() -> AsyncIOScheduler:
    """Make a scheduler that does not run yet."""
    store = SQLAlchemyJobStore(TASK.database_url.replace("postgresql://", "postgresql+psycopg2://"))
    return AsyncIOScheduler(jobstores={"default": store}, timezone=UTC)


async def setup() -> None:
    """Make the schema."""
    peer = scheduler()
    peer.start(paused=True)
    peer.shutdown()


async def insert_each() -> None:
    """Insert by a call each."""
    peer, later = scheduler(), datetime.now(UTC) + timedelta(hours=1)
    peer.start(paused=True)
    with inserting():
        for number in range(TASK.jobs):
            peer.add_job(at, "interval", hours=1, start_date=later, id=str(number), args=[number, 0])


async def worker() -> None:
    """Submit one-shots and run them: no other process can tell this scheduler that it has added one."""
    peer = scheduler()
    peer.start()
    await asyncio.sleep(BEFORE_THE_FIRST_SECONDS)
    mark("start")
    async for number, due in submissions():
        instant = datetime.fromtimestamp(due, UTC)
        peer.add_job(at, "date", run_date=instant, id=str(number), args=[number, due], misfire_grace_time=None)
    await asyncio.Event().wait()


async def burst() -> None:
    """Add schedules that are all due in one second, and run them."""
    peer, began, due = scheduler(), time.time(), a_second_after(5 + TASK.jobs / SCHEDULED_A_SECOND)
    first = datetime.fromtimestamp(due, UTC)
    peer.start(paused=True)
    for number in range(TASK.jobs):
        arguments = {"id": str(number), "args": [number, due], "misfire_grace_time": None}
        peer.add_job(at, "interval", hours=1, start_date=first, **arguments)
    mark("armed", due=due, seconds=time.time() - began)
    peer.resume()
    await asyncio.Event().wait()


PARTS = (setup, insert_each, worker, burst)

asyncio.run({part.__name__: part for part in PARTS}[asked()]())
