"""A node of a simulated fleet: one core, and what it holds until it is written."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np
import simpy

from .queues import NONE, Cores, Times, starts

PACE_SECONDS: Final = 0.1
PACE_MOST: Final = 1000
"""As `application.claimed.Pace`: as many are claimed beyond the places as ended in so long, and never more."""


class Node:
    """One process: its interpreter runs on one core. What it holds lies in the order of the ends."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lives = True
        self.core = Cores(1)
        self.firing = self.handing = self.claiming = 0
        self.freed: simpy.Event | None = None
        self.ended: simpy.Event | None = None
        self._ends = self._begun = self._due = NONE
        self._written: deque[tuple[float, int]] = deque()
        self._count = 0

    @property
    def held(self) -> int:
        """How many executions it has claimed whose end is unwritten."""
        return len(self._ends)

    @property
    def next_end(self) -> float | None:
        """When the first of them ends."""
        return float(self._ends[0]) if len(self._ends) else None

    def room(self, now: float, capacity: int) -> int:
        """Tell how many more it may claim."""
        self._written.append((now, self._count))
        while self._written[0][0] < now - PACE_SECONDS:
            self._written.popleft()
        return capacity + min(self._count - self._written[0][1], PACE_MOST) - self.held

    def begin(self, batch: Times, now: float, each: float, handler: float) -> None:
        """Run a batch, `each` seconds of the core for every execution, which may go on for `handler` seconds."""
        free = now + self.core.wait(now)
        begun = starts(batch, free, each)
        # As much of the core as they take, though those whose instant is to come take it only then.
        self.core.serve(now, each * len(batch))
        ends = np.concatenate([self._ends, begun + each + handler])
        order = np.argsort(ends, kind="stable")
        self._ends = ends[order]
        self._begun = np.concatenate([self._begun, begun])[order]
        self._due = np.concatenate([self._due, batch])[order]

    def gathered(self, now: float, limit: int) -> int:
        """Tell how many have ended by now, up to a limit."""
        return min(limit, int(np.searchsorted(self._ends, now, "right")))

    def finish(self, count: int) -> Times:
        """Forget the first so many, which are written; answer how late each had begun."""
        late: Times = self._begun[:count] - self._due[:count]
        self._ends, self._begun, self._due = self._ends[count:], self._begun[count:], self._due[count:]
        self._count += count
        return late

    def kill(self) -> Times:
        """End it; answer the nominal times of what it held."""
        self.lives = False
        due: Times = np.sort(self._due)
        self._ends = self._begun = self._due = NONE
        return due
