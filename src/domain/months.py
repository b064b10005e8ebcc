"""Months as a zone's wall clock has them: which instants belong to which day, and what is counted by the day."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from .errors import InvalidInput
from .execution import ExecutionStatus
from .wall_times import FIRST_YEAR, LAST_YEAR
from .zones import instant_of

_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A date, and the instants from `start` up to, not including, `end` that bear it; no zone need have had it."""

    date: date
    start: datetime
    end: datetime


@dataclass(slots=True)
class DayTally:
    """A job's nominal times by day and status, as a store adds them up; it looked at a `share` of the ledger."""

    days: Sequence[Day]
    share: float = 1
    _counts: Counter[tuple[int, ExecutionStatus]] = field(default_factory=Counter)

    def add(self, place: int, status: ExecutionStatus, nominal_times: int) -> None:
        """Count nominal times of the day at a place."""
        self._counts[place, status] += nominal_times

    @property
    def outcomes(self) -> list[dict[ExecutionStatus, int]]:
        """The counts of each day, in order; of a sample, what it lets expect of all."""
        outcomes: list[dict[ExecutionStatus, int]] = [{} for _ in self.days]
        for (place, status), count in self._counts.items():
            outcomes[place][status] = round(count / self.share)
        return outcomes


def days_of(month: str, zone: ZoneInfo) -> list[Day]:
    """
    List the days of a month written as 2026-11, in order.

    Raises:
        InvalidInput: on field `month`, if it is none, or lies outside the years that schedules know.
    """
    match = _MONTH.fullmatch(month)
    if match is None or not FIRST_YEAR <= int(match[1]) < LAST_YEAR:
        raise InvalidInput.of("month", f"must be a month from {FIRST_YEAR} to {LAST_YEAR - 1}, such as 2026-11")
    first = date(int(match[1]), int(match[2]), 1)
    dates = [day for n in range(31) if (day := first + n * _DAY).month == first.month]
    starts = [instant_of(datetime.combine(day, time()), zone) for day in (*dates, dates[-1] + _DAY)]
    return [Day(date=day, start=start, end=end) for day, start, end in zip(dates, starts, starts[1:], strict=False)]


def month_of(instant: datetime, zone: ZoneInfo) -> str:
    """Write the month that an instant falls in there."""
    return f"{instant.astimezone(zone):%Y-%m}"
