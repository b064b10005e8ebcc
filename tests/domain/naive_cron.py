"""A second reading of cron, as slow and plain as can be, to hold the real one against: no croniter, no tables."""

from __future__ import annotations

from datetime import datetime

LOWEST = (0, 0, 0, 1, 1, 0)
HIGHEST = (59, 59, 23, 31, 12, 7)


class NaiveCron:
    """Six fields of numbers, stars, ranges, steps and lists, matched by the words of crontab(5)."""

    def __init__(self, text: str) -> None:
        fields = text.split() if len(text.split()) == 6 else ["0", *text.split()]
        self.values = [_values(*column) for column in zip(fields, LOWEST, HIGHEST, strict=True)]
        self.stars = [field.startswith("*") for field in fields]

    @property
    def is_steady(self) -> bool:
        return self.stars[1] or self.stars[2]

    def matches(self, wall: datetime) -> bool:
        seconds, minutes, hours, days, months, weekdays = self.values
        if (
            wall.second not in seconds
            or wall.minute not in minutes
            or wall.hour not in hours
            or wall.month not in months
        ):
            return False
        by_date = wall.day in days
        by_week = wall.isoweekday() in weekdays or wall.isoweekday() % 7 in weekdays
        if self.stars[3] or self.stars[5]:
            return by_date and by_week
        return by_date or by_week


def _values(field: str, lowest: int, highest: int) -> set[int]:
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            low, high = lowest, highest
        elif "-" in span:
            low, high = (int(bound) for bound in span.split("-"))
        else:
            low, high = int(span), highest if step else int(span)
        found.update(range(low, high + 1, int(step or 1)))
    return found
