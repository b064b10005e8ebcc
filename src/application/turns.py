"""Turns: what one store transaction took too long for is tried piece by piece, so that one holds up no other."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from ..domain.errors import Unavailable

MOST_MISSES: Final = 3
"""After so many a round of turns ends: each of them took the store's whole deadline."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(Generic[T, R]):
    """What came of one round: what was taken, with its answer, what missed the deadline, and what had no turn."""

    taken: Sequence[tuple[T, R]]
    missed: Sequence[T]
    waiting: Sequence[T]
    error: Unavailable | None


@dataclass(slots=True, kw_only=True)
class Turns(Generic[T]):
    """Gives each of many a turn by itself, those first that missed least often."""

    key: Callable[[T], Hashable]
    _misses: Counter[Hashable] = field(default_factory=Counter, init=False)

    @property
    def late(self) -> int:
        """How many of those that had a turn last missed it."""
        return len(self._misses)

    async def take(self, items: Sequence[T], use: Callable[[T], Awaitable[R]]) -> Round[T, R]:
        """
        Give each its turn until `MOST_MISSES` of them were not answered; what else `use` raises is raised.

        What is not among these items is forgotten.
        """
        self._misses = Counter({key: self._misses[key] for key in map(self.key, items) if key in self._misses})
        taken: list[tuple[T, R]] = []
        missed: list[T] = []
        waiting = deque(sorted(items, key=lambda item: self._misses[self.key(item)]))
        error: Unavailable | None = None
        while waiting and len(missed) < MOST_MISSES:
            item = waiting.popleft()
            try:
                taken.append((item, await use(item)))
                del self._misses[self.key(item)]
            except Unavailable as unanswered:
                missed.append(item)
                self._misses[self.key(item)] += 1
                error = unanswered
        return Round(taken=taken, missed=missed, waiting=list(waiting), error=error)

    def forget(self) -> None:
        """Remember nothing any more."""
        self._misses.clear()
