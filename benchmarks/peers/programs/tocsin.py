"""Tocsin: one node in process, as the installed package runs it."""

from __future__ import annotations

import asyncio
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from benchmarks.engines import Engine, Place
from benchmarks.handlers import tally
from benchmarks.nodes import client, node
from benchmarks.stored import event_job, store_executions
from tocsin import JobDefinition, JobType, handler

from .marks import TASK, a_second_after, asked, crowd, inserting, mark, started, submissions

SCHEDULED_A_SECOND = 50
"""At least, on a busy machine: how far ahead the second has to be in which all are due."""
AT_ONCE = 32
TICK = "peers.tick"

PLACE = Place(
    engine=Engine(TASK.settings["engine"]),
    folder=Path(TASK.folder),
    database_url=TASK.database_url,
    redis_url=TASK.redis_url or None,
)


@handler(TICK)
async def tick(payload: dict[str, float]) -> None:
    """Note when."""
    started(int(payload["number"]), payload["due"])


async def setup() -> None:
    """Make the schema."""
    async with client(PLACE):
        pass


async def fill() -> None:
    """Store executions of one job, as triggers leave them."""
    await store_executions(PLACE, TASK.jobs)


async def insert_bulk() -> None:
    """Insert by many calls at once."""
    async with client(PLACE) as scheduler:
        job = await scheduler.schedule(event_job(), allow_unknown_handler=True)
        with inserting():
            await crowd(lambda _: scheduler.trigger_job(job.id), at_once=AT_ONCE)


async def insert_each() -> None:
    """Insert by a call each."""
    async with client(PLACE) as scheduler:
        job = await scheduler.schedule(event_job(), allow_unknown_handler=True)
        with inserting():
            for _ in range(TASK.jobs):
                await scheduler.trigger_job(job.id)


async def worker() -> None:
    """Run jobs until told to stop, and tell how many no-ops ran in all."""
    tally.expect(TASK.jobs)
    asked_to_stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_stop.set)
    mark("start")
    async with node(PLACE, concurrency=TASK.settings["concurrency"]) as assembly:
        await assembly.start()
        telling = asyncio.create_task(_tell_the_last())
        await asked_to_stop.wait()
        telling.cancel()
    mark("ended", ran=tally.ran)


async def _tell_the_last() -> None:
    await tally.reached()
    mark("last")


async def submit() -> None:
    """Submit one-shots."""
    async with client(PLACE) as scheduler:
        async for number, due in submissions():
            instant = datetime.fromtimestamp(due, UTC)
            await scheduler.schedule(_job(number, due, JobType.ONE_TIME, instant.isoformat()))


async def burst() -> None:
    """Register crons that are all due in one second, and run them."""
    began, due = time.time(), a_second_after(5 + TASK.jobs / SCHEDULED_A_SECOND)
    instant = datetime.fromtimestamp(due, UTC)
    cron = f"{instant.second} {instant.minute} * * * *"
    async with node(PLACE, concurrency=TASK.settings["concurrency"]) as assembly:
        await assembly.start()
        await crowd(lambda n: assembly.scheduler.schedule(_job(n, due, JobType.CRON, cron)), at_once=AT_ONCE)
        mark("armed", due=due, seconds=time.time() - began)
        await asyncio.Event().wait()


def _job(number: int, due: float, kind: JobType, schedule: str) -> JobDefinition:
    payload = {"number": number, "due": due}
    return JobDefinition(name=f"job {number}", type=kind, schedule=schedule, handler_name=TICK, payload=payload)


PARTS = (setup, fill, insert_bulk, insert_each, worker, submit, burst)

uvloop.run({part.__name__: part for part in PARTS}[asked()]())
