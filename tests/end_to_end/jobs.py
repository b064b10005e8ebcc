"""
The handlers of these tests.

The program imports a copy of this file from its working directory, where the handlers also read and write
files: `marks` gets a line at the start and at the end of each run, and a run holds while the file exists
that its payload names.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any, Final, NoReturn

import tocsin

MARKS: Final = "marks"


def mark(word: str, context: tocsin.HandlerContext) -> None:
    """Append one line, whole, whatever else appends."""
    line = f"{word} {context.execution_id} {context.attempt} {os.getpid()}\n"
    file = os.open(MARKS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, line.encode())
    os.close(file)


@tocsin.handler("record")
async def record(context: tocsin.HandlerContext) -> dict[str, Any]:
    """Run for a moment."""
    mark("start", context)
    await asyncio.sleep(0)
    context.logger.info("recorded", attempt=context.attempt)
    mark("end", context)
    return {"attempt": context.attempt}


@tocsin.handler("linger")
async def linger(context: tocsin.HandlerContext) -> None:
    """Run long enough to be met in the middle."""
    mark("start", context)
    await asyncio.sleep(0.3)
    mark("end", context)


@tocsin.handler("hold")
async def hold(context: tocsin.HandlerContext) -> None:
    """Run while a file exists: `hold`, or the one that the payload names."""
    mark("start", context)
    held = str(context.payload or "hold")
    while os.path.exists(held):  # noqa: ASYNC110, ASYNC240, PTH110 - the file is how another process speaks to this one
        await asyncio.sleep(0.05)
    mark("end", context)


@tocsin.handler("deaf")
async def deaf() -> NoReturn:
    """Swallow every cancellation, for ever."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


@tocsin.handler("deaf_thread")
def deaf_thread() -> NoReturn:
    """Never look at its cancellation, for ever."""
    while True:
        time.sleep(3600)


@tocsin.handler("unspeakable")
def unspeakable() -> object:
    """Return what is no JSON."""
    return {"socket": object()}


@tocsin.handler("shouting")
def shouting() -> NoReturn:
    """Raise with a message of 1 MB."""
    raise ValueError("x" * 1_000_000)


@tocsin.handler("leaving")
def leaving() -> NoReturn:
    """Try to take the process with it."""
    sys.exit(3)


@tocsin.handler("leaving_aside")
async def leaving_aside() -> None:
    """Try to take the process along from a task of its own, which makes asyncio leave the event loop."""

    async def leave() -> NoReturn:
        sys.exit(3)

    await asyncio.gather(leave(), asyncio.sleep(3600))


class Departure(Exception):
    """Asks the process to end once somebody reads it."""

    def __str__(self) -> str:
        """Leave instead."""
        raise SystemExit(4)


@tocsin.handler("departing")
async def departing() -> NoReturn:
    """Raise what cannot be read."""
    raise Departure


@tocsin.handler("cancelling")
async def cancelling() -> None:
    """Cancel every task of the event loop, the node's own included."""
    for task in asyncio.all_tasks():
        task.cancel()


@tocsin.handler("pooled")
async def pooled(context: tocsin.HandlerContext) -> None:
    """Fill a thread of the event loop's own pool, which the interpreter would wait for."""
    mark("start", context)
    await asyncio.to_thread(time.sleep, 3600)


@tocsin.handler("blocking")
async def blocking(context: tocsin.HandlerContext) -> None:
    """Hold the event loop itself."""
    mark("start", context)
    time.sleep(3600)  # noqa: ASYNC251 - the worst that a handler can do


def marks_in(folder: Path) -> list[tuple[str, str, int, int]]:
    """Read the marks so far, oldest first: word, execution, attempt, process."""
    file = folder / MARKS
    lines = file.read_text().splitlines() if file.exists() else []
    return [(word, run, int(attempt), int(process)) for word, run, attempt, process in map(str.split, lines)]
