"""A process with a timer on the file that it is given: fires until nothing is due, and says how much it fired."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.makers import planner
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock


async def fire_all(path: Path, now: str) -> int:
    """Fire in small batches, beginning when told to, so that others get in between."""
    executions = 0
    async with open_sqlite(path, ManualClock(now), busy_timeout=60) as storage:
        print("ready", flush=True)  # noqa: T201 - how the test learns of it
        sys.stdin.readline()
        while True:
            fired = await storage.ledger.fire(planner, limit=3)
            executions += fired.executions
            if fired.next_due is None or fired.next_due > fired.now:
                return executions


if __name__ == "__main__":
    print(asyncio.run(fire_all(Path(sys.argv[1]), sys.argv[2])))  # noqa: T201 - its answer
