"""The queues of a simulation: cores that serve in order of arrival, and fires that wait to be due."""

from __future__ import annotations

import heapq
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Times: TypeAlias = NDArray[np.float64]
"""Instants in seconds, ascending: the nominal times of a batch."""

NONE: Final[Times] = np.empty(0)


class Cores:
    """
    So many equal cores with one queue before them, first come first served.

    Whoever comes is told at once when it will have been served, since nobody overtakes.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = [0.0] * count
        self._given = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """Give so many seconds of one core to who comes now, never before who came last; answer when it is done."""
        done = max(now, self._free[0]) + seconds
        heapq.heapreplace(self._free, done)
        self._given += seconds
        return done

    def busy(self, now: float) -> float:
        """Tell the core seconds that were worked by now."""
        return self._given - sum(max(0.0, free - now) for free in self._free)

    def wait(self, now: float) -> float:
        """Tell how long who comes now waits before it is served."""
        return max(0.0, self._free[0] - now)


class Due:
    """Nominal times in their order, as an index on next_run gives them; what one timer has taken no other sees."""

    def __init__(self, instants: Times) -> None:
        self._instants = np.sort(instants)
        self._place = 0
        self._returned: list[Times] = []

    def __len__(self) -> int:
        return len(self._instants) - self._place + sum(map(len, self._returned))

    @property
    def next(self) -> float | None:
        """The earliest, if any is left."""
        firsts = [float(each[0]) for each in self._returned]
        if self._place < len(self._instants):
            firsts.append(float(self._instants[self._place]))
        return min(firsts, default=None)

    def take(self, until: float, limit: int) -> Times:
        """Take up to `limit` of those not later than `until`, those that were given back first."""
        if self._returned:
            first = self._returned.pop()
            if len(first) > limit:
                self._returned.append(first[limit:])
            return first[:limit]
        end = self._place + int(np.searchsorted(self._instants[self._place : self._place + limit], until, "right"))
        taken = self._instants[self._place : end]
        self._place = end
        return taken

    def give_back(self, times: Times) -> None:
        """Put back what a timer took whose transaction came to nothing."""
        if len(times):
            self._returned.append(times)


class Waiting:
    """Batches that were handed on, in order of arrival, of which as much may be taken as there is."""

    def __init__(self) -> None:
        self._batches: list[Times] = []
        self._first = 0
        self.length = 0

    def add(self, times: Times) -> None:
        """Put a batch at the end."""
        if len(times):
            self._batches.append(times)
            self.length += len(times)

    def take(self, limit: int) -> Times:
        """Take up to `limit` from the front."""
        taken: list[Times] = []
        while limit > 0 and self._first < len(self._batches):
            batch = self._batches[self._first]
            taken.append(batch[:limit])
            if len(batch) > limit:
                self._batches[self._first] = batch[limit:]
            else:
                self._batches[self._first] = NONE
                self._first += 1
            limit -= len(taken[-1])
        found = np.sort(np.concatenate(taken)) if taken else NONE
        self.length -= len(found)
        return found

    @property
    def oldest(self) -> float | None:
        """The first nominal time of the batch in front."""
        return float(self._batches[self._first][0]) if self._first < len(self._batches) else None


def starts(instants: Times, now: float, each: float) -> Times:
    """
    Tell when handlers begin on one core that gives each of them `each` seconds: in order, none before its instant.

    Lindley's recursion, s(k) = max(instant(k), s(k-1) + each), without a loop.
    """
    ahead = np.arange(len(instants)) * each
    begun: Times = np.maximum.accumulate(np.maximum(instants, now) - ahead) + ahead
    return begun
