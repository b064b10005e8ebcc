"""How much faster two nodes run what is stored than one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from ..drainer import READY
from ..engines import SERVERS, Place
from ..figures import Figure, rate
from ..nodes import client
from ..processes import attended, last_words
from ..profiler import spying
from ..scenario import Case, Options, Scenario
from ..stored import all_written, assert_ended, store_executions

START_SECONDS: Final = 60.0


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    one = await _drained(place, 1, options)
    two = await _drained(place, 2, options)
    return [
        rate("executions by one process", one),
        rate("executions by two processes", two),
        rate("two processes against one", two / one, "times"),
    ]


async def _drained(place: Place, processes: int, options: Options) -> float:
    """Tell how many executions a second that many processes end, each having as many as the others."""
    amount = options["executions"] * processes
    job_id = await store_executions(place, amount)
    async with client(place) as scheduler:
        with ExitStack() as stack:
            drainers = [
                stack.enter_context(_drainer(place, f"drainer-{processes}-{number}", options))
                for number in range(processes)
            ]
            for drainer in drainers:
                await _ready(drainer, place)
            started = time.perf_counter()
            for drainer in drainers:
                _tell(drainer[0])
            await all_written(scheduler, job_id, amount)
            elapsed = time.perf_counter() - started
    await assert_ended(place, job_id, amount)
    return amount / elapsed


@contextmanager
def _drainer(place: Place, name: str, options: Options) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    log = place.folder / f"{name}.log"
    command = [sys.executable, "-m", "benchmarks.drainer", "--place", place.written()]
    asked = ["--concurrency", str(options["concurrency"])]
    with attended([*command, *asked], log=log) as process, spying(process.pid, name):
        yield process, log


async def _ready(drainer: tuple[subprocess.Popen[bytes], Path], place: Place) -> None:
    process, log = drainer
    async with asyncio.timeout(START_SECONDS):
        while READY not in log.read_text("utf-8"):
            if process.poll() is not None:
                raise RuntimeError(f"a process on {place.engine} ended: {last_words(log)}")
            await asyncio.sleep(0.01)


def _tell(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is None:
        raise RuntimeError("nobody can be told through a closed pipe")
    process.stdin.write(b"\n")
    process.stdin.flush()


DRAIN_TWO: Final = Scenario(
    name="drain-two",
    summary="two processes with 40,000 stored executions against one with 20,000, on the same cores as the servers",
    run=_run,
    cases=[Case(name="20,000 each", options={"executions": 20_000, "concurrency": 200})],
    engines=SERVERS,
    headlines=["two processes against one"],
)
