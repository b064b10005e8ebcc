"""Instants as SQLite keeps them: whole microseconds since 1970, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, overload

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@overload
def to_micros(instant: datetime) -> int: ...
@overload
def to_micros(instant: None) -> None: ...
@overload
def to_micros(instant: datetime | None) -> int | None: ...
def to_micros(instant: datetime | None) -> int | None:
    """Write an aware datetime."""
    return None if instant is None else (instant - _EPOCH) // _MICROSECOND


@overload
def from_micros(micros: int) -> datetime: ...
@overload
def from_micros(micros: None) -> None: ...
@overload
def from_micros(micros: int | None) -> datetime | None: ...
def from_micros(micros: int | None) -> datetime | None:
    """Read an instant, as a datetime in UTC."""
    return None if micros is None else _instant(micros)


# Rows that were written together share their instants, and an instant is never changed.
@lru_cache(maxsize=1024)
def _instant(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def span_micros(span: timedelta) -> int:
    """Write a length of time in microseconds."""
    return span // _MICROSECOND
