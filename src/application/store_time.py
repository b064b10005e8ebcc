"""The store's clock on a node's own monotonic one, as near as the store's answers tell."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

REMEMBERED_SECONDS: Final = 2.0
"""How long an answer says something: a clock that is slewed, by 500 ppm at most, is then 1 ms further."""

STEP_SECONDS: Final = 0.02
"""An answer that seems to have taken this much longer than others has, or else the store's clock was set back."""


@dataclass(slots=True)
class StoreTime:
    """
    When, by the monotonic clock, the store's clock shows what.

    An answer that tells the store's time came later than that, so that each bounds how far apart the two clocks are,
    and the quickest of the last seconds is nearest (Cristian's algorithm, which halves the round trip instead:
    https://doi.org/10.1007/BF01784024). What is told is never too soon, but for a clock that was set back by no more
    than `STEP_SECONDS`, which looks like a slow answer: then it is too soon by as much, for `REMEMBERED_SECONDS`.
    """

    _bounds: deque[tuple[float, float]] = field(default_factory=deque)
    """When each was learned, and the bound: ever larger ones, as a smaller one makes those before it superfluous."""

    def learn(self, told: datetime, now: float) -> float:
        """Learn from an answer that came at `now` how far apart the clocks are at most, in seconds."""
        bound = now - told.timestamp()
        bounds = self._bounds
        while bounds and (bounds[-1][1] >= bound or bounds[0][0] < now - REMEMBERED_SECONDS):
            if bounds[-1][1] >= bound:
                bounds.pop()
            else:
                bounds.popleft()
        if bounds and bound - bounds[0][1] > STEP_SECONDS:
            bounds.clear()
        bounds.append((now, bound))
        return bounds[0][1]
