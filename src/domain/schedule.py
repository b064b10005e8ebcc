"""When a job fires: a cron, an interval or one instant, and how the first two are written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from .durations import checked, parse_iso, parse_words, spelled
from .errors import InvalidSchedule
from .wall_times import FIRST_YEAR, LAST_YEAR

LONGEST_TEXT = 255

_MACROS = {
    "@HOURLY": "0 0 * * * *",
    "@DAILY": "0 0 0 * * *",
    "@MIDNIGHT": "0 0 0 * * *",
    "@WEEKLY": "0 0 0 * * 0",
    "@MONTHLY": "0 0 0 1 * *",
    "@YEARLY": "0 0 0 1 1 *",
    "@ANNUALLY": "0 0 0 1 1 *",
}
_FIELDS = 6
_EXPECTED = (
    "expected a cron of 5 fields (minute hour day month weekday) or 6 with seconds first, "
    "@hourly and kin, `every 15m`, or an ISO 8601 duration such as PT6H"
)


@dataclass(frozen=True, slots=True)
class Cron:
    """Wall times as six upper-case fields: second, minute, hour, day of month, month, day of week (Sunday is 0, 7)."""

    expression: str

    def __post_init__(self) -> None:
        if len(self.fields) != _FIELDS:
            raise InvalidSchedule.of(
                "schedule", f"a cron has 5 fields, or 6 with seconds first, not {len(self.fields)}"
            )

    @property
    def fields(self) -> tuple[str, ...]:
        """The six fields, seconds first."""
        return tuple(self.expression.split())

    @property
    def follows_real_time(self) -> bool:
        """Whether the minute or hour starts with `*`, which Vixie cron takes to mean steady time, not a time of day."""
        _, minute, hour, _, _, _ = self.fields
        return minute.startswith("*") or hour.startswith("*")

    @property
    def either_day(self) -> bool:
        """Whether a day matches by day of month or by day of week: crontab(5), when neither field starts with `*`."""
        _, _, _, day, _, weekday = self.fields
        return day[0] not in "*?" and weekday[0] not in "*?"

    def __str__(self) -> str:
        return self.expression


@dataclass(frozen=True, slots=True)
class Interval:
    """A steady beat on the line of instants: whole seconds, from one second to 366 days."""

    every: timedelta

    def __post_init__(self) -> None:
        checked(self.every)

    def __str__(self) -> str:
        return f"every {spelled(self.every)}"


@dataclass(frozen=True, slots=True)
class Once:
    """One instant, in UTC whatever offset it came with."""

    at: datetime

    def __post_init__(self) -> None:
        if self.at.utcoffset() is None or not FIRST_YEAR <= self.at.year <= LAST_YEAR:
            expected = f"an instant from {FIRST_YEAR} to {LAST_YEAR} with its offset, such as 2026-03-29T01:00:00Z"
            raise InvalidSchedule.of("execute_at", f"expected {expected}")
        object.__setattr__(self, "at", self.at.astimezone(UTC))

    def __str__(self) -> str:
        return self.at.isoformat().replace("+00:00", "Z")


Schedule: TypeAlias = Cron | Interval | Once


def parse_schedule(text: str) -> Cron | Interval:
    """
    Read a schedule as a job carries it: a cron, a macro, `every ...` or an ISO 8601 duration, in any letter case.

    Whether the fields of a cron make sense, and ever match, is for the Calendar to say.

    Raises:
        InvalidSchedule: on field `schedule`, saying what was expected.

    """
    if not text.strip() or len(text) > LONGEST_TEXT or not text.isascii():
        raise InvalidSchedule.of("schedule", f"1 to {LONGEST_TEXT} ASCII characters; {_EXPECTED}")
    written = " ".join(text.upper().split())
    first, _, rest = written.removeprefix("@").partition(" ")
    if first == "EVERY":
        return Interval(parse_words(rest.lower()))
    if written.startswith("@"):
        return _macro(written)
    if written.startswith("P"):
        return Interval(parse_iso(written))
    return _cron(written)


def _macro(written: str) -> Cron:
    if written == "@REBOOT":
        raise InvalidSchedule.of("schedule", "@reboot names no time; a service has no reboot to wait for")
    expression = _MACROS.get(written)
    if expression is None:
        known = ", ".join(macro.lower() for macro in _MACROS)
        raise InvalidSchedule.of("schedule", f"{written.lower()!r} is not known; expected one of {known}")
    return Cron(expression)


def _cron(written: str) -> Cron:
    match written.count(" ") + 1:
        case 5:
            return Cron(f"0 {written}")
        case 6:
            return Cron(written)
        case 7:
            raise InvalidSchedule.of("schedule", "7 fields: a year field is not taken; give the job an end_date")
        case count:
            raise InvalidSchedule.of("schedule", f"{count} field{'s' if count > 1 else ''}; {_EXPECTED}")
