"""JSON as the standard has it (RFC 8259), read without the leniency of Python's reader."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final, NoReturn, cast

from .json import Json

_SHOWN: Final = 64


def read_json(raw: bytes) -> Json:
    """
    Read a document in UTF-8.

    Raises:
        ValueError: it is none, or nests too deeply; also for NaN, infinities, numbers that no double can hold, and a
            name that is given twice in one object. The message says which.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    try:
        read = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("nests too deeply") from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    return cast("Json", read)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(written: str) -> float:
    value = float(written)
    if not math.isfinite(value):
        raise ValueError("a number is beyond what a double can hold")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError(f"{next(_repeated(pairs))[:_SHOWN]!r} is given twice in one object")
    return document


def _repeated(pairs: list[tuple[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            yield name
        seen.add(name)
