"""
Event names and the patterns that match them.

A name has segments, split at `.` and `:`, such as `order.created` or `shop:order.created`. In a pattern `*` stands
for one whole segment and `**` for one or more; everything else stands for itself, the separators included.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .event import RESERVED

NAME_BOUNDS: Final = (1, 255)

_NAME: Final = re.compile(r"[A-Za-z0-9_\-/@+~]+(?:[.:][A-Za-z0-9_\-/@+~]+)*")
_PATTERN: Final = re.compile(r"(?:\*\*?|[A-Za-z0-9_\-/@+~]+)(?:[.:](?:\*\*?|[A-Za-z0-9_\-/@+~]+))*")
_RESERVED: Final = (f"{RESERVED}.", f"{RESERVED}:")
_COMPILED: Final = 10_000


def is_name(text: str) -> bool:
    """Tell whether text may be the name of an event: segments of letters, digits and `_-/@+~`, none empty."""
    return NAME_BOUNDS[0] <= len(text) <= NAME_BOUNDS[1] and _NAME.fullmatch(text) is not None


def is_pattern(text: str) -> bool:
    """Tell whether text may be a pattern: a name in which whole segments may be `*` or `**`."""
    return NAME_BOUNDS[0] <= len(text) <= NAME_BOUNDS[1] and _PATTERN.fullmatch(text) is not None


def is_reserved(name: str) -> bool:
    """Tell whether a name is one of Tocsin's own facts."""
    return name == RESERVED or name.startswith(_RESERVED)


def matches(pattern: str, name: str) -> bool:
    """
    Tell whether a pattern matches a name; a wildcard never stands for the first segment of Tocsin's own facts.

    So a handler of `**` hears of all that others publish, and only one of `tocsin.**` of what it causes itself.
    """
    if is_reserved(name) and not is_reserved(pattern):
        return False
    if "*" not in pattern:
        return pattern == name
    return _expression(pattern).fullmatch(name) is not None


@lru_cache(maxsize=_COMPILED)
def _expression(pattern: str) -> re.Pattern[str]:
    """
    Write a pattern as a regular expression that takes no more steps than pattern times name has characters.

    What lies between two `**` is taken where it first comes, and never sought again (an atomic group): whatever
    follows has most room after that place.
    """
    first, *stretches = (_literally(stretch) for stretch in re.split(r"(?<![^.:])\*\*(?![^.:])", pattern))
    if not stretches:
        return re.compile(first)
    *middle, last = stretches
    return re.compile(first + "".join(f"(?>.+?{stretch})" for stretch in middle) + f".+{last}")


def _literally(stretch: str) -> str:
    """Write a stretch of a pattern without `**`; a `*` in it is one segment."""
    return "".join("[^.:]+" if part == "*" else re.escape(part) for part in re.split(r"([.:])", stretch))
