"""Time as the node sees it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """
    Two clocks: one to name instants by, one to measure with.

    Embedded stores take their `now` from here too, because no database server has a better one.
    """

    def now(self) -> datetime:
        """Read the wall clock: an aware UTC datetime, which may jump either way."""

    def monotonic(self) -> float:
        """Read seconds since some fixed point; never goes back."""
