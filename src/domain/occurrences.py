"""The nominal times of a schedule, one after another, on the line of instants."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final, Protocol, assert_never
from zoneinfo import ZoneInfo

from .schedule import Cron, Interval, Once, Schedule
from .wall_times import FIRST_YEAR, LAST_YEAR, WallTimes
from .zones import Seam, changes_between, instant_of, seam_at

EARLIEST: Final = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(LAST_YEAR, 12, 31, tzinfo=UTC)

_SECOND: Final = timedelta(seconds=1)
_RECALLED: Final = 16
"""Answers that are kept of a cron: those of the instants that its jobs are asked for at present."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One nominal time, aware UTC; the note says in words what a clock change did to it."""

    at: datetime
    note: str | None = None


class OccurrenceSource(Protocol):
    """The nominal times of one schedule within 1970 to 2199, strictly increasing."""

    def after(self, instant: datetime) -> Occurrence | None:
        """Give the first nominal time strictly later than an aware instant, or None when there is no more."""

    def count(self, after: datetime, until: datetime) -> int:
        """Count the nominal times later than `after` and not later than `until`, without walking through them all."""


def occurrences(
    schedule: Schedule, *, anchor: datetime, zone: ZoneInfo, walls: Callable[[Cron], WallTimes]
) -> OccurrenceSource:
    """
    Turn a schedule into its nominal times.

    `anchor` is what intervals count from, `zone` and `walls` (a Calendar's `wall_times`) are what crons need.

    Raises:
        InvalidSchedule: the cron cannot be read, or never matches.

    """
    match schedule:
        case Cron(follows_real_time=True):
            return RecalledOccurrences(RealTimeOccurrences(walls(schedule), zone))
        case Cron():
            return RecalledOccurrences(FixedTimeOccurrences(walls(schedule), zone))
        case Interval(every=every):
            return IntervalOccurrences(anchor, every)
        case Once(at=at):
            return OnceOccurrences(at)
        case _:
            assert_never(schedule)


def nth_after(source: OccurrenceSource, after: datetime, number: int, until: datetime) -> datetime:
    """
    Seek the nominal time that is the `number`-th (1 or more) later than `after`; there are as many up to `until`.

    A bisection over counts, so that years are passed over as fast as minutes.
    """
    seconds = range(ceil((until - after) / _SECOND) + 1)
    first = bisect_left(seconds, number, key=lambda second: source.count(after, after + second * _SECOND))
    found = source.after(max(after, after + (first - 1) * _SECOND))
    if found is None:
        raise ValueError(f"there are fewer than {number} nominal times between {after} and {until}")
    return found.at


class FixedTimeOccurrences:
    """
    A cron that names times of day: each wall time stands for one instant, whatever the clocks do.

    In a gap that is the first instant after it, in an overlap the first of the two. Wall times
    that meet on one instant are one nominal time.
    """

    def __init__(self, walls: WallTimes, zone: ZoneInfo) -> None:
        self._walls = walls
        self._zone = zone

    def after(self, instant: datetime) -> Occurrence | None:
        """Give the first nominal time strictly later than the instant."""
        if instant >= LATEST:
            return None
        found = self._walls.after(self.wall_before(max(instant, EARLIEST)))
        return None if found is None else self._occurrence(found)

    def count(self, after: datetime, until: datetime) -> int:
        """Count the nominal times later than `after` and not later than `until`."""
        return _counted(self, self._walls, self._zone, (after, until))

    def wall_before(self, instant: datetime) -> datetime:
        """Give the wall time after which every match is later than the instant."""
        local = instant.astimezone(self._zone)
        wall = datetime.combine(local.date(), local.time())
        repeated = seam_at(wall, self._zone) if local.fold else None
        # Every wall time of an overlap had its instant in the first pass.
        return repeated.end - _SECOND if repeated else wall

    def across(self, change: datetime, shift: timedelta) -> tuple[int, datetime]:
        """Count all wall times of a gap as one, at its end; an overlap was counted in its first pass."""
        wall = _wall(change, self._zone)
        if shift < timedelta():
            return 0, wall - shift - _SECOND
        return min(1, self._walls.count(wall - shift - _SECOND, wall)), wall

    def _occurrence(self, wall: datetime) -> Occurrence:
        seam = seam_at(wall, self._zone)
        if seam is None:
            return Occurrence(at=instant_of(wall, self._zone))
        if not seam.is_gap:
            note = f"{_clock(wall)} comes twice on {wall:%Y-%m-%d} in {self._zone}; runs at the first"
            return Occurrence(at=instant_of(wall, self._zone), note=note)
        return Occurrence(at=instant_of(seam.end, self._zone), note=self._shifted(wall, seam))

    def _shifted(self, wall: datetime, gap: Seam) -> str:
        day = "" if gap.end.date() == wall.date() else f"{gap.end:%Y-%m-%d} "
        following = self._walls.after(wall)
        others = following is not None and following <= gap.end
        return (
            f"{_clock(wall)} does not exist on {wall:%Y-%m-%d} in {self._zone}; "
            f"runs at {day}{_clock(gap.end)}{', as one with the times up to then' if others else ''}"
        )


class RealTimeOccurrences:
    """
    A cron whose minute or hour starts with `*`: it keeps pace with real time, as Vixie cron has it.

    The wall times of a gap never come, those of an overlap come in both passes.
    """

    def __init__(self, walls: WallTimes, zone: ZoneInfo) -> None:
        self._walls = walls
        self._zone = zone

    def after(self, instant: datetime) -> Occurrence | None:
        """Give the first nominal time strictly later than the instant."""
        if instant >= LATEST:
            return None
        local = max(instant, EARLIEST).astimezone(self._zone)
        wall = datetime.combine(local.date(), local.time())
        found, fold = self._existing_after(wall), local.fold
        overlap = seam_at(wall, self._zone)
        if overlap and fold == 0 and (found is None or found >= overlap.end):
            found, fold = self._existing_after(overlap.start - _SECOND), 1
        if found is None:
            return None
        same_pass = overlap is not None and found < overlap.end
        return self._occurrence(found.replace(fold=fold) if same_pass else found)

    def count(self, after: datetime, until: datetime) -> int:
        """Count the nominal times later than `after` and not later than `until`."""
        return _counted(self, self._walls, self._zone, (after, until))

    def wall_before(self, instant: datetime) -> datetime:
        """Give the wall time after which every match is later than the instant."""
        return _wall(instant, self._zone)

    def across(self, change: datetime, shift: timedelta) -> tuple[int, datetime]:  # noqa: ARG002 - the other kind's
        """Go on at the wall time that the change leads to, whether it was skipped to or comes again."""
        return 0, _wall(change, self._zone) - _SECOND

    def _existing_after(self, wall: datetime) -> datetime | None:
        found = self._walls.after(wall)
        while found is not None and (seam := seam_at(found, self._zone)) is not None and seam.is_gap:
            found = self._walls.after(seam.end - _SECOND)
        return found

    def _occurrence(self, wall: datetime) -> Occurrence:
        if seam_at(wall, self._zone) is None:
            return Occurrence(at=instant_of(wall, self._zone))
        which = "second" if wall.fold else "first"
        note = f"{_clock(wall)} comes twice on {wall:%Y-%m-%d} in {self._zone}; this is the {which}"
        return Occurrence(at=instant_of(wall, self._zone), note=note)


class RecalledOccurrences:
    """The nominal times of another source, which asks it once for what many jobs want to know in the same second."""

    def __init__(self, source: OccurrenceSource) -> None:
        self._source = source
        self._recalled: dict[datetime, Occurrence | None] = {}

    def after(self, instant: datetime) -> Occurrence | None:
        """Give the first nominal time strictly later than the instant."""
        recalled = self._recalled
        if instant in recalled:
            return recalled[instant]
        if len(recalled) >= _RECALLED:
            # Another thread may be reading the old ones.
            self._recalled = recalled = {}
        found = recalled[instant] = self._source.after(instant)
        return found

    def count(self, after: datetime, until: datetime) -> int:
        """Count the nominal times later than `after` and not later than `until`."""
        return self._source.count(after, until)


class IntervalOccurrences:
    """The anchor and every whole number of steps after it, so that nothing drifts."""

    def __init__(self, anchor: datetime, every: timedelta) -> None:
        self._anchor = anchor.astimezone(UTC)
        self._every = every

    def after(self, instant: datetime) -> Occurrence | None:
        """Give the first nominal time strictly later than the instant."""
        if instant >= LATEST:
            return None
        return Occurrence(at=self._anchor + self._steps(instant) * self._every)

    def count(self, after: datetime, until: datetime) -> int:
        """Count the nominal times later than `after` and not later than `until`."""
        return max(0, self._steps(min(until, LATEST)) - self._steps(after))

    def _steps(self, instant: datetime) -> int:
        """Count the nominal times that are not later than an instant."""
        return max((instant - self._anchor) // self._every + 1, 0)


class OnceOccurrences:
    """A single instant."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def after(self, instant: datetime) -> Occurrence | None:
        """Give the instant while it is still to come."""
        return Occurrence(at=self._at) if self._at > instant else None

    def count(self, after: datetime, until: datetime) -> int:
        """Count the instant if it is later than `after` and not later than `until`."""
        return int(after < self._at <= until)


class _Cron(Protocol):
    """What counting needs to know of a cron: from which wall time on, and what a change of the offset does to it."""

    def wall_before(self, instant: datetime) -> datetime:
        """Give the wall time after which every match is later than the instant."""

    def across(self, change: datetime, shift: timedelta) -> tuple[int, datetime]:
        """Count the nominal times of the instant of a change, and give the wall time after which it goes on."""


def _counted(cron: _Cron, walls: WallTimes, zone: ZoneInfo, span: tuple[datetime, datetime]) -> int:
    """Count by wall times from one change of the zone's offset to the next."""
    after, until = max(span[0], EARLIEST), min(span[1], LATEST)
    total, wall = 0, cron.wall_before(after)
    for change, shift in changes_between(zone, after, until):
        at_change, wall_after = cron.across(change, shift)
        total += walls.count(wall, _wall(change - _SECOND, zone)) + at_change
        wall = wall_after
    return total + walls.count(wall, _wall(until, zone))


def _wall(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _clock(wall: datetime) -> str:
    return f"{wall:%H:%M:%S}" if wall.second else f"{wall:%H:%M}"
