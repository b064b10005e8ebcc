"""Where looks at what is due, dispatched or leased begin, so that they pass over what earlier ones left behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from .filters import EVER
from .statements import statements
from .transaction import Transaction

DUE_MARGIN: Final = timedelta(minutes=2)
"""Twice as far as anything can become due in the past: a job that runs once, at an instant up to a minute ago."""

NOTED_MARGIN: Final = timedelta(seconds=30)
"""Three times as long as a transaction takes that notes its own instant, a dispatch or a claim, by its deadline."""

_FULL_LOOK: Final = timedelta(minutes=1)
"""Between two looks that read everything, whichever node makes them."""

_TELLING: Final = timedelta(seconds=30)
"""Between two times that nodes tell each other of an instant."""

_FRONTIERS: Final = statements("frontiers")


@dataclass(slots=True)
class Frontier:
    """
    Before when nothing is due, dispatched or leased, as far as one node knows; `name` is that of its row.

    Each fire, claim and end leaves an entry in an index that leads to no row any more and that nobody may remove while
    somebody, such as a backup, looks at an old state. A look from the beginning would read them all, hours of them.
    So it begins at the first instant that the last one left, less a margin for those that are committed later than they
    say; once a minute some node reads everything all the same, in case somebody wrote an instant of his own. The
    others, and those that start, begin where it got to.
    """

    name: str
    margin: timedelta = DUE_MARGIN
    _first: datetime = EVER
    _looked_at: datetime = EVER
    _tried_at: datetime = EVER
    _told_at: datetime = EVER

    async def since(self, transaction: Transaction) -> datetime:
        """Tell where a look that is made now begins; the clock may have been set back."""
        now = transaction.now
        if _is_recent(self._looked_at, now) or _is_recent(self._tried_at, now):
            return self.follows(now)
        if now < self._looked_at:
            self._first = EVER
        shared = await transaction.row(_FRONTIERS["frontier"], name=self.name)
        if shared is not None and _is_recent(shared["looked_at"], now):
            self._looked_at, self._first = shared["looked_at"], shared["passed"]
            return self.follows(now)
        if shared is not None and self._first == EVER and shared["looked_at"] <= now:
            self._first = shared["passed"]
        # Noted before it is made: one that misses its deadline must not be made again and again.
        self._tried_at = now
        return EVER

    def follows(self, now: datetime) -> datetime:
        """Tell where a look begins that goes on with one before."""
        return min(self._first, now - self.margin)

    async def tell(self, transaction: Transaction, first: datetime | None) -> None:
        """Tell other nodes of the first instant that a look leaves, if it read everything, and now and then."""
        now = transaction.now
        is_full = self._tried_at == now
        if is_full or not self._told_at <= now < self._told_at + _TELLING:
            self._told_at = now
            await transaction.run(
                _FRONTIERS["note_frontier"],
                name=self.name,
                passed=min(now if first is None else first, now - self.margin),
                looked_at=now if is_full else self._looked_at,
                now=now,
                pause=_TELLING,
            )

    def move(self, first: datetime | None, now: datetime) -> None:
        """Take note of the first instant that a look, which was committed, has left."""
        self._first = now if first is None else first
        if self._tried_at == now:
            self._looked_at = now


def _is_recent(look: datetime, now: datetime) -> bool:
    return look <= now < look + _FULL_LOOK
