"""What a node takes that has nothing to do, and how soon it is there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from ..engines import Place
from ..figures import Figure, cost
from ..measuring import measured
from ..nodes import serving
from ..scenario import Case, Options, Scenario
from ..usage import resident_megabytes

SETTLING_SECONDS: Final = 5.0


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    started = time.perf_counter()
    async with serving(place, name="node") as served:
        ready = time.perf_counter() - started
        await asyncio.sleep(SETTLING_SECONDS)
        with measured(place, own="onlooker", node=served.pid) as measurement:
            await asyncio.sleep(options["seconds"])
        seconds = measurement.stop()
        shares = [cost(f"{name} at rest", spent / seconds * 100, "% of a core") for name, spent in measurement.others]
        return [
            cost("start to ready", ready * 1000, "ms"),
            *shares,
            cost("memory", resident_megabytes(served.pid), "MB"),
        ]


IDLE: Final = Scenario(
    name="idle",
    summary="`tocsin serve` with all roles and no jobs: until it is ready, and what it takes at rest",
    run=_run,
    cases=[Case(name="30 s at rest", options={"seconds": 30})],
    quick=[Case(name="10 s at rest", options={"seconds": 10})],
    headlines=["start to ready", "node at rest", "memory"],
)
