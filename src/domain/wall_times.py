"""The wall times of a cron, on a calendar that knows no zones: pure steps over the values of its fields."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, Protocol

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2199
LAST_WEEK: Final = -1

_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)


class WallTimes(Protocol):
    """Naive wall times, whole seconds, in order."""

    def after(self, wall: datetime) -> datetime | None:
        """Give the first wall time strictly later than a naive one, or None when the years up to 2199 hold no more."""

    def count(self, after: datetime, until: datetime) -> int:
        """Count the wall times later than `after` and not later than `until`, without walking through them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CronFields:
    """
    What each field of a cron admits. Compared by identity, since a compiled cron is shared, not copied.

    Weekdays count from Sunday, 0. `nth_weekdays` are pairs of a weekday and which of the
    month it is, 1 to 5, or `LAST_WEEK`. A day of month or of week suffices if `either_day`,
    else both must match.
    """

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    last_day: bool
    months: frozenset[int]
    weekdays: frozenset[int]
    nth_weekdays: frozenset[tuple[int, int]]
    either_day: bool

    def admits(self, day: int, *, weekday: int, month_length: int) -> bool:
        """Tell whether a day of an admitted month matches, by the rule of crontab(5) for its two day fields."""
        by_date = day in self.days or (self.last_day and day == month_length)
        by_week = (
            weekday in self.weekdays
            or (weekday, (day - 1) // 7 + 1) in self.nth_weekdays
            or (day > month_length - 7 and (weekday, LAST_WEEK) in self.nth_weekdays)
        )
        return (by_date or by_week) if self.either_day else (by_date and by_week)


class CronWallTimes:
    """The wall times that match a cron: every step is a few table look-ups, however rare its days are."""

    def __init__(self, fields: CronFields) -> None:
        self._fields = fields
        self._second = _ceilings(fields.seconds, 60)
        self._minute = _ceilings(fields.minutes, 60)
        self._hour = _ceilings(fields.hours, 24)
        self._first_second = min(fields.seconds)
        self._first_minute = min(fields.minutes)
        self._midnight = time(min(fields.hours), self._first_minute, self._first_second)
        self._sorted = tuple(tuple(sorted(values)) for values in (fields.hours, fields.minutes, fields.seconds))
        self._each_day = len(fields.hours) * len(fields.minutes) * len(fields.seconds)

    def after(self, wall: datetime) -> datetime | None:
        """Give the first match strictly later than a naive wall time, or None when the years to 2199 hold no more."""
        if wall.year > LAST_YEAR:
            return None
        start = wall + _SECOND
        if start.microsecond:
            start = start.replace(microsecond=0)
        day = self._day_from(start.date())
        if day == start.date():
            clock = self._clock_from(start.hour, start.minute, start.second)
            if clock is not None:
                return datetime.combine(day, clock)
            day = self._day_from(day + _DAY)
        return None if day is None else datetime.combine(day, self._midnight)

    def count(self, after: datetime, until: datetime) -> int:
        """Count the matches later than `after` and not later than `until`: whole days by multiplication."""
        if until <= after:
            return 0
        days = 0
        day = self._day_from(after.date())
        while day is not None and day <= until.date():
            days += 1
            day = self._day_from(day + _DAY)
        rest = self._each_day - self._until(until) if self._day_from(until.date()) == until.date() else 0
        return days * self._each_day - rest - self._until(after)

    def _until(self, wall: datetime) -> int:
        """Count the matches on a wall time's day that are not later than it."""
        if self._day_from(wall.date()) != wall.date():
            return 0
        hours, minutes, seconds = self._sorted
        count = bisect_left(hours, wall.hour) * len(minutes) * len(seconds)
        if wall.hour in self._fields.hours:
            count += bisect_left(minutes, wall.minute) * len(seconds)
            if wall.minute in self._fields.minutes:
                count += bisect_right(seconds, wall.second)
        return count

    def _clock_from(self, hour: int, minute: int, second: int) -> time | None:
        """Find the first time of a matching day that is not earlier."""
        if self._hour[hour] == hour:
            if self._minute[minute] == minute and (later := self._second[second]) is not None:
                return time(hour, minute, later)
            if (later := self._minute[minute + 1]) is not None:
                return time(hour, later, self._first_second)
        if (later := self._hour[hour + 1]) is not None:
            return time(later, self._first_minute, self._first_second)
        return None

    def _day_from(self, start: date) -> date | None:
        """Find the first matching day that is not earlier; never-matching crons end at the last year."""
        first_day = start.day
        for index in range(start.year * 12 + start.month - 1, (LAST_YEAR + 1) * 12):
            year, month = index // 12, index % 12 + 1
            if month in self._fields.months and (day := _days(self._fields, year, month)[first_day]) is not None:
                return date(year, month, day)
            first_day = 1
        return None


@lru_cache(maxsize=8192)
def _days(fields: CronFields, year: int, month: int) -> tuple[int | None, ...]:
    """Make the table of one month: for each day, the first matching day that is not earlier."""
    monday_based, length = monthrange(year, month)
    return _ceilings(
        (
            day
            for day in range(1, length + 1)
            if fields.admits(day, weekday=(monday_based + day) % 7, month_length=length)
        ),
        32,
    )


def _ceilings(values: Iterable[int], size: int) -> tuple[int | None, ...]:
    """Make a table: for each number up to and including `size`, the smallest value that is not less, or None."""
    admitted = frozenset(values)
    table: list[int | None] = []
    ceiling: int | None = None
    for number in range(size, -1, -1):
        ceiling = number if number in admitted else ceiling
        table.append(ceiling)
    return tuple(reversed(table))
