"""How many fires each second one node holds without being late."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tocsin import JobDefinition, JobType, OverlapPolicy

from ..engines import Place
from ..figures import Figure, cost, quantile, rate
from ..handlers import PUNCTUAL, tally
from ..measuring import measured
from ..nodes import node
from ..scenario import Case, Options, Scenario
from ..stored import assert_amount, quiet, store_jobs

LATE_MS: Final = 100.0
"""What the 99th percentile of a rate that is held stays below."""

FIRST: Final = 100
STEPS: Final = 3
LESS: Final = 0.85
AHEAD_SECONDS: Final = 3.0
STORED_EACH_SECOND: Final = 2_500
PATIENCE_SECONDS: Final = 60.0
BEFORE: Final = timedelta(milliseconds=1)


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    fires = 0

    async def trial(each_second: int, seconds: int) -> float:
        nonlocal fires
        fires += each_second * seconds
        return await _late(place, each_second, seconds)

    async with node(place) as assembly:
        await assembly.start()
        held = FIRST
        while await trial(held * 2, options["trial"]) < LATE_MS:
            held *= 2
            await quiet(assembly.scheduler)
        least, most = held, held * 2
        for _ in range(STEPS):
            middle = (least + most) // 2
            await quiet(assembly.scheduler)
            least, most = (middle, most) if await trial(middle, options["trial"]) < LATE_MS else (least, middle)
        held = least
        await quiet(assembly.scheduler)
        with measured(place) as measurement:
            while (late := await trial(held, options["seconds"])) >= LATE_MS and held > FIRST // 2:
                held = int(held * LESS)
                await quiet(assembly.scheduler)
        await quiet(assembly.scheduler)
    await assert_amount(place, fires)
    kept = held if late < LATE_MS else 0
    return [rate("fires held", kept), cost("lateness p99 at that rate", late, "ms"), measurement.servers_share()]


async def _late(place: Place, each_second: int, seconds: int) -> float:
    """Tell the 99th percentile of lateness in ms of jobs that fire each second, spread over the second."""
    first = datetime.now(UTC) + timedelta(seconds=AHEAD_SECONDS + each_second / STORED_EACH_SECOND)
    last = first + timedelta(seconds=seconds) - BEFORE
    instants = [first + timedelta(seconds=number / each_second) for number in range(each_second)]
    tally.expect(each_second * seconds)
    await store_jobs(place, _each_second(first, last), each_second, instants=instants)
    try:
        async with asyncio.timeout((last - datetime.now(UTC)).total_seconds() + PATIENCE_SECONDS):
            await tally.reached()
    except TimeoutError:
        return PATIENCE_SECONDS * 1000
    return quantile(sorted(tally.late_ms), 99)


def _each_second(first: datetime, last: datetime) -> JobDefinition:
    return JobDefinition(
        name="sustained",
        type=JobType.RECURRING,
        schedule="every 1s",
        start_date=first,
        end_date=last,
        handler_name=PUNCTUAL,
        overlap_policy=OverlapPolicy.ALLOW_ALL,
        misfire_grace_seconds=3600,
    )


SUSTAINED: Final = Scenario(
    name="sustained",
    summary="the most fires a second, of jobs that fire each second, whose lateness stays below 100 ms at p99",
    run=_run,
    cases=[Case(name="held for 300 s", options={"trial": 15, "seconds": 300})],
    quick=[Case(name="held for 20 s", options={"trial": 4, "seconds": 20})],
    headlines=["fires held"],
    most_runs=1,
    limit_seconds=3600.0,
)
