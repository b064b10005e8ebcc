"""Fixed lengths of time as people write them: `every 1h30m`, `every 6 hours`, ISO 8601 `PT6H`."""

from __future__ import annotations

import re
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from .errors import InvalidSchedule

SHORTEST: Final = timedelta(seconds=1)
LONGEST: Final = timedelta(days=366)

_SECONDS: Final = MappingProxyType({"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1})
_UNITS: Final = MappingProxyType(
    {
        word: unit
        for unit, words in {
            "week": ("w", "week", "weeks"),
            "day": ("d", "day", "days"),
            "hour": ("h", "hr", "hrs", "hour", "hours"),
            "minute": ("m", "min", "mins", "minute", "minutes"),
            "second": ("s", "sec", "secs", "second", "seconds"),
        }.items()
        for word in words
    },
)
_EXPECTED: Final = "expected a length such as `every 15m`, `every 6 hours`, `every 1h30m`, `PT6H` or `P1D`"
_BOUNDS: Final = "an interval is whole seconds, from 1 second to 366 days"

_PART: Final = re.compile(r"(\d{1,9}) ?([a-z]+) ?")
_ISO: Final = re.compile(
    r"P(?:(?P<week>\d{1,9})W)?(?:(?P<day>\d{1,9})D)?"
    r"(?:T(?=\d)(?:(?P<hour>\d{1,9})H)?(?:(?P<minute>\d{1,9})M)?(?:(?P<second>\d{1,9})S)?)?"
)


def parse_words(text: str) -> timedelta:
    """Read lower-case counts and units, such as `1h30m` or `6 hours`, each unit once; `day` alone is one day."""
    if text in _UNITS:
        return _total({_UNITS[text]: 1})
    counts: dict[str, int] = {}
    position = 0
    while part := _PART.match(text, position):
        unit = _UNITS.get(part[2])
        if unit is None or unit in counts:
            break
        counts[unit] = int(part[1])
        position = part.end()
    if position < len(text) or not counts:
        raise InvalidSchedule.of("schedule", f"{text!r} is not a length of time; {_EXPECTED}")
    return _total(counts)


def parse_iso(text: str) -> timedelta:
    """Read an upper-case ISO 8601 duration of weeks, days, hours, minutes and whole seconds."""
    match = _ISO.fullmatch(text)
    if match is None or not any(match.groups()):
        hint = "years and months have no fixed length, and fractions are not taken"
        raise InvalidSchedule.of("schedule", f"{text!r} is not a length of time ({hint}); {_EXPECTED}")
    return _total({unit: int(count) for unit, count in match.groupdict().items() if count})


def checked(every: timedelta) -> timedelta:
    """Give the length back if it is whole seconds within `SHORTEST` and `LONGEST`."""
    if not SHORTEST <= every <= LONGEST or every.microseconds:
        raise InvalidSchedule.of("schedule", _BOUNDS)
    return every


def spelled(every: timedelta) -> str:
    """Say a length in its largest whole units, such as `1 hour 30 minutes`, or `day` for exactly one."""
    rest = int(every.total_seconds())
    counts: list[tuple[int, str]] = []
    for unit, seconds in _SECONDS.items():
        # A fortnight is clear as weeks, ten days are not "1 week 3 days".
        if unit == "week" and rest % seconds:
            continue
        count, rest = divmod(rest, seconds)
        if count:
            counts.append((count, unit))
    if len(counts) == 1 and counts[0][0] == 1:
        return counts[0][1]
    return " ".join(f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in counts)


def _total(counts: dict[str, int]) -> timedelta:
    seconds = sum(count * _SECONDS[unit] for unit, count in counts.items())
    if seconds > LONGEST.total_seconds():
        raise InvalidSchedule.of("schedule", _BOUNDS)
    return checked(timedelta(seconds=seconds))
