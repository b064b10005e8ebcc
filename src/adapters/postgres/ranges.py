"""Which parts of the index of dispatches to look through, so that rows long gone are not passed again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...domain.bands import URGENT_FIRST, Band, band_of

SETTLING: Final = 2.0
"""Seconds for which a number that was taken says nothing yet: a lower one may be about to be committed."""

FULL_LOOK: Final = 5.0
"""Seconds between two looks that trust no floor: what was taken may have been put back."""

MOST_FLOORS: Final = 64

_LEVELS: Final = {band: [each for each in range(101) if band_of(each) is band] for band in URGENT_FIRST}

_Queue: TypeAlias = tuple[str, int]
"""A capability and a priority: what lies there is taken in the order of its numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The dispatches of a capability with priorities `low` to `high`, all of one band, and numbers above `floor`."""

    capability: str
    band: Band
    low: int
    high: int
    floor: int


class Ranges:
    """
    Remembers for a while how far each queue was taken, and has looks begin there.

    While anybody holds an old snapshot the server can remove no row that was taken, and a look from the beginning
    passes every one. Floors only hasten: they are learned late, left out of one look every `FULL_LOOK` seconds, and
    forgotten once something is found below them, as after a crash of the server, which begins its numbers anew.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._taken: dict[_Queue, int] = {}
        self._settling: dict[_Queue, int] = {}
        self._floors: dict[_Queue, int] = {}
        self._settles_at = self._full_look_at = 0.0

    def of(self, capabilities: Collection[str]) -> list[Range]:
        """Cut all that these capabilities can receive into ranges, one for each band and each queue with a floor."""
        floors: dict[str, dict[int, int]] = {name: {} for name in sorted(capabilities)}
        for (name, priority), floor in self._trusted().items():
            if name in floors:
                floors[name][priority] = floor
        return [each for name, known in floors.items() for band in URGENT_FIRST for each in _cut(name, band, known)]

    def took(self, capability: str, priority: int, number: int) -> None:
        """Learn that a dispatch was taken; the numbers of one queue come in rising order."""
        if number <= self._floors.get((capability, priority), 0):
            self.forget()
        self._taken[capability, priority] = number

    def forget(self) -> None:
        """Look through everything from now on."""
        self._taken, self._settling, self._floors = {}, {}, {}

    def _trusted(self) -> Mapping[_Queue, int]:
        now = self._monotonic()
        if now >= self._settles_at:
            self._settles_at = now + SETTLING
            older = {queue: floor for queue, floor in self._floors.items() if queue not in self._settling}
            self._floors = dict([*older.items(), *self._settling.items()][-MOST_FLOORS:])
            self._settling, self._taken = self._taken, {}
        if now >= self._full_look_at:
            self._full_look_at = now + FULL_LOOK
            return {}
        return self._floors


def _cut(capability: str, band: Band, floors: Mapping[int, int]) -> Iterator[Range]:
    """Cut the priorities of one band around those with a floor, highest first."""
    low, high = _LEVELS[band][0], _LEVELS[band][-1]
    for priority in sorted((each for each in floors if low <= each <= high), reverse=True):
        if priority < high:
            yield Range(capability=capability, band=band, low=priority + 1, high=high, floor=0)
        yield Range(capability=capability, band=band, low=priority, high=priority, floor=floors[priority])
        high = priority - 1
    if low <= high:
        yield Range(capability=capability, band=band, low=low, high=high, floor=0)
