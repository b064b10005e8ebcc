"""How late jobs of one time begin on a node with little, or with much, to do."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tocsin import JobDefinition, JobType

from ..engines import Place
from ..figures import Figure, spread
from ..handlers import PUNCTUAL, tally
from ..measuring import Measurement, measured
from ..nodes import node
from ..processes import attended, last_words
from ..scenario import Case, Options, Scenario
from ..stored import assert_amount, store_jobs

FIRST_SECONDS: Final = 4.0
STORED_EACH_SECOND: Final = 2_500


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    amount = options["jobs"]
    tally.expect(amount)
    measurement = await (_submitted if options["submitted"] else _stored)(place, options)
    await assert_amount(place, amount)
    return [*spread("lateness of the start", tally.late_ms, "ms"), *measurement.costs(amount, "job")]


async def _submitted(place: Place, options: Options) -> Measurement:
    """Have another process make each job two seconds before it is due."""
    log = place.folder / "submitter.log"
    beat = ["--amount", str(options["jobs"]), "--seconds", str(options["seconds"])]
    command = [sys.executable, "-m", "benchmarks.submitter", "--place", place.written(), *beat]
    async with node(place) as assembly:
        await assembly.start()
        with attended(command, log=log) as process, measured(place) as measurement:
            try:
                async with asyncio.timeout(options["seconds"] + 60):
                    await tally.reached()
            except TimeoutError:
                raise RuntimeError(f"{tally.ran} ran; {process.poll()}: {last_words(log)}") from None
        # The last end may still be on its way.
        await asyncio.sleep(0.5)
    return measurement


async def _stored(place: Place, options: Options) -> Measurement:
    """Store all jobs before the node starts."""
    amount, seconds = options["jobs"], options["seconds"]
    first = datetime.now(UTC) + timedelta(seconds=FIRST_SECONDS + amount / STORED_EACH_SECOND)
    instants = [first + timedelta(seconds=seconds) * (number / amount) for number in range(amount)]
    await store_jobs(place, one_time(first), amount, instants=instants)
    if time.time() + 1 > first.timestamp():
        raise RuntimeError("the jobs took too long to be stored")
    async with node(place) as assembly:
        await assembly.start()
        await asyncio.sleep(first.timestamp() - time.time() - 0.5)
        with measured(place) as measurement:
            await tally.reached()
        await asyncio.sleep(0.5)
    return measurement


def one_time(at: datetime) -> JobDefinition:
    """Describe a job that notes how late it begins."""
    return JobDefinition(
        name="once",
        type=JobType.ONE_TIME,
        schedule=at.isoformat(),
        handler_name=PUNCTUAL,
        misfire_grace_seconds=3600,
    )


def _steady(each_second: int, seconds: int) -> Case:
    options = {"jobs": each_second * seconds, "seconds": seconds, "submitted": 0}
    return Case(name=f"{each_second:,} each second for {seconds} s", options=options)


FEW: Final = Case(name="200 in 10 s", options={"jobs": 200, "seconds": 10, "submitted": 1})

LATENESS: Final = Scenario(
    name="lateness",
    summary="jobs of one time: how late each handler begins, by its own clock",
    run=_run,
    cases=[FEW, _steady(1_000, 60)],
    quick=[FEW, _steady(1_000, 10)],
    headlines=["lateness of the start p50", "lateness of the start p99"],
    limit_seconds=600.0,
)
