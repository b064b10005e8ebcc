"""How fast one node runs what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..engines import Place
from ..figures import Figure, rate
from ..handlers import tally
from ..measuring import measured
from ..nodes import node
from ..scenario import Case, Options, Scenario
from ..stored import all_written, assert_ended, store_executions


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    amount = options["executions"]
    job_id = await store_executions(place, amount)
    tally.expect(amount)
    async with node(place, concurrency=options["concurrency"]) as assembly:
        with measured(place) as measurement:
            await assembly.start()
            await tally.reached()
            await all_written(assembly.scheduler, job_id, amount)
        figures = [rate("executions", amount / measurement.stop()), *measurement.costs(amount, "execution")]
    await assert_ended(place, job_id, amount)
    return figures


DRAIN: Final = Scenario(
    name="drain",
    summary="20,000 stored executions of one job without limit, from the start of one node to the last end written",
    run=_run,
    cases=[
        Case(name=f"concurrency {concurrency:,}", options={"executions": 20_000, "concurrency": concurrency})
        for concurrency in (200, 2_000)
    ],
    headlines=["executions"],
)
