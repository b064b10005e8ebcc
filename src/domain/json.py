"""JSON as a value, and how any Python value becomes storable JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from enum import Enum
from typing import Any, Final, TypeAlias, cast
from uuid import UUID

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

RESULT_LIMIT = 256 * 1024
ERROR_LIMIT = 16 * 1024
PAYLOAD_LIMIT = 256 * 1024
EVENT_LIMIT = 1024 * 1024
NESTING_LIMIT = 100
"""Levels of lists and objects; readers and databases give up not far above it, each at another depth."""

SMALL_BYTES: Final = 8 * 1024
_SMALL_ITEMS: Final = 8
_SMALL_TEXT: Final = 64
_SMALL_INTEGER: Final = 2**53
_INTEGER_BITS: Final = 1024
_REFUSED: Final = re.compile("[\0\ud800-\udfff]")
_TRUNCATED: Final = "… (truncated)"


class NotStorable(ValueError):
    """A value has no JSON form, or its JSON is too large; the message says which."""


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
"""Made once: `json.dumps` makes one for each call that asks for a form of its own."""


def encoded(value: Json) -> str:
    """Write compact JSON, the one form in which every store keeps documents."""
    return _ENCODER.encode(value)


def document_text(value: Json) -> str | None:
    """Write a document as `encoded` does; null is no document."""
    return None if value is None else encoded(value)


def document_of(text: str | None) -> Json:
    """Read what `document_text` wrote."""
    return None if text is None else cast("Json", json.loads(text))


def storable(value: object, *, limit: int = RESULT_LIMIT) -> Json:
    """
    Make any value storable, or say why it is not.

    Characters that databases refuse (NUL, lone surrogates) become U+FFFD, NaN and the
    infinities become null; dates, UUIDs and enums become strings. `limit` is in UTF-8 bytes.

    Raises:
        NotStorable: the value has no JSON form, nests deeper than `NESTING_LIMIT`, or is larger than `limit`.
    """
    if limit >= SMALL_BYTES and _is_small(value):
        return dict(value) if type(value) is dict else cast("Json", value)
    try:
        document = _Reading(limit).plain(value, NESTING_LIMIT)
        size = len(encoded(document).encode())
    except NotStorable:
        raise
    except Exception as error:
        # A value's class is its author's code, which may raise anything.
        raise NotStorable(f"the value cannot be read: {type(error).__name__}") from error
    if size > limit:
        raise _too_large(limit)
    return document


def _is_small(value: object) -> bool:
    """Tell whether a value is JSON already, and takes far fewer than `SMALL_BYTES`: what most handlers return."""
    if type(value) is not dict:
        return _is_small_scalar(value)
    return len(value) <= _SMALL_ITEMS and all(
        type(key) is str and _is_small_scalar(key) and _is_small_scalar(item) for key, item in value.items()
    )


def _is_small_scalar(value: object) -> bool:
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        return len(text) <= _SMALL_TEXT and _REFUSED.search(text) is None
    return value is None or kind is bool or (kind is int and -_SMALL_INTEGER < cast("int", value) < _SMALL_INTEGER)


def clean_text(text: str, *, limit: int = ERROR_LIMIT) -> str:
    """Make text storable and cut it to `limit` UTF-8 bytes, marking the cut where the mark fits."""
    raw = _text(text[:limit]).encode()
    if len(raw) <= limit and len(text) <= limit:
        return raw.decode()
    mark = _TRUNCATED if limit >= len(_TRUNCATED.encode()) else ""
    return raw[: limit - len(mark.encode())].decode("utf-8", "ignore") + mark


class _Reading:
    """One walk through a value, which gives up once what it read cannot fit, as a few shared lists may do."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def plain(self, value: object, levels: int) -> Json:
        self._spend(1)
        if isinstance(value, Enum):
            return self.plain(value.value, levels)
        if isinstance(value, Mapping):
            return {self._key(key): self.plain(item, _inside(levels)) for key, item in value.items()}
        if isinstance(value, list | tuple | AbstractSet):
            return [self.plain(item, _inside(levels)) for item in value]
        for kinds, convert in _SCALARS:
            if isinstance(value, kinds):
                document = convert(value)
                self._spend(len(document) if isinstance(document, str) else 0)
                return document
        raise NotStorable(f"a {type(value).__name__} has no JSON form")

    def _key(self, key: object) -> str:
        document = self.plain(key, 0)
        if isinstance(document, str):
            return document
        if isinstance(document, int):
            return encoded(document)
        raise NotStorable(f"a {type(key).__name__} cannot be the key of a JSON object")

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _too_large(self._limit)


def _too_large(limit: int) -> NotStorable:
    return NotStorable(f"the value takes more than {limit} bytes as JSON")


def _inside(levels: int) -> int:
    if levels == 0:
        raise NotStorable(f"the value nests deeper than {NESTING_LIMIT} levels, or refers to itself")
    return levels - 1


def _text(value: str) -> str:
    return _REFUSED.sub("\ufffd", value)


def _integer(value: int) -> Json:
    if value.bit_length() > _INTEGER_BITS:
        raise NotStorable(f"an integer takes more than {_INTEGER_BITS} bits")
    return int(value)


# The order matters: a bool is an int.
_SCALARS: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any], Json]], ...]] = (
    ((bool, type(None)), lambda value: value),
    (str, _text),
    (int, _integer),
    (float, lambda value: float(value) if math.isfinite(value) else None),
    ((date, time), lambda value: value.isoformat()),
    (timedelta, lambda value: value.total_seconds()),
    (UUID, str),
)
