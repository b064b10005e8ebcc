"""A schedule in plain words, for people who do not read cron."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Final, assert_never

from .durations import spelled
from .schedule import Cron, Interval, Once, Schedule
from .zones import load_zone

MOST_TIMES: Final = 6
"""Times of day that are listed one by one; more are told by their minutes and hours."""

_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = tuple(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_RANKS: Final = ("first", "second", "third", "fourth", "fifth")


def _words(names: Sequence[str], first: int) -> Mapping[str, str]:
    numbers = {str(number): name for number, name in enumerate(names, first)}
    return MappingProxyType(numbers | {name[:3].upper(): name for name in names})


_WEEKDAY_WORDS: Final = _words(_WEEKDAYS, 0)
_MONTH_WORDS: Final = _words(_MONTHS, 1)
_NUMBERS: Final[Mapping[str, str]] = MappingProxyType({})
_ANY: Final = frozenset("*?")
_ITEM: Final = re.compile(r"(\w+|\*)(?:-(\w+))?(?:/(\d+))?")
_NTH: Final = re.compile(r"(\w+)#([1-5])|L([0-7])")


def describe(schedule: Schedule, timezone: str) -> str:
    """
    Say when a schedule fires, such as `at 02:00 every day, Europe/Berlin time`; the zone only where it matters.

    Raises:
        InvalidSchedule: on field `timezone`, if there is no such zone.

    """
    zone = load_zone(timezone)
    match schedule:
        case Cron():
            return _cron(schedule, timezone)
        case Interval(every=every):
            return f"every {spelled(every)}"
        case Once(at=at):
            return f"once at {at.astimezone(zone):%H:%M:%S on %Y-%m-%d}, {_by_clock_of(timezone)}"
        case _:
            assert_never(schedule)


def _by_clock_of(timezone: str) -> str:
    return timezone if timezone == "UTC" else f"{timezone} time"


def _cron(cron: Cron, timezone: str) -> str:
    second, minute, hour, day, month, weekday = cron.fields
    time = _listed_times(second, minute, hour) or _pattern(second, minute, hour)
    days = _days(day, weekday, either=cron.either_day) or ("" if "every" in time else "every day")
    months = "" if month in _ANY else f"in {_items(month, 'month', _MONTH_WORDS)}"
    words = " ".join(part for part in (time, days, months) if part)
    return words if _ANY.issuperset((hour, day, month, weekday)) else f"{words}, {_by_clock_of(timezone)}"


def _listed_times(second: str, minute: str, hour: str) -> str:
    """List the times of day, if they are few and written as numbers."""
    lists = [field.split(",") for field in (hour, minute, second)]
    if prod(map(len, lists)) > MOST_TIMES or not all(item.isdigit() for items in lists for item in items):
        return ""
    times = sorted(product(*(map(int, items) for items in lists)))
    return "at " + _and([f"{h:02}:{m:02}:{s:02}" if s else f"{h:02}:{m:02}" for h, m, s in times])


def _pattern(second: str, minute: str, hour: str) -> str:
    """Tell the times of day field by field, the finest first."""
    if second == minute == "0" and (beat := _beat(hour, "hour", 24)):
        return beat
    seconds = "" if second == "0" else _beat(second, "second", 60) or f"at {_numbered('second', second)}"
    minutes = _beat(minute, "minute", 60) or f"at {_numbered('minute', minute)}"
    # "every second" says "every minute" already.
    minutes = "" if seconds.startswith("every") and minute == "*" else minutes
    hours = _hours(hour, steady=bool(_beat(minute, "minute", 60)))
    return " ".join(part for part in (seconds, minutes, hours) if part)


def _hours(hour: str, *, steady: bool) -> str:
    if hour == "*":
        return "" if steady else "past every hour"
    return f"{'in' if steady else 'past'} {_numbered('hour', hour)}"


def _beat(field: str, unit: str, span: int) -> str:
    """Say `every 15 minutes`, if the steps of a field do come evenly across its span."""
    if field == "*":
        return f"every {unit}"
    step = field.removeprefix("*/")
    if not step.isdigit() or step == field or not int(step) or span % int(step):
        return ""
    return f"every {unit}" if int(step) == 1 else f"every {int(step)} {unit}s"


def _days(day: str, weekday: str, *, either: bool) -> str:
    by_date = "" if day in _ANY else f"on {_dates(day)}"
    by_week = "" if weekday in _ANY else f"on {_weekdays(weekday)}"
    return f" {'or' if either else 'and'} ".join(part for part in (by_date, by_week) if part)


def _dates(day: str) -> str:
    if day == "L":
        return "the last day of the month"
    return f"{_numbered('day', day.replace('L', 'last'))} of the month"


def _weekdays(weekday: str) -> str:
    nths = [_NTH.fullmatch(item) for item in weekday.split(",")]
    if any(nth is None for nth in nths):
        return _items(weekday, "weekday", _WEEKDAY_WORDS)
    ranked = [
        f"the {_RANKS[int(nth[2]) - 1]} {_WEEKDAY_WORDS.get(nth[1], nth[1])}"
        if nth[2]
        else f"the last {_WEEKDAYS[int(nth[3])]}"
        for nth in nths
        if nth
    ]
    return f"{_and(ranked)} of the month"


def _numbered(unit: str, field: str) -> str:
    """Say `minute 5`, `hours 9 to 17` or `every 2nd hour`."""
    items = _items(field, unit, _NUMBERS)
    return items if items.startswith("every") else f"{unit if field.isdigit() else unit + 's'} {items}"


def _items(field: str, unit: str, names: Mapping[str, str]) -> str:
    return _and([_item(item, unit, names) for item in field.split(",")])


def _item(item: str, unit: str, names: Mapping[str, str]) -> str:
    match = _ITEM.fullmatch(item)
    if match is None:
        return item
    low, high, step = match.groups()
    span = names.get(low, low) + (f" to {names.get(high, high)}" if high else "")
    if step is None:
        return span
    return f"every {_ordinal(step)} {unit}" + ("" if low == "*" else f" from {span}")


def _ordinal(number: str) -> str:
    teen = number[-2:] in {"11", "12", "13"}
    return number + ("th" if teen else {"1": "st", "2": "nd", "3": "rd"}.get(number[-1:], "th"))


def _and(items: Sequence[str]) -> str:
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last
