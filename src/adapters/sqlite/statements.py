"""Named SQL: each statement of a file under `sql/` by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def statements(name: str) -> Mapping[str, str]:
    """Read the statements of `sql/NAME.sql`; a name that comes twice there is an error of ours, a ValueError."""
    text = files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"sql/{name}.sql names a statement twice")
    return MappingProxyType(dict(zip(names, map(str.strip, bodies), strict=True)))
