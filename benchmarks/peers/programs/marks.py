"""What a program is told, and what it tells of how far it is; the standard library alone."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from . import VARIABLE

FLUSH_SECONDS = 0.25
A_SECOND = 20
LEAD_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Where the servers are, how many jobs there are to be, and what the system is set to."""

    database_url: str
    redis_url: str
    folder: str
    jobs: int
    seed: int
    settings: Mapping[str, Any]


TASK = Task(**json.loads(os.environ[VARIABLE]))


def mark(word: str, **facts: object) -> None:
    """Tell that something has come about now."""
    with Path(TASK.folder, "marks").open("a") as marks:
        marks.write(json.dumps({"word": word, "at": time.time(), **facts}) + "\n")


_hits = count(1)


def hit() -> None:
    """Count a run of the no-op handler; the last one expected is told, and one too many."""
    hits = next(_hits)
    if hits == TASK.jobs:
        mark("last")
    elif hits == TASK.jobs + 1:
        mark("doubled")


_starts: list[tuple[int, float, float]] = []


def started(number: int, due: float) -> None:
    """Note that the handler of a job has started now; `due` is when it should have, in seconds of the epoch."""
    _starts.append((number, due, time.time()))
    _writer()


@cache
def _writer() -> threading.Thread:
    """Write starts down beside the handlers, in the process that first notes one."""
    writer = threading.Thread(target=_write, daemon=True)
    writer.start()
    return writer


def _write() -> None:
    while True:
        time.sleep(FLUSH_SECONDS)
        found = _starts.copy()
        del _starts[: len(found)]
        with Path(TASK.folder, f"starts-{os.getpid()}").open("a") as starts:
            starts.write("".join(f"{number} {due!r} {at!r}\n" for number, due, at in found))


@contextmanager
def inserting() -> Iterator[None]:
    """Tell how long the body took."""
    began = time.perf_counter()
    yield
    mark("inserted", seconds=time.perf_counter() - began)


async def submissions() -> AsyncIterator[tuple[int, float]]:
    """Give each number and its due time at the random instant at which the job is to be submitted."""
    chance, began = random.Random(TASK.seed), time.time()  # noqa: S311 - a load, no secret
    for number, offset in enumerate(sorted(chance.uniform(0, TASK.jobs / A_SECOND) for _ in range(TASK.jobs))):
        await asyncio.sleep(max(0.0, began + offset - time.time()))
        yield number, time.time() + LEAD_SECONDS


async def crowd(work: Callable[[int], Awaitable[object]], *, at_once: int) -> None:
    """Do the work for every number of a job, some of it at once."""
    numbers = iter(range(TASK.jobs))

    async def one() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(one() for _ in range(at_once)))


def a_second_after(seconds: float) -> int:
    """Pick the first whole second of the epoch that is so far away."""
    return int(time.time() + seconds) + 1


def asked() -> str:
    """Read which part of the program is wanted."""
    return sys.argv[1]
