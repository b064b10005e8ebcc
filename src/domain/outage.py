"""Failures in a row: which of them a log tells of, so that it stays readable, and how long they lasted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

REMINDER: Final = 60.0
"""Seconds between two lines about the same failure, at least."""


@dataclass(slots=True)
class Outage:
    """What has failed since it last worked; `now` is a monotonic clock's, in seconds."""

    failures: int = 0
    _since: float = 0.0
    _told_at: dict[str, float] = field(default_factory=dict)

    def fail(self, kind: str, now: float) -> bool:
        """Count a failure, and answer whether to tell of it: of the first of its kind, and then of one each minute."""
        if not self.failures:
            self._since = now
        self.failures += 1
        if kind in self._told_at and now - self._told_at[kind] < REMINDER:
            return False
        self._told_at[kind] = now
        return True

    def lasted(self, now: float) -> float:
        """Tell for how many seconds it has been failing."""
        return round(now - self._since, 1) if self.failures else 0.0

    def end(self, now: float) -> float | None:
        """Forget all of it; answer for how many seconds it lasted, or None if nothing had failed."""
        seconds = self.lasted(now) if self.failures else None
        self.failures = 0
        self._told_at.clear()
        return seconds
