"""Rows that can be read, and those that cannot: a later version may have written them, or somebody by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from ...domain.errors import Conflict
from .transaction import Row

T = TypeVar("T")

_ILLEGIBLE: Final = (ValueError, RecursionError)


def read_if_legible(read: Callable[[Row], T], row: Row) -> T | None:
    """Read a row; None if nobody can."""
    try:
        return read(row)
    except _ILLEGIBLE:
        return None


def legible(read: Callable[[Row], T], rows: Iterable[Row]) -> list[T]:
    """Read rows and pass over those that nobody can read, so that they hold up no other."""
    return [value for row in rows if (value := read_if_legible(read, row)) is not None]


def read_asked_for(read: Callable[[Row], T], row: Row) -> T:
    """
    Read the very row that is asked for.

    Raises:
        Conflict: nobody can read it.
    """
    try:
        return read(row)
    except _ILLEGIBLE as error:
        raise Conflict(f"what is stored as {row['id']} cannot be read ({error})", row["id"]) from error
