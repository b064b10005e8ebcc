"""How the interpreter is set up in a process that is a node and nothing else."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Final

import uvloop

THRESHOLDS: Final = (20_000, 20, 50)
"""
New objects until a collection of the youngest generation, and collections of one until the next (`gc.set_threshold`).

A batch of executions makes thousands of objects that all die with it. With the interpreter's 700 the collector looks at
them dozens of times before they do, which took about a fifth of what a node did.
"""

SWITCH_SECONDS: Final = 0.0005
"""
How long one thread may keep the interpreter from another that asks for it (`sys.setswitchinterval`).

A SQLite transaction is some dozen short steps of Python between long ones of the engine. While the event loop is busy
each of the short ones waits that long, with the interpreter's 5 ms longer than the whole transaction takes, and the
engine idles meanwhile.
"""


def new_loop() -> asyncio.AbstractEventLoop:
    """Make the event loop of the process; it becomes the current one of this thread."""
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop


def settle_in() -> None:
    """
    Have the garbage collector leave alone what the process has made by now, and threads take turns sooner.

    Not for a process that embeds Tocsin: its collector and its threads are its own.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
