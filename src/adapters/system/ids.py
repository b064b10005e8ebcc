"""Ids that sort by the time they were made."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final
from uuid import UUID

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_COUNTER_BITS: Final = 74
_STEP_BITS: Final = 32
_LOW_BITS: Final = 62
_VERSION: Final = 7
_VARIANT: Final = 0b10


class Uuid7Sequence:
    """
    Makes UUIDv7s for instants, each larger than the one before it, also when the clock stands or goes back.

    The 74 bits beside the time are a counter that starts anywhere in its lower half and takes random
    steps (RFC 9562, section 6.2, method 2): ids of several processes do not meet. Safe from any thread.
    """

    def __init__(self, random_bits: Callable[[int], int] = secrets.randbits) -> None:
        self._random_bits = random_bits
        self._lock = Lock()
        self._milliseconds = -1
        self._counter = 0

    def __call__(self, instant: datetime) -> UUID:
        """Make the next id; its time is that of `instant`, or of the previous id if that is later."""
        with self._lock:
            self._step((instant - _EPOCH) // _MILLISECOND)
            return _uuid(self._milliseconds, self._counter)

    def _step(self, milliseconds: int) -> None:
        counter = self._counter + 1 + self._random_bits(_STEP_BITS)
        if milliseconds <= self._milliseconds and counter < 1 << _COUNTER_BITS:
            self._counter = counter
            return
        # A counter that ran over borrows the next millisecond, as the RFC allows.
        self._milliseconds = max(milliseconds, self._milliseconds + 1)
        self._counter = self._random_bits(_COUNTER_BITS - 1)


def _uuid(milliseconds: int, counter: int) -> UUID:
    """Lay out time, version, 12 bits, variant, 62 bits (RFC 9562, section 5.7)."""
    high, low = divmod(counter, 1 << _LOW_BITS)
    return UUID(int=milliseconds << 80 | _VERSION << 76 | high << 64 | _VARIANT << _LOW_BITS | low)
