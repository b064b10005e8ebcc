"""The clock of the machine, and one that only moves when told to."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class SystemClock:
    """The wall clock and the monotonic clock of the operating system."""

    def now(self) -> datetime:
        """Read the wall clock, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Read the seconds since some fixed point; suspending the machine may stop them."""
        return time.monotonic()


class ManualClock:
    """
    Time by hand, for tests of code that schedules: it stands still until it is moved.

    Instants are aware datetimes, or ISO 8601 text with an offset.
    """

    def __init__(self, start: datetime | str = _START) -> None:
        self._now = _instant(start)
        self._monotonic = 0.0

    def now(self) -> datetime:
        """Read the wall clock, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Read the seconds that have passed since the clock was made, however its wall clock jumped."""
        return self._monotonic

    def advance(self, by: timedelta | float) -> None:
        """
        Let time pass on both clocks; a number is in seconds.

        Raises:
            ValueError: time does not pass backwards; `jump_wall` sets a wall clock back.
        """
        passed = by if isinstance(by, timedelta) else timedelta(seconds=by)
        if passed < timedelta():
            raise ValueError(f"time cannot pass backwards by {-passed}; jump_wall sets the wall clock back")
        self._now += passed
        self._monotonic += passed.total_seconds()

    def move_to(self, instant: datetime | str) -> None:
        """
        Let time pass on both clocks until `instant`.

        Raises:
            ValueError: the instant lies in the past.
        """
        self.advance(_instant(instant) - self._now)

    def jump_wall(self, by: timedelta | float) -> None:
        """Set the wall clock forward or back, as an operator or NTP would; no time passes. A number is in seconds."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)


def _instant(given: datetime | str) -> datetime:
    instant = datetime.fromisoformat(given) if isinstance(given, str) else given
    if instant.utcoffset() is None:
        raise ValueError(f"{instant.isoformat()} names no instant: it has no UTC offset")
    return instant.astimezone(UTC)
