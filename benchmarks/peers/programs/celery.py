"""Celery on Redis: processes that acknowledge late and keep results; its own beat, of which dispatch is measured."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from celery import Celery, group, signals
from celery.schedules import schedule

from .marks import TASK, a_second_after, asked, inserting, mark, started, submissions

SCHEDULED_A_SECOND = 1_500
"""At least, on a busy machine: how far ahead the second has to be in which all are due."""
QUIET = ("-l", "ERROR", "--without-gossip", "--without-mingle")

app = Celery("peers", broker=TASK.redis_url, backend=TASK.redis_url)
app.conf.update(
    task_acks_late=True,
    task_ignore_result=False,
    worker_prefetch_multiplier=64,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
    timezone="UTC",
)


@app.task(name="noop")
def noop() -> None:
    """Do nothing; several processes run it, so none can count."""


@app.task(name="at")
def at(number: int, due: float) -> None:
    """Note when."""
    started(number, due)


@signals.celeryd_init.connect
def _starts(**_: object) -> None:
    mark("start")


async def setup() -> None:
    """Need nothing."""


async def fill() -> None:
    """Store the jobs."""
    with app.producer_pool.acquire() as producer:
        for _ in range(TASK.jobs):
            noop.apply_async(producer=producer)


async def insert_bulk() -> None:
    """Insert by one call."""
    with inserting():
        group([noop.s() for _ in range(TASK.jobs)]).apply_async()


async def insert_each() -> None:
    """Insert by a call each."""
    with inserting():
        for _ in range(TASK.jobs):
            noop.delay()


async def worker() -> None:
    """Become the command that runs jobs."""
    program = (sys.executable, "-m", "celery", "-A", "benchmarks.peers.programs.celery", "worker")
    os.execv(sys.executable, [*program, "-P", "prefork", "-c", str(TASK.settings["concurrency"]), *QUIET])  # noqa: S606 - this program's own


async def submit() -> None:
    """Submit one-shots."""
    async for number, due in submissions():
        at.apply_async((number, due), eta=datetime.fromtimestamp(due, UTC))


async def burst() -> None:
    """Run a beat whose hourly entries ran an hour before one second; a start is a message sent."""
    began, due = time.time(), a_second_after(5 + TASK.jobs / SCHEDULED_A_SECOND)
    last = datetime.fromtimestamp(due, UTC) - timedelta(hours=1)

    @signals.after_task_publish.connect
    def sent(body: tuple[tuple[int, ...], ...], **_: object) -> None:
        started(body[0][0], due)

    hourly = {"task": "at", "schedule": schedule(3600, app=app), "last_run_at": last}
    app.conf.beat_schedule = {f"e{number}": {**hourly, "args": (number, due)} for number in range(TASK.jobs)}
    mark("armed", due=due, seconds=time.time() - began)
    app.Beat(schedule=str(Path(TASK.folder, "beat")), loglevel="ERROR", quiet=True).run()


PARTS = (setup, fill, insert_bulk, insert_each, worker, submit, burst)

if __name__ == "__main__":
    asyncio.run({part.__name__: part for part in PARTS}[asked()]())
