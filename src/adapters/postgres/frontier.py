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
    _full_look: datetime = EVER
    _told: datetime = EVER

    async def since(self, transaction: Transaction) -> datetime:
        """Tell where a look that is made now begins; the clock may have been set back."""
        now = transaction.now
        if not _is_recent(self._full_look, now):
            if now < self._full_look:
                self._first = EVER
            # Noted before it is made: one that misses its deadline must not be made again and again.
            self._full_look = now
            shared = await transaction.row(_FRONTIERS["frontier"], name=self.name)
            if shared is None or not _is_recent(shared["looked_at"], now):
                return EVER
            self._full_look, self._first = shared["looked_at"], shared["passed"]
        return min(self._first, now - self.margin)

    async def tell(self, transaction: Transaction, first: datetime | None) -> None:
        """Tell other nodes of the first instant that a look leaves, if it read everything, and now and then."""
        now = transaction.now
        if self._full_look == now or not self._told <= now < self._told + _TELLING:
            self._told = now
            await transaction.run(
                _FRONTIERS["note_frontier"],
                name=self.name,
                passed=min(now if first is None else first, now - self.margin),
                looked_at=self._full_look,
                now=now,
                pause=_TELLING,
            )

    def move(self, first: datetime | None, now: datetime) -> None:
        """Take note of the first instant that a look, which was committed, has left."""
        self._first = now if first is None else first


def _is_recent(full_look: datetime, now: datetime) -> bool:
    return full_look <= now < full_look + _FULL_LOOK
