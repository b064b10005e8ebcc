"""Another program that makes jobs of one time, each two seconds before it is due: `python -m benchmarks.submitter`."""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from tocsin.interpreter import new_loop

from .engines import Place
from .nodes import client
from .scenarios.lateness import one_time

LEAD: Final = timedelta(seconds=2)


def main() -> None:
    """Make jobs at a steady beat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--place", type=Place.read, required=True, help="as `Place.written` words it")
    parser.add_argument("--amount", type=int, required=True, help="jobs in all")
    parser.add_argument("--seconds", type=float, required=True, help="over which they are spread")
    given = parser.parse_args()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_submit(given.place, given.amount, given.seconds))


async def _submit(place: Place, amount: int, seconds: float) -> None:
    async with client(place) as scheduler:
        begun = time.monotonic()
        for number in range(amount):
            await asyncio.sleep(max(0.0, begun + number * seconds / amount - time.monotonic()))
            await scheduler.schedule(one_time(datetime.now(UTC) + LEAD))


if __name__ == "__main__":
    main()
