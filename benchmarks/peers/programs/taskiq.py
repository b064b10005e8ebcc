"""Taskiq on Redis streams, which acknowledge, with results kept; one-shots by its own scheduler."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime

from taskiq import TaskiqEvents, TaskiqScheduler
from taskiq_redis import ListRedisScheduleSource, RedisAsyncResultBackend, RedisStreamBroker

from .marks import TASK, asked, crowd, hit, inserting, mark, started, submissions

AT_ONCE = 64
MODULE = "benchmarks.peers.programs.taskiq"

broker = RedisStreamBroker(url=TASK.redis_url).with_result_backend(
    RedisAsyncResultBackend(redis_url=TASK.redis_url, result_ex_time=3600)
)
source = ListRedisScheduleSource(url=TASK.redis_url)
scheduler = TaskiqScheduler(broker=broker, sources=[source])


@broker.task(task_name="noop")
async def noop() -> None:
    """Count."""
    hit()


@broker.task(task_name="at")
async def at(number: int, due: float) -> None:
    """Note when."""
    started(number, due)


@broker.on_event(TaskiqEvents.WORKER_STARTUP)
async def _starts(_: object) -> None:
    mark("start")


async def setup() -> None:
    """Need nothing."""


async def fill() -> None:
    """Store the jobs."""
    await broker.startup()
    await crowd(lambda _: noop.kiq(), at_once=AT_ONCE)
    await broker.shutdown()


async def insert_bulk() -> None:
    """Insert by many calls at once: there is none for many jobs."""
    await broker.startup()
    with inserting():
        await crowd(lambda _: noop.kiq(), at_once=AT_ONCE)
    await broker.shutdown()


async def insert_each() -> None:
    """Insert by a call each."""
    await broker.startup()
    with inserting():
        for _ in range(TASK.jobs):
            await noop.kiq()
    await broker.shutdown()


async def worker() -> None:
    """Become the command that runs jobs."""
    at_once = str(TASK.settings["max_async_tasks"])
    _become("worker", f"{MODULE}:broker", "-w", "1", "--max-async-tasks", at_once, "--log-level", "WARNING")


async def ticker() -> None:
    """Become the command that sends what is due."""
    _become("scheduler", f"{MODULE}:scheduler", "--update-interval", "1", "--log-level", "WARNING")


def _become(*words: str) -> None:
    os.execv(sys.executable, [sys.executable, "-m", "taskiq", *words])  # noqa: S606 - this program's own


async def submit() -> None:
    """Submit one-shots."""
    await broker.startup()
    await source.startup()
    async for number, due in submissions():
        await at.schedule_by_time(source, datetime.fromtimestamp(due, UTC), number, due)
    await broker.shutdown()


PARTS = (setup, fill, insert_bulk, insert_each, worker, ticker, submit)

if __name__ == "__main__":
    asyncio.run({part.__name__: part for part in PARTS}[asked()]())
