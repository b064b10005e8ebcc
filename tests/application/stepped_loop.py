"""An event loop on a clock of its own, which passes while the loop waits, and a little with each round."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

ROUND = 1e-5
"""Seconds that a round takes."""


class SteppedLoop(asyncio.SelectorEventLoop):
    """Waits for nothing but its own timers, and counts how often it goes round."""

    def __init__(self) -> None:
        self.rounds = 0
        self.at = 0.0
        super().__init__(_Waits(self))

    def time(self) -> float:
        return self.at


class _Waits(selectors.DefaultSelector):
    def __init__(self, loop: SteppedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.rounds += 1
        self._loop.at += ROUND if timeout is None else max(ROUND, timeout)
        return super().select(0)


def stepped(work: Coroutine[Any, Any, T]) -> T:
    """Run something on such a loop."""
    with asyncio.Runner(loop_factory=SteppedLoop) as runner:
        return runner.run(work)
