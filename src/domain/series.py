"""Executions counted over time, in buckets of equal width."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from .execution import ExecutionStatus

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NAMES: Final = MappingProxyType(
    {
        ExecutionStatus.SUCCESS: "completed",
        ExecutionStatus.FAILED: "failed",
        ExecutionStatus.TIMEOUT: "timeout",
        ExecutionStatus.SKIPPED: "skipped",
        ExecutionStatus.CANCELLED: "cancelled",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """`count` stretches of time, each `width` long, the first from the instant `first` on."""

    first: datetime
    width: timedelta
    count: int

    @classmethod
    def until(cls, now: datetime, *, width: timedelta, count: int) -> Buckets:
        """Give the last ones up to the one that an instant lies in; all begin at whole multiples of their width."""
        last = _EPOCH + (now - _EPOCH) // width * width
        return cls(first=last - (count - 1) * width, width=width, count=count)

    @property
    def since(self) -> datetime:
        """From when on what was made may count: what ran longer than a bucket before the first is left out."""
        return self.first - self.width

    def place(self, at: datetime | None) -> int | None:
        """Tell in which of them an instant lies; None if in none."""
        place = -1 if at is None else (at - self.first) // self.width
        return place if 0 <= place < self.count else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """
    What began and what ended in a bucket that begins at `at`, counted in executions, skips in nominal times.

    Lateness is that of the schedule's fires that first began in it, in ms by nearest rank; None without any.
    """

    at: datetime
    started: int = 0
    completed: int = 0
    failed: int = 0
    timeout: int = 0
    skipped: int = 0
    cancelled: int = 0
    lateness_p50_ms: int | None = None
    lateness_p99_ms: int | None = None


@dataclass(slots=True)
class Tally:
    """Counts by bucket, as a store adds them up; whatever lies in no bucket, or is no end, is passed over."""

    buckets: Buckets
    share: float = 1
    _counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    _lateness: dict[int, tuple[int, int]] = field(default_factory=dict)

    def started(self, place: int | None, executions: int) -> None:
        """Count executions that began in a bucket."""
        if place is not None:
            self._counts[place, "started"] += executions

    def ended(self, place: int | None, status: ExecutionStatus, nominal_times: int) -> None:
        """Count nominal times whose executions ended in a bucket."""
        if place is not None and status in _NAMES:
            self._counts[place, _NAMES[status]] += nominal_times

    def late(self, place: int | None, p50_ms: int, p99_ms: int) -> None:
        """Take down how late the fires of a bucket began."""
        if place is not None:
            self._lateness[place] = p50_ms, p99_ms

    @property
    def points(self) -> list[SeriesPoint]:
        """One point for each bucket, in order; of a sample, what it lets expect of all."""
        return [self._point(place) for place in range(self.buckets.count)]

    def _point(self, place: int) -> SeriesPoint:
        counts = {name: round(self._counts[place, name] / self.share) for name in ("started", *_NAMES.values())}
        p50, p99 = self._lateness.get(place, (None, None))
        at = self.buckets.first + place * self.buckets.width
        return SeriesPoint(at=at, lateness_p50_ms=p50, lateness_p99_ms=p99, **counts)
