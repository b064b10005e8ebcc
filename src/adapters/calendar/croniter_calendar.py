"""
Croniter as a reader of cron fields, one at a time, so that an error can name its field.

Only the reading is croniter's. It steps through time too slowly for a scheduler, takes either day
field where crontab(5) wants both (`*/2`), and knows clock changes by rules of its own, so the
steps are the domain's. Where its reading departs from cron's, the text is refused or said otherwise first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from croniter import CroniterError, croniter

from ...domain.errors import InvalidInput, InvalidSchedule
from ...domain.schedule import Cron
from ...domain.wall_times import FIRST_YEAR, LAST_WEEK, CronFields, CronWallTimes, WallTimes

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_WORD: Final = re.compile(r"[A-Z]+")
_RANGE: Final = re.compile(r"(\w+)-(\w+)(/\d+)?")
_NTH: Final = re.compile(r".*#\d|L\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One field of a cron: its name, its place in croniter, what it may hold; names count from lowest."""

    name: str
    index: int
    lowest: int
    highest: int
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    expected: str


_SECOND: Final = _Field(name="second", index=5, lowest=0, highest=59, expected="0-59")
_MINUTE: Final = _Field(name="minute", index=0, lowest=0, highest=59, expected="0-59")
_HOUR: Final = _Field(name="hour", index=1, lowest=0, highest=23, expected="0-23")
_DAY: Final = _Field(
    name="day of month", index=2, lowest=1, highest=31, words=("L",), expected="1-31, or L for the last"
)
_MONTH: Final = _Field(name="month", index=3, lowest=1, highest=12, names=_MONTHS, expected="1-12 or JAN-DEC")
_WEEKDAY: Final = _Field(
    name="day of week",
    index=4,
    lowest=0,
    highest=6,
    names=_WEEKDAYS,
    words=("L",),
    expected="0-7 or SUN-SAT, FRI#2 for the second Friday, L5 for the last",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What croniter makes of one field: plain values, whether `L` is among them, and nth weekdays."""

    values: frozenset[int]
    last: bool
    nth: frozenset[tuple[int, int]]


class CroniterCalendar:
    """The Calendar port over croniter; compiled crons are kept and shared."""

    def wall_times(self, cron: Cron) -> WallTimes:
        """Give the wall times that match, or raise InvalidSchedule naming the field that cannot be read."""
        return _compile(cron)


@lru_cache(maxsize=4096)
def _compile(cron: Cron) -> CronWallTimes:
    second, minute, hour, day, month, weekday = cron.fields
    days = _read(_DAY, day)
    weekdays = _read(_WEEKDAY, weekday)
    walls = CronWallTimes(
        CronFields(
            seconds=_read(_SECOND, second).values,
            minutes=_read(_MINUTE, minute).values,
            hours=_read(_HOUR, hour).values,
            days=days.values,
            last_day=days.last,
            months=_read(_MONTH, month).values,
            weekdays=weekdays.values,
            nth_weekdays=weekdays.nth,
            either_day=cron.either_day,
        )
    )
    if walls.after(datetime(FIRST_YEAR, 1, 1)) is None:  # noqa: DTZ001  # Wall time is naive by nature.
        raise InvalidSchedule.of("schedule", f"{cron} never comes: no such day of the month")
    return walls


def _read(field: _Field, text: str) -> _Reading:
    columns = ["*"] * 6
    columns[field.index] = ",".join(_restated(field, item) for item in text.split(","))
    try:
        expanded, nth = croniter.expand(" ".join(columns))
    except CroniterError as error:
        raise _refusal(field, text) from error
    if nth and not all(_NTH.fullmatch(item) for item in text.split(",")):
        raise _refusal(field, text, "nth weekdays and plain ones do not mix")
    values = expanded[field.index]
    ranks = {(int(day), LAST_WEEK if str(rank) == "l" else int(rank)) for day, found in nth.items() for rank in found}
    everything = range(field.lowest, field.highest + 1)
    plain = everything if "*" in values else (value for value in values if isinstance(value, int))
    return _Reading(
        values=frozenset(plain) - {day for day, _ in ranks},
        last="l" in values,
        nth=frozenset(ranks),
    )


def _restated(field: _Field, item: str) -> str:
    """Refuse what croniter reads by chance or wrongly, and write `5-5`, which it would take for `*`, as `5`."""
    if not {*field.names, *field.words}.issuperset(_WORD.findall(item)):
        raise _refusal(field, item)
    match = _RANGE.fullmatch(item)
    if match is None:
        return item
    low, high = (_number(field, bound) for bound in match.group(1, 2))
    if low is None or high is None:
        return item
    if low == high:
        return str(low)
    if low > high and match[3] not in {None, "/1"}:
        raise _refusal(field, item, "a range that wraps around takes no step; list the values")
    return item


def _number(field: _Field, bound: str) -> int | None:
    if bound in field.names:
        return field.lowest + field.names.index(bound)
    return int(bound) if bound.isdigit() else None


def _refusal(field: _Field, text: str, reason: str | None = None) -> InvalidInput:
    because = f" ({reason})" if reason else ""
    return InvalidSchedule.of(
        "schedule", f"{field.name} {text.lower()!r} cannot be read{because}; expected {field.expected}"
    )
