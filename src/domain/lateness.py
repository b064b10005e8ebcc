"""How late work began, and which values stand for many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from .execution import Origin

_MILLISECOND: Final = timedelta(milliseconds=1)


def lateness_ms(origin: Origin, scheduled_at: datetime, first_start: datetime | None) -> int | None:
    """Tell in ms how long after its nominal time a fire of the schedule first began; None for all else."""
    if origin is not Origin.SCHEDULE or first_start is None:
        return None
    return (first_start - scheduled_at) // _MILLISECOND


def percentile(ascending: Sequence[int], percent: float) -> int | None:
    """Pick by nearest rank: the smallest value that at least `percent` of all do not exceed (Hyndman-Fan type 1)."""
    if not ascending:
        return None
    rank = max(1, math.ceil(percent * len(ascending) / 100))
    return ascending[rank - 1]
