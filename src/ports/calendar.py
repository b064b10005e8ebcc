"""What a cron means on the calendar, before any zone."""

from __future__ import annotations

from typing import Protocol

from ..domain.schedule import Cron
from ..domain.wall_times import WallTimes

__all__ = ["Calendar", "WallTimes"]


class Calendar(Protocol):
    """Reads crons. Pure and safe to call from any thread; the same cron may give the same object again."""

    def wall_times(self, cron: Cron) -> WallTimes:
        """
        Give the naive wall times that match a cron, whole seconds, strictly increasing.

        Sunday is 0 and 7; names, ranges (also wrapped, such as FRI-MON), steps, `L` (last day of
        the month), `FRI#2` (second Friday) and `L5` (last Friday) are read. When day of month and day
        of week are both restricted, either suffices; a field that starts with `*` does not
        restrict, so `*/2` there must match as well (crontab(5)).

        Raises:
            InvalidSchedule: on field `schedule`, if a field cannot be read, depends on chance
                (`H`, `R`), or the cron never matches, such as 30 February.

        """
