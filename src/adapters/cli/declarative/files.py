"""Files of declarations in YAML, JSON or TOML, told apart by their suffix."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from functools import cache, partial
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, Final

from ....domain.errors import FieldError, InvalidInput
from ....domain.json import Json
from ....domain.strict_json import read_json
from ..sources import STDIN, read_bytes, shown_name
from .places import Path, Source, Unreadable
from .yaml_text import read_yaml

LARGEST_FILE: Final = 16 * 1024 * 1024

_TABLE: Final = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\-\s]+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNED: Final = re.compile(r"\s*([A-Za-z0-9_.\-]+)\s*=")
_TOML_ERROR: Final = re.compile(r"(.*) \(at line (\d+), column \d+\)")


def read_source(name: str) -> Source:
    """
    Read a file: YAML, unless its name ends in `.json` or `.toml`; `-` is stdin, in YAML or JSON.

    Raises:
        InvalidInput: it cannot be read, or is not of its format; names the file and the line.
    """
    shown = shown_name(name)
    try:
        text = _decoded(read_bytes(name, largest=LARGEST_FILE))
        document, line_of = _reader(name, text)(text)
    except Unreadable as error:
        where = shown if error.line is None else f"{shown}:{error.line}"
        raise InvalidInput([FieldError(where, str(error))]) from None
    return Source(name=shown, document=document, line_of=line_of)


_Reader = Callable[[str], tuple[Json, Callable[[Path], int | None]]]


def _reader(name: str, text: str) -> _Reader:
    suffix = FilePath(name).suffix.lower()
    if name == STDIN and text.lstrip().startswith(("{", "[")):
        suffix = ".json"
    return _READERS.get(suffix, _yaml)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("is not UTF-8 text", raw.count(b"\n", 0, error.start) + 1) from None


def _yaml(text: str) -> tuple[Json, Callable[[Path], int | None]]:
    document, lines = read_yaml(text)
    return document, lines.get


def _json(text: str) -> tuple[Json, Callable[[Path], int | None]]:
    try:
        return read_json(text.encode()), _lines_of_json(text)
    except ValueError as error:
        found = re.search(r"line (\d+) column", str(error))
        raise Unreadable(str(error), int(found[1]) if found else None) from None


def _lines_of_json(text: str) -> Callable[[Path], int | None]:
    """Find lines by reading JSON as the YAML that it is, but for rarities; only errors need them."""

    @cache
    def lines() -> Mapping[Path, int]:
        try:
            return read_yaml(text)[1]
        except Unreadable:
            return {}

    return lambda path: lines().get(path)


def _toml(text: str) -> tuple[Json, Callable[[Path], int | None]]:
    try:
        document = _plain(tomllib.loads(text))
    # The library has a ValueError of its own, and lets those about numbers that are too long through.
    except ValueError as error:
        told = _TOML_ERROR.fullmatch(str(error))
        problem, line = (told[1], int(told[2])) if told else (str(error), None)
        raise Unreadable(f"is not TOML: {problem}", line) from None
    except RecursionError:
        raise Unreadable("nests too deeply") from None
    return document, cache(partial(_line_in_toml, text))


def _plain(value: Any) -> Json:  # noqa: ANN401 - what TOML has
    match value:
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case datetime() | date() | time():
            return value.isoformat()
        case float() if not math.isfinite(value):
            raise ValueError(f"{value} is no JSON number")
        case _:
            plain: Json = value
            return plain


def _line_in_toml(text: str, path: Path) -> int | None:
    """Find the line of a field below the tables of TOML that are written out; what is inline stands with its table."""
    return next((number for number, found in _paths_in_toml(text) if found == path), None)


def _paths_in_toml(text: str) -> Iterator[tuple[int, Path]]:
    counts: dict[str, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if (header := _TABLE.match(line)) is not None:
            name = header[1].replace(" ", "")
            if line.lstrip().startswith("[["):
                counts[name] = counts.get(name, -1) + 1
            table = _table_path(name, counts)
            yield number, table
        elif (assigned := _ASSIGNED.match(line)) is not None:
            yield number, (*table, *assigned[1].split("."))


def _table_path(name: str, counts: Mapping[str, int]) -> Path:
    path: list[str | int] = []
    parts = name.split(".")
    for end, part in enumerate(parts, start=1):
        path.append(part)
        if (position := counts.get(".".join(parts[:end]))) is not None:
            path.append(position)
    return tuple(path)


_READERS: Final[Mapping[str, _Reader]] = MappingProxyType({".json": _json, ".toml": _toml})
