"""Instants as they cross: microseconds since 1970, for which the driver takes a quarter of what a datetime takes it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def microseconds(instants: Iterable[datetime | None]) -> list[int | None]:
    """Write aware instants as microseconds."""
    return [None if instant is None else (instant - _EPOCH) // _MICROSECOND for instant in instants]
