"""What a node has claimed and not begun: attempts whose instant is to come, and those that wait for a place."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from ..ports.ledger import Hold
from .held_attempt import HeldAttempt

PATIENCE_SECONDS: Final = 1.0
"""How long an attempt may wait for a place on its node before another node may have it."""

AHEAD_SECONDS: Final = 0.1
MOST_AHEAD: Final = 1000


@dataclass(slots=True)
class Claimed:
    """
    Claimed attempts in the order in which they may begin.

    What was dropped on its way, because it was stopped or its lease is gone, stays here until its turn and is then
    passed over.
    """

    _coming: list[tuple[float, int, HeldAttempt]] = field(default_factory=list)
    _waiting: deque[HeldAttempt] = field(default_factory=deque)
    _held: dict[Hold, HeldAttempt] = field(default_factory=dict)
    _arrivals: Iterator[int] = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[HeldAttempt]:
        return iter(list(self._held.values()))

    def get(self, hold: Hold) -> HeldAttempt | None:
        """Find an attempt that has not begun."""
        return self._held.get(hold)

    def add(self, held: HeldAttempt, now: float) -> None:
        """Take an attempt in; one that may begin already waits behind those that could before."""
        self._held[held.hold] = held
        if held.begins_at <= now:
            self._waiting.append(held)
        else:
            heapq.heappush(self._coming, (held.begins_at, next(self._arrivals), held))

    def drop(self, held: HeldAttempt) -> None:
        """Forget an attempt: it will not begin here."""
        self._held.pop(held.hold, None)

    def ripen(self, now: float) -> None:
        """Have those whose instant has come by `now` wait for a place."""
        while self._coming and self._coming[0][0] <= now:
            self._waiting.append(heapq.heappop(self._coming)[2])

    def take(self) -> HeldAttempt | None:
        """Give the next attempt that waits for a place, which is then no longer here."""
        while self._waiting:
            held = self._waiting.popleft()
            if self._held.pop(held.hold, None) is not None:
                return held
        return None

    @property
    def waiting(self) -> int:
        """How many may have begun but for a place."""
        return max(0, len(self._held) - len(self._coming))

    @property
    def coming(self) -> int:
        """How many wait for their instant."""
        return len(self._coming)

    @property
    def next_instant(self) -> float | None:
        """When the next attempt whose instant is to come may begin, in monotonic seconds."""
        return self._coming[0][0] if self._coming else None

    def overdue(self, now: float) -> list[HeldAttempt]:
        """List what has waited for a place for too long."""
        return [held for held in self._held.values() if held.begins_at <= now - PATIENCE_SECONDS]


@dataclass(slots=True)
class Pace:
    """
    How many attempts have lately ended on a node, which is how many it may claim beyond its places.

    As many as ran and ended in `AHEAD_SECONDS`, `MOST_AHEAD` at most: so none of them waits much longer than that, and
    a node whose handlers take long claims none ahead (Little's law: a queue is as long as its rate times the wait).
    """

    _samples: deque[tuple[float, int]] = field(default_factory=deque)

    def ahead(self, now: float, ended: int) -> int:
        """Say how many may be claimed ahead at `now`, in monotonic seconds, when `ended` have ended in all."""
        samples = self._samples
        samples.append((now, ended))
        while samples[0][0] < now - AHEAD_SECONDS:
            samples.popleft()
        return min(ended - samples[0][1], MOST_AHEAD)
