"""How fast one node fires and runs jobs of one time that are due."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tocsin import JobDefinition, JobFilter, JobStatus, JobType

from ..engines import Place
from ..figures import Figure, rate
from ..handlers import NOOP, tally
from ..measuring import measured
from ..nodes import node
from ..scenario import Case, Options, Scenario
from ..stored import assert_fired_once, quiet, store_jobs

LEAD: Final = timedelta(seconds=2)
"""What is already past when a job is made would not be a fire but a misfire."""


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    amount = options["jobs"]
    due = datetime.now(UTC) + LEAD
    definition = JobDefinition(
        name="once",
        type=JobType.ONE_TIME,
        schedule=due.isoformat(),
        handler_name=NOOP,
        misfire_grace_seconds=3600,
    )
    ids = await store_jobs(place, definition, amount)
    await asyncio.sleep(max(0.0, due.timestamp() - time.time()))
    tally.expect(amount)
    async with node(place, concurrency=options["concurrency"]) as assembly:
        with measured(place) as measurement:
            await assembly.start()
            await tally.reached()
            await quiet(assembly.scheduler)
        completed = await assembly.scheduler.list_jobs(JobFilter(status=(JobStatus.COMPLETED,), limit=1))
    await assert_fired_once(place, ids)
    if completed.total != amount:
        raise AssertionError(f"{completed.total} jobs are completed, not {amount}")
    return [rate("jobs", amount / measurement.stop()), *measurement.costs(amount, "job")]


DRAIN_ONE_TIME: Final = Scenario(
    name="drain-one-time",
    summary="20,000 due jobs of one time, from the start of one node to the last end written, the fires included",
    run=_run,
    cases=[
        Case(name=f"concurrency {concurrency:,}", options={"jobs": 20_000, "concurrency": concurrency})
        for concurrency in (200, 2_000)
    ],
    quick=[Case(name="concurrency 200", options={"jobs": 20_000, "concurrency": 200})],
    headlines=["jobs"],
)
