"""
Where a page ended, as text that only the store reads.

A cursor names the sort value and the id of the last item, so that a list goes on right after it whatever
was added meanwhile, and carries a fingerprint of its filter, so that it fits no other. Lists are sorted by
(value, id), both in the direction asked for, with absent values last in either direction.
"""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, TypeAlias
from uuid import UUID

from ..domain.errors import InvalidJob
from ..domain.json import Json, encoded
from .queries import JobFilter, SeekFilter, SortBy

SortValue: TypeAlias = datetime | str | int | None

_LONGEST: Final = 4096
_PAGING: Final = frozenset({"limit", "offset", "cursor"})
_INTEGERS: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The last item of a page: its sort value (an instant in UTC, a name or a number; None if absent), and its id."""

    value: SortValue
    id: UUID


def write_cursor(query: SeekFilter, position: Position) -> str:
    """Word a position in the list that `query` asks for as base64url, without padding."""
    value = position.value
    written = value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
    text = encoded([_fingerprint(query), written, str(position.id)])
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(query: SeekFilter) -> Position | None:
    """
    Read the cursor of a query; None if it has none. The value has the type of what the list is sorted by.

    Raises:
        InvalidJob: on field `cursor`, if it was not written for this filter and order.
    """
    if query.cursor is None:
        return None
    try:
        fingerprint, written, id_ = _decoded(query.cursor)
        position = Position(value=_value(query, written), id=UUID(id_))
    # A cursor is a caller's text: whatever is wrong with it shows as one of these.
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InvalidJob.of("cursor", "is not a cursor of this list") from None
    if fingerprint != _fingerprint(query):
        raise InvalidJob.of("cursor", "comes from a list with another filter or order")
    return position


def _sort_value_type(query: SeekFilter) -> type[datetime | str | int]:
    """Tell the type of the values that the list is sorted by."""
    match query.sort_by if isinstance(query, JobFilter) else None:
        case SortBy.NAME:
            return str
        case SortBy.PRIORITY:
            return int
        case _:
            return datetime


def _decoded(cursor: str) -> tuple[Json, Json, str]:
    if len(cursor) > _LONGEST:
        raise ValueError(cursor[:_LONGEST])
    padded = cursor + "=" * (-len(cursor) % 4)
    fingerprint, written, id_ = json.loads(b64decode(padded, altchars=b"-_", validate=True))
    return fingerprint, written, id_


def _value(query: SeekFilter, written: Json) -> SortValue:
    """Read a sort value, refusing what a database could not compare with."""
    expected = _sort_value_type(query)
    if written is None and isinstance(query, JobFilter) and query.sort_by is SortBy.NEXT_RUN:
        return None
    if expected is int and type(written) is int and written in _INTEGERS:
        return written
    if expected is str and isinstance(written, str) and written.encode():
        return written
    if expected is datetime and isinstance(written, str):
        return datetime.fromisoformat(written).astimezone(UTC)
    raise TypeError(written)


def _fingerprint(query: SeekFilter) -> str:
    """Digest what a query asks for, apart from which page of it."""
    return sha256(encoded([type(query).__name__, *_conditions(query)]).encode("utf-8", "replace")).hexdigest()[:12]


def _conditions(query: SeekFilter) -> Iterator[Json]:
    for name in (field.name for field in fields(query)):
        value = getattr(query, name)
        match value:
            case _ if name in _PAGING:
                continue
            case datetime():
                yield value.astimezone(UTC).isoformat()
            case UUID():
                yield str(value)
            case tuple():
                yield sorted(value)
            case _:
                yield value
