"""Pages of a list that was sorted here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from uuid import UUID

from ...ports.cursors import Position, read_cursor, write_cursor
from ...ports.queries import SeekFilter
from ...ports.stores import Page

T = TypeVar("T")


def page(matching: Iterable[T], query: SeekFilter, place: Callable[[T], Position], *, descending: bool) -> Page[T]:
    """
    Sort what matches and cut out the page that the query asks for.

    Raises:
        InvalidJob: on field `cursor`, if it is not one of this list.
    """
    start = read_cursor(query)

    def rank(item: T) -> tuple[bool, Any, UUID]:
        return _rank(place(item), descending=descending)

    items = sorted(matching, key=rank, reverse=descending)
    rest = items[query.offset or 0 :]
    if start is not None:
        limit = _rank(start, descending=descending)
        rest = [item for item in items if (rank(item) < limit if descending else rank(item) > limit)]
    shown = rest[: query.limit]
    return Page(
        items=shown,
        total=len(items),
        limit=query.limit,
        offset=query.offset,
        next_cursor=write_cursor(query, place(shown[-1])) if len(rest) > len(shown) else None,
    )


def _rank(position: Position, *, descending: bool) -> tuple[bool, Any, UUID]:
    """Make a position comparable; absent values come last whichever way the list goes."""
    is_absent = position.value is None
    return is_absent is not descending, position.value or 0, position.id
