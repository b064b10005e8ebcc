"""A node that runs what is stored once it is told to: `python -m benchmarks.drainer`."""

from __future__ import annotations

import argparse
import asyncio
import sys

from tocsin.interpreter import new_loop

from .engines import Place
from .nodes import node

READY = "ready"


def main() -> None:
    """Open, say so on standard output, begin at the first line of standard input, and end with the input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--place", type=Place.read, required=True, help="as `Place.written` words it")
    parser.add_argument("--concurrency", type=int, required=True, help="the setting of that name")
    given = parser.parse_args()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_drain(given.place, given.concurrency))


async def _drain(place: Place, concurrency: int) -> None:
    async with node(place, concurrency=concurrency, handlers="benchmarks.handlers") as assembly:
        print(READY, flush=True)  # noqa: T201 - this is what the other process waits for
        await asyncio.to_thread(sys.stdin.readline)
        await assembly.start()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    main()
