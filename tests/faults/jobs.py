"""
The handlers of the cluster, which leave marks of every attempt in the working directory of their node.

Each process appends to a file of its own, `marks-PID`: a line when an attempt starts, one when it ends, and one when
its handler is told to stop. What is written to a file outlives the process that is killed.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import tocsin


@cache
def _file() -> int:
    return os.open(f"marks-{os.getpid()}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def mark(word: str, context: tocsin.HandlerContext) -> None:
    """Append one line, whole. The monotonic clock is the same for all processes of a machine."""
    facts = context.execution_id, context.attempt, context.job_id, context.scheduled_at.isoformat()
    line = " ".join(map(str, (word, f"{time.monotonic():.6f}", *facts))) + "\n"
    os.write(_file(), line.encode())


@contextmanager
def marked(context: tocsin.HandlerContext) -> Iterator[None]:
    """Leave marks around an attempt; one that is told to stop leaves `told` in place of `end`."""
    mark("start", context)
    try:
        yield
    except asyncio.CancelledError:
        mark("told", context)
        raise
    mark("end", context)


@tocsin.handler("work")
async def work(context: tocsin.HandlerContext) -> dict[str, int]:
    """Run for as many seconds as the payload says."""
    with marked(context):
        await asyncio.sleep(float(str(context.payload)))
    return {"attempt": context.attempt}


@tocsin.handler("take")
async def take() -> None:
    """Do nothing about an event."""


@tocsin.handler("hold")
async def hold(context: tocsin.HandlerContext) -> dict[str, int]:
    """Run while the file exists that the payload names."""
    held = Path(str(context.payload))
    with marked(context):
        while held.exists():  # noqa: ASYNC110, ASYNC240 - the file is how the test speaks to this process
            await asyncio.sleep(0.05)
    return {"attempt": context.attempt}
