"""When jobs are due: the patterns that a fleet is played through with."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from .queues import Times

MINUTE = 60.0
LEAD = 1.0
"""Seconds before the first instant, so that fleets have their look ahead at it."""


class Pattern(StrEnum):
    """How the fires of a rate lie in time."""

    UNIFORM = "uniform"
    MINUTE = "on the minute"
    AT_ONCE = "in one second"


def instants(pattern: Pattern, *, jobs: int, every: float, seconds: float) -> Times:
    """
    Tell when `jobs` that fire once in `every` seconds each are due within `seconds`.

    Uniform is the same distance from one to the next; on the minute, all of a minute at its first instant; in one
    second, all jobs, once, at one instant.
    """
    rate = jobs / every
    match pattern:
        case Pattern.UNIFORM:
            return LEAD + np.arange(int(rate * seconds)) / rate
        case Pattern.MINUTE:
            return LEAD + np.repeat(np.arange(0.0, seconds, MINUTE), int(rate * MINUTE))
        case Pattern.AT_ONCE:
            return np.full(jobs, LEAD)
