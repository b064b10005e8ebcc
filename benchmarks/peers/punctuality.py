"""How late handlers start."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from ..figures import Figure, fact, spread
from .trial import Start, Trial

LATE: Final = "late"
ARM_SECONDS: Final = 400.0
SLACK_SECONDS: Final = 1.0
"""A burst that was registered no earlier before its second does not count."""

BURST_SECONDS: Final = 120.0
WARM_SECONDS: Final = 3.0
ONE_SHOT_SECONDS: Final = 40.0
GLANCE_SECONDS: Final = 0.25
FLUSH_SECONDS: Final = 0.5


async def burst(trial: Trial) -> Sequence[Figure]:
    """Have schedules all due in the same second."""
    trial.perform("setup")
    with trial.running("burst") as [process]:
        armed = await trial.marked("armed", process, seconds=ARM_SECONDS)
        if armed["due"] - armed["at"] < SLACK_SECONDS:
            raise trial.failed(f"took {armed['seconds']:.0f} s to register, too long for the second that it had picked")
        await asyncio.sleep(armed["due"] - time.time())
        starts = await _started(trial, BURST_SECONDS)
    registered = fact("jobs registered", trial.jobs / armed["seconds"], "1/s")
    return [*spread(LATE, [start.late_ms for start in starts], "ms"), registered]


async def one_shots(trial: Trial) -> Sequence[Figure]:
    """Submit jobs at random instants from another process, each two seconds ahead."""
    trial.perform("setup")
    with trial.running("worker", *trial.setup.helpers) as [worker, *_]:
        await trial.marked("start", worker, seconds=ARM_SECONDS)
        await asyncio.sleep(WARM_SECONDS)
        if not trial.system.submits_itself:
            with trial.running("submit"):
                starts = await _started(trial, ONE_SHOT_SECONDS)
        else:
            starts = await _started(trial, ONE_SHOT_SECONDS)
    return spread(LATE, [start.late_ms for start in starts], "ms")


async def _started(trial: Trial, seconds: float) -> Sequence[Start]:
    """Wait until every handler has started, and answer the first start of each."""
    deadline = time.monotonic() + seconds
    while len(first := _first(trial.starts())) < trial.jobs:
        if time.monotonic() > deadline:
            raise trial.failed(f"started {len(first)} of {trial.jobs} handlers in {seconds:.0f} s")
        await asyncio.sleep(GLANCE_SECONDS)
    await asyncio.sleep(FLUSH_SECONDS)
    starts = trial.starts()
    if len(starts) != trial.jobs:
        raise AssertionError(f"{trial.system.name} started {len(starts)} handlers for {trial.jobs} jobs")
    return starts


def _first(starts: Sequence[Start]) -> Sequence[Start]:
    return list({start.number: start for start in reversed(starts)}.values())
