"""Where looks at what is due, dispatched or leased begin, so that they pass over what earlier ones left behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from .filters import EVER

DUE_MARGIN: Final = timedelta(minutes=2)
"""Twice as far as anything can become due in the past: a job that runs once, at an instant up to a minute ago."""

NOTED_MARGIN: Final = timedelta(seconds=30)
"""Three times as long as a transaction takes that notes its own instant, a dispatch or a claim, by its deadline."""

_FULL_LOOK: Final = timedelta(minutes=1)
"""Between two looks that read everything."""


@dataclass(slots=True)
class Frontier:
    """
    Before when nothing is due, dispatched or leased, as far as one node knows.

    Each fire, claim and end leaves an entry in an index that leads to no row any more and that nobody may remove while
    somebody, such as a backup, looks at an old state. A look from the beginning would read them all, hours of them.
    So it begins at the first instant that the last one left, less a margin for those that are committed later than they
    say; once a minute it reads everything all the same, in case somebody wrote an instant of his own.
    """

    margin: timedelta = DUE_MARGIN
    _first: datetime = EVER
    _full_look: datetime = EVER

    def since(self, now: datetime) -> datetime:
        """Tell where a look that is made now begins; the clock may have been set back."""
        if self._full_look <= now < self._full_look + _FULL_LOOK:
            return min(self._first, now - self.margin)
        if now < self._full_look:
            self._first = EVER
        # Noted before it is made: one that misses its deadline must not be made again and again.
        self._full_look = now
        return EVER

    def move(self, first: datetime | None, now: datetime) -> None:
        """Take note of the first instant that a look, which was committed, has left."""
        self._first = now if first is None else first
