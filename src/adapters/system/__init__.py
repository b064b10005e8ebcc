"""What the operating system gives, its clock and its randomness, and a clock that a test sets by hand."""

from __future__ import annotations

from .clocks import ManualClock, SystemClock
from .ids import Uuid7Sequence

__all__ = ["ManualClock", "SystemClock", "Uuid7Sequence"]
