"""What callers look for, brought within what the server can compare with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, overload

from ...domain.json import clean_text

LARGEST: Final = 2**63 - 1
"""The largest integer that the server knows."""

EVER: Final = datetime.min.replace(tzinfo=UTC)
"""Before every instant that is stored."""

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def any_of(values: Sequence[str]) -> list[str] | None:
    """Give values of which one must match; None, which asks for nothing, if there are none."""
    return [text(value) for value in values] or None


@overload
def text(value: str) -> str: ...
@overload
def text(value: None) -> None: ...
def text(value: str | None) -> str | None:
    """Replace the characters that the server refuses, as they were replaced in everything that is stored."""
    return None if value is None else clean_text(value)


@overload
def instant(value: datetime) -> datetime: ...
@overload
def instant(value: None) -> None: ...
def instant(value: datetime | None) -> datetime | None:
    """Write an instant in UTC; one that lies beyond the calendar there, by its offset, as the calendar's end."""
    if value is None:
        return None
    try:
        return value.astimezone(UTC)
    except OverflowError:
        return EVER if value.year == EVER.year else _NEVER


def number(value: int) -> int:
    """Bound an integer to what the server knows."""
    return max(min(value, LARGEST), -LARGEST)
