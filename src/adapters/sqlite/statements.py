"""Named SQL: each statement of a file under `sql/` by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PART: Final = re.compile(r"^-- part: (\w+)\n", re.MULTILINE)
_WITH: Final = re.compile(r"^ *-- with: (\w+)$", re.MULTILINE)


@cache
def statements(name: str) -> Mapping[str, str]:
    """
    Read the statements of `sql/NAME.sql`, with that part of `sql/parts.sql` in place of each line `-- with: PART`.

    A name that comes twice in a file is an error of ours, a ValueError.
    """
    bodies = {each: _WITH.sub(lambda line: _parts()[line[1]], body) for each, body in _named(_NAME, name).items()}
    return MappingProxyType(bodies)


@cache
def _parts() -> Mapping[str, str]:
    return _named(_PART, "parts")


def _named(heading: re.Pattern[str], name: str) -> Mapping[str, str]:
    text = files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")
    _, *parts = heading.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"sql/{name}.sql has a name twice")
    return dict(zip(names, map(str.strip, bodies), strict=True))
