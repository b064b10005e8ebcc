"""Handlers of the measured jobs: they do nothing but note, in this process, that and when they ran."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from tocsin import HandlerContext, handler

NOOP: Final = "benchmarks.noop"
PUNCTUAL: Final = "benchmarks.punctual"


@dataclass(slots=True)
class Tally:
    """How often handlers of this process ran, and how late they began, in ms after the nominal time."""

    ran: int = 0
    late_ms: list[float] = field(default_factory=list)
    _target: int = 0
    _reached: asyncio.Event = field(default_factory=asyncio.Event)

    def expect(self, runs: int) -> None:
        """Count from nothing, up to that many."""
        self.ran, self._target = 0, runs
        self.late_ms.clear()
        self._reached.clear()

    async def reached(self) -> None:
        """Wait until that many have run."""
        await self._reached.wait()

    def note(self) -> None:
        """Count one."""
        self.ran += 1
        if self.ran == self._target:
            self._reached.set()


tally: Final = Tally()


@handler(NOOP)
async def noop() -> None:
    """Count."""
    tally.note()


@handler(PUNCTUAL)
async def punctual(context: HandlerContext) -> None:
    """Count, and note how late it is by the wall clock."""
    tally.late_ms.append((time.time() - context.scheduled_at.timestamp()) * 1000)
    tally.note()
