"""APScheduler 4: jobs in PostgreSQL through SQLAlchemy, events through asyncpg."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from apscheduler import AsyncScheduler
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.eventbrokers.asyncpg import AsyncpgEventBroker
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.ext.asyncio import create_async_engine

from .marks import TASK, a_second_after, asked, crowd, hit, inserting, mark, started, submissions

SCHEDULED_A_SECOND = 80
"""At least, on a busy machine: how far ahead the second has to be in which all are due."""
AT_ONCE = 16


async def noop() -> None:
    """Count."""
    hit()


async def at(number: int, due: float) -> None:
    """Note when."""
    started(number, due)


@asynccontextmanager
async def opened() -> AsyncIterator[AsyncScheduler]:
    """Open a scheduler with both tasks."""
    url = TASK.database_url.replace("postgresql://", "postgresql+asyncpg://")
    engine = create_async_engine(url, pool_size=20, max_overflow=20)
    broker = AsyncpgEventBroker.from_async_sqla_engine(engine)
    at_once = TASK.settings.get("max_concurrent_jobs", 100)
    async with AsyncScheduler(SQLAlchemyDataStore(engine), broker, max_concurrent_jobs=at_once) as peer:
        await peer.configure_task("noop", func=noop, job_executor="async")
        await peer.configure_task("at", func=at, job_executor="async")
        yield peer


async def setup() -> None:
    """Make the schema."""
    async with opened():
        pass


async def fill() -> None:
    """Store the jobs."""
    async with opened() as peer:
        await crowd(lambda _: peer.add_job("noop"), at_once=AT_ONCE)


async def insert_each() -> None:
    """Insert by a call each."""
    later = datetime.now(UTC) + timedelta(hours=1)
    async with opened() as peer:
        with inserting():
            for number in range(TASK.jobs):
                await peer.add_schedule("noop", DateTrigger(later), id=f"s{number}")


async def worker() -> None:
    """Run jobs."""
    mark("start")
    async with opened() as peer:
        await peer.run_until_stopped()


async def submit() -> None:
    """Submit one-shots."""
    async with opened() as peer:
        async for number, due in submissions():
            trigger = DateTrigger(datetime.fromtimestamp(due, UTC))
            await peer.add_schedule("at", trigger, id=f"o{number}", args=[number, due])


async def burst() -> None:
    """Add schedules that are all due in one second, and run them."""
    began, due = time.time(), a_second_after(6 + TASK.jobs / SCHEDULED_A_SECOND)
    first = datetime.fromtimestamp(due, UTC)
    async with opened() as peer:

        async def add(number: int) -> None:
            await peer.add_schedule(
                "at", IntervalTrigger(hours=1, start_time=first), id=f"s{number}", args=[number, due]
            )

        await crowd(add, at_once=AT_ONCE)
        mark("armed", due=due, seconds=time.time() - began)
        await peer.run_until_stopped()


PARTS = (setup, fill, insert_each, worker, submit, burst)

logging.basicConfig(level=logging.WARNING)
asyncio.run({part.__name__: part for part in PARTS}[asked()]())
