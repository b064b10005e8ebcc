"""Named SQL: each statement of a file under `sql/` by its name, its parameters by theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PART: Final = re.compile(r"^-- part: (\w+)\n", re.MULTILINE)
_WITH: Final = re.compile(r"^ *-- with: (\w+)$", re.MULTILINE)
_PARAMETER: Final = re.compile(r"(?<!:):([a-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as the server reads it, `$1` for the first of `parameters` and so on."""

    name: str
    text: str
    parameters: tuple[str, ...]

    def arguments(self, named: Mapping[str, object]) -> list[object]:
        """Put arguments in the order of the parameters; one that is missing or too many is a KeyError."""
        if superfluous := named.keys() - set(self.parameters):
            raise KeyError(f"{self.name} takes no {', '.join(sorted(superfluous))}")
        return [named[parameter] for parameter in self.parameters]


@cache
def statements(name: str) -> Mapping[str, Statement]:
    """
    Read the statements of `sql/NAME.sql`, with that part of `sql/parts.sql` in place of each line `-- with: PART`.

    A name that comes twice in a file is an error of ours, a ValueError.
    """
    bodies = {each: _WITH.sub(lambda line: _parts()[line[1]], body) for each, body in _named(_NAME, name).items()}
    return MappingProxyType({each: _statement(each, body) for each, body in bodies.items()})


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


def _statement(name: str, body: str) -> Statement:
    """Give each parameter, which a file names as `:name`, its number."""
    lines = (line for line in body.strip().splitlines() if not line.lstrip().startswith("--"))
    text = "\n".join(lines).removesuffix(";")
    parameters = tuple(dict.fromkeys(_PARAMETER.findall(text)))
    numbers = {parameter: f"${number}" for number, parameter in enumerate(parameters, start=1)}
    return Statement(name, _PARAMETER.sub(lambda match: numbers[match[1]], text), parameters)
