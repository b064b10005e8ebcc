"""How late handlers begin when many recurring jobs are due in the same second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tocsin import JobDefinition, JobType, OverlapPolicy

from ..engines import Place
from ..figures import Figure, rate, spread
from ..handlers import PUNCTUAL, tally
from ..measuring import measured
from ..nodes import node
from ..scenario import Case, Options, Scenario
from ..stored import assert_fired_once, quiet, store_jobs

LEAD_SECONDS: Final = 6.0
STORED_EACH_SECOND: Final = 2_500
"""How many jobs are stored each second at least, the machine being at work."""

AHEAD_SECONDS: Final = 1.0
"""How long before the instant the node must be there."""


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    amount = options["jobs"]
    due = (datetime.now(UTC) + timedelta(seconds=LEAD_SECONDS + amount / STORED_EACH_SECOND)).replace(microsecond=0)
    ids = await store_jobs(place, _daily(due), amount)
    tally.expect(amount)
    async with node(place) as assembly:
        await assembly.start()
        ahead = due.timestamp() - time.time()
        if ahead < AHEAD_SECONDS:
            raise RuntimeError(f"{amount} jobs took {AHEAD_SECONDS - ahead:.0f} s too long to be stored")
        await asyncio.sleep(ahead - AHEAD_SECONDS)
        with measured(place) as measurement:
            await tally.reached()
            handled = time.time() - due.timestamp()
            await quiet(assembly.scheduler)
            ended = time.time() - due.timestamp()
    await assert_fired_once(place, ids)
    return [
        *spread("lateness of the start", tally.late_ms, "ms"),
        rate("handlers started", amount / handled),
        rate("fires written to their end", amount / ended),
        *measurement.costs(amount, "fire"),
    ]


def _daily(due: datetime) -> JobDefinition:
    """Describe a job of every day at that second, which no lateness makes a misfire."""
    return JobDefinition(
        name="burst",
        type=JobType.CRON,
        schedule=f"{due.second} {due.minute} {due.hour} * * *",
        handler_name=PUNCTUAL,
        overlap_policy=OverlapPolicy.ALLOW_ALL,
        misfire_grace_seconds=3600,
    )


BURST: Final = Scenario(
    name="burst",
    summary="recurring jobs that are all due in the same second: how late each handler begins, by its own clock",
    run=_run,
    cases=[Case(name=f"{amount:,} jobs", options={"jobs": amount}) for amount in (1_000, 10_000, 100_000)],
    quick=[Case(name=f"{amount:,} jobs", options={"jobs": amount}) for amount in (1_000, 10_000)],
    headlines=["lateness of the start p99", "handlers started"],
    limit_seconds=600.0,
)
