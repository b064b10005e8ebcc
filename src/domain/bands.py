"""Priority bands: how urgent work overtakes the rest without starving it."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import Final


class Band(IntEnum):
    """A class of urgency, at the priority that its name stands for."""

    LOW = 25
    MEDIUM = 50
    HIGH = 75
    CRITICAL = 100


URGENT_FIRST: Final = (Band.CRITICAL, Band.HIGH, Band.MEDIUM, Band.LOW)

# The ruler sequence: each band comes half as often as the one above it, as evenly spread as can be.
TURNS: Final = tuple(URGENT_FIRST[(turn & -turn).bit_length() - 1] for turn in range(1, 1 << len(URGENT_FIRST)))
"""Whose turn it is, over and over, while every band has work waiting: 8 critical, 4 high, 2 medium, 1 low."""


def band_of(priority: int) -> Band:
    """Find the band whose priority is nearest: low up to 37, medium up to 62, high up to 87, then critical."""
    return min(Band, key=lambda band: abs(band - priority))


def shares(turn: int, limit: int) -> Counter[Band]:
    """Count whose turn the next `limit` ones are, `turn` having been had; what a band cannot use others may."""
    return Counter(TURNS[(turn + number) % len(TURNS)] for number in range(limit))
