"""How far a stream has passed: which dispatches lie behind it, told without comparing two clocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from .entries import Position

MOST_MARKS: Final = 16


@dataclass(slots=True)
class Horizon:
    """A time that the store's clock has reached for sure, known from the times that it has given out."""

    monotonic: Callable[[], float]
    _origin: datetime | None = field(default=None, init=False)

    def reached(self, newest: datetime) -> datetime:
        """Answer the latest such time; `newest` is one that the store gave out before now."""
        running = timedelta(seconds=self.monotonic())
        origin = newest - running
        self._origin = origin if self._origin is None else max(self._origin, origin)
        return self._origin + running


@dataclass(slots=True)
class Passage:
    """
    Marks in one stream: what was dispatched by this time lies at or before this position, if it lies there at all.

    A mark holds because a stream only grows at its end, and it is passed once the group has been handed all up to
    its position. A stream that is younger than a mark has passed it too: what it held is gone with the older stream.
    Marks are set only while few are left unpassed, so that each is passed in the end, however the stream grows.
    """

    _marks: list[tuple[Position, datetime]] = field(default_factory=list, init=False)
    _passed: datetime | None = field(default=None, init=False)

    def passed(self, *, generated: Position, delivered: Position, reached: datetime) -> datetime | None:
        """
        Answer up to which dispatch time everything lies behind the group; None if that is unknown yet.

        `generated` is the newest position there ever was, `delivered` the newest that the group was handed, and
        `reached` a time that the store's clock has passed by now.
        """
        if self._marks and self._marks[-1][0] == generated:
            self._marks.pop()
        if len(self._marks) < MOST_MARKS:
            self._marks.append((generated, reached))
        behind = [until for position, until in self._marks if position <= delivered or position > generated]
        if behind:
            self._passed = max(behind) if self._passed is None else max(self._passed, *behind)
            self._marks = [mark for mark in self._marks if delivered < mark[0] <= generated]
        return self._passed
