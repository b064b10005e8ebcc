"""How many jobs a system takes in, and how many it gets done, in a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final

import asyncpg

from ..engines import Engine, Place
from ..figures import Figure, cost, rate
from ..usage import processor_seconds
from .trial import Trial

DRAIN_SECONDS: Final = 300.0
GLANCE_SECONDS: Final = 0.002
LONG_GLANCE_SECONDS: Final = 0.02
"""Between looks at a system that cannot tell when its last handler ran, all along the way."""

SETTLE_SECONDS: Final = 0.3
DRAINED: Final = "jobs"
PROCESSOR_TIME: Final = "processor time"
"""Of the worker and the servers together; on a busy machine steadier than time on the wall."""

INSERTED: Final = {"insert_bulk": "jobs in bulk", "insert_each": "jobs one by one"}


async def drain(trial: Trial) -> Sequence[Figure]:
    """
    Run stored no-op jobs with one worker.

    The time is from when its program has been loaded, with nothing opened yet, until all jobs are durably done.
    """
    trial.perform("setup")
    trial.perform("fill")
    await _settle(trial.place)
    async with trial.system.evidence.watching(trial.place, trial.jobs) as watch:
        with trial.running("worker") as [worker]:
            began = (await trial.marked("start", worker, seconds=DRAIN_SECONDS))["at"]
            pids = {**trial.place.servers, "worker": worker.pid}
            before = _spent(pids)
            if trial.system.counts:
                await trial.marked("last", worker, seconds=DRAIN_SECONDS)
            deadline = time.monotonic() + DRAIN_SECONDS
            while await watch.left() > 0:
                if time.monotonic() > deadline or worker.poll() is not None:
                    raise trial.failed("jobs are left")
                await asyncio.sleep(GLANCE_SECONDS if trial.system.counts else LONG_GLANCE_SECONDS)
            seconds = time.time() - began
            after = _spent(pids)
        await watch.assert_done()
    _assert_none_doubled(trial)
    spent = {name: (after[name] - before[name]) / trial.jobs * 1e6 for name in pids}
    costs = [cost(f"{PROCESSOR_TIME} of {name}", each, "us per job") for name, each in spent.items()]
    return [rate(DRAINED, trial.jobs / seconds), cost(PROCESSOR_TIME, sum(spent.values()), "us per job"), *costs]


async def insert(trial: Trial) -> Sequence[Figure]:
    """Insert no-op jobs from one process: in bulk, and then as many one by one, into what is there."""
    trial.perform("setup")
    await _settle(trial.place)
    figures = []
    for part in trial.setup.insertions:
        trial.forget_marks()
        trial.perform(part)
        if (told := trial.mark("inserted")) is None:
            raise trial.failed(f"{part} told nothing")
        figures.append(rate(INSERTED[part], trial.jobs / told["seconds"]))
    return figures


async def _settle(place: Place) -> None:
    """Have done what would else be done while measuring."""
    if place.engine is not Engine.SQLITE:
        connection = await asyncpg.connect(place.database_url)
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
        await connection.close()
    await asyncio.sleep(SETTLE_SECONDS)


def _spent(pids: Mapping[str, int]) -> Mapping[str, float]:
    return {name: processor_seconds(pid) for name, pid in pids.items()}


def _assert_none_doubled(trial: Trial) -> None:
    ended = trial.mark("ended")
    if trial.mark("doubled") or (ended and ended["ran"] != trial.jobs):
        raise AssertionError(f"{trial.system.name} ran a handler twice")
