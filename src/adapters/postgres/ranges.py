"""Which parts of the index of dispatches to look through, so that rows long gone are not passed again and again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...domain.bands import URGENT_FIRST, Band, band_of

SETTLING: Final = 0.5
"""Seconds for which a number that was taken says nothing yet: a lower one may be about to be committed."""

SECOND_LOOK: Final = 2.0
"""Seconds between two looks that trust no younger floor: a commit may have been slow."""

SETTLED: Final = 15.0
"""Seconds after which no transaction that was under way is, by its deadline: below, nothing comes or comes back."""

LOOK_BACK: Final = 10.0
"""Seconds between two looks that begin where the last of them found all settled."""

FULL_LOOK: Final = 600.0
"""Seconds between two looks that trust no floor at all."""

MOST_FLOORS: Final = 64

_STEP: Final = 0.25
_STEPS: Final = 128
"""Floors of half a minute, so that some are always settled."""

_LEVELS: Final = {band: [each for each in range(101) if band_of(each) is band] for band in URGENT_FIRST}

Queue: TypeAlias = tuple[str, int]
"""A capability and a priority: what lies there is taken in the order of its numbers."""

Floors: TypeAlias = Mapping[Queue, int]
"""The number up to which each queue was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The dispatches of a capability with priorities `low` to `high`, all of one band, and numbers above `floor`."""

    capability: str
    band: Band
    low: int
    high: int
    floor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look goes through; if nothing is found below the floors that it `tries`, they are settled."""

    ranges: Sequence[Range]
    tries: Floors


class Ranges:
    """
    Remembers how far each queue was taken, and has looks begin there.

    While anybody holds an old snapshot the server can remove no row that was taken, and a look from the beginning
    passes every one. Most looks trust all floors but the youngest; now and then one goes further back, for what was
    committed late or put back, down to what is settled; that is proven step by step, may be told to others, and is
    itself left out of one look in `FULL_LOOK` seconds. What is found below a floor has the younger ones forgotten.
    One of these looks is for the capabilities that it was asked about, so all callers should ask for the same.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, *, first_full_look: float = FULL_LOOK) -> None:
        self._monotonic = monotonic
        self._taken: dict[Queue, int] = {}
        self._past: deque[tuple[float, Floors]] = deque(maxlen=_STEPS)
        self._settled: dict[Queue, int] = {}
        self._untold: dict[Queue, int] = {}
        self._step_at = self._second_look_at = self._look_back_at = 0.0
        self._full_look_at = monotonic() + first_full_look

    def look(self, capabilities: Collection[str]) -> Look:
        """Cut all that these capabilities can receive into ranges, one for each band and each queue with a floor."""
        now = self._monotonic()
        if now >= self._step_at:
            self._step_at = now + _STEP
            self._past.append((now, dict([*self._taken.items()][-MOST_FLOORS:])))
        trusted, tries = self._trusted(now)
        floors: dict[str, dict[int, int]] = {name: {} for name in sorted(capabilities)}
        for (name, priority), floor in trusted.items():
            if name in floors:
                floors[name][priority] = floor
        return Look(
            ranges=[
                each for name, known in floors.items() for band in URGENT_FIRST for each in _cut(name, band, known)
            ],
            tries={queue: floor for queue, floor in tries.items() if queue[0] in floors},
        )

    def learn(self, look: Look, taken: Sequence[tuple[Queue, int]], seen: Mapping[tuple[int, int], int]) -> bool:
        """
        Note what a look took, the numbers of a queue in rising order, and what there was.

        `seen` has the first number, whoever may have taken it meanwhile, by the place of a range and a priority in it.
        Answers whether what was settled still holds; if not, it is forgotten here, and what others were told is wrong.
        """
        first = {(look.ranges[place].capability, priority): number for (place, priority), number in seen.items()}
        holds = all(number > self._settled.get(queue, 0) for queue, number in first.items())
        if not holds:
            self.forget()
        elif any(number <= self._known(SETTLING).get(queue, 0) for queue, number in first.items()):
            self._doubt()
        else:
            bare = [each for place, each in enumerate(look.ranges) if all(place != at for at, _ in seen)]
            self._settle(_proven(look.tries, first, bare))
        for queue, number in taken:
            # The latest last.
            self._taken.pop(queue, None)
            self._taken[queue] = number
        return holds

    def adopt(self, settled: Floors) -> None:
        """Believe what others found settled."""
        self._settled = _higher(self._settled, settled)

    def news(self) -> Floors:
        """Tell what was found settled since the last call."""
        news, self._untold = self._untold, {}
        return news

    def forget(self) -> None:
        """Look through everything from now on."""
        self._settled, self._untold = {}, {}
        self._doubt()

    def _trusted(self, now: float) -> tuple[Floors, Floors]:
        """Say which floors a look that is made now begins at, and which it tries."""
        if now >= self._full_look_at:
            self._full_look_at = now + FULL_LOOK
            return {}, {}
        if now >= self._look_back_at:
            self._look_back_at = now + LOOK_BACK
            return self._settled, self._known(SETTLED)
        if now >= self._second_look_at:
            self._second_look_at = now + SECOND_LOOK
            return self._known(SECOND_LOOK), {}
        return self._known(SETTLING), {}

    def _known(self, age: float) -> Floors:
        """Give the floors as they were that many seconds ago, on top of those that are settled."""
        until = self._monotonic() - age
        past = next((floors for at, floors in reversed(self._past) if at <= until), {})
        return _higher(self._settled, past)

    def _settle(self, floors: Floors) -> None:
        news = {queue: floor for queue, floor in floors.items() if floor > self._settled.get(queue, 0)}
        self._untold.update(news)
        self._settled = dict([*(self._settled | news).items()][-MOST_FLOORS:])

    def _doubt(self) -> None:
        self._taken = {}
        self._past.clear()


def _higher(some: Floors, others: Floors) -> dict[Queue, int]:
    """Give the higher of two floors of each queue."""
    return {**some, **{queue: max(floor, some.get(queue, 0)) for queue, floor in others.items()}}


def _proven(tries: Floors, first: Floors, bare: Sequence[Range]) -> Floors:
    """Tell which floors hold: of queues that begin above, and of those in ranges without anything."""
    return {
        queue: floor
        for queue, floor in tries.items()
        if first.get(queue, 0) > floor or any(_holds(each, queue) for each in bare)
    }


def _holds(part: Range, queue: Queue) -> bool:
    capability, priority = queue
    return part.capability == capability and part.low <= priority <= part.high


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
