"""Rows that somebody else wrote, maybe another version: what nobody here can read hinders nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar
from uuid import UUID

from ...domain.errors import Conflict
from .transaction import Row

T = TypeVar("T")

# Such a row may lack anything and hold anything: each of these says that it does.
UNREADABLE: Final = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


def readable(rows: Iterable[Row], read: Callable[[Row], T]) -> Iterator[tuple[Row, T]]:
    """Read rows, each beside what it says, and pass over those that cannot be read."""
    for row in rows:
        try:
            found = read(row)
        except UNREADABLE:
            continue
        yield row, found


def read_asked_for(row: Row, read: Callable[[Row], T]) -> T:
    """
    Read the very row that is asked for.

    Raises:
        Conflict: it cannot be read; `existing_id` names it.
    """
    try:
        return read(row)
    except UNREADABLE as error:
        raise Conflict(f"what is stored as {row['id']} cannot be read ({error})", UUID(row["id"])) from error
