"""Where something stands in a file, so that each error can name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ....domain.errors import FieldError
from ....domain.json import Json

Path: TypeAlias = tuple[str | int, ...]
"""The way from the top of a document down to one value: names and positions."""


class Unreadable(ValueError):
    """A file is not of its format; `line` is where, if that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        """Keep the line."""
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file as it was read; `line_of` finds the line of a value, None where nobody knows."""

    name: str
    document: Json
    line_of: Callable[[Path], int | None]

    def fault(self, path: Path, message: str) -> FieldError:
        """Say what is wrong with a value, naming file, line and field."""
        return FieldError(f"{self.name}:{self.line(path) or '?'}: {spelled(path)}", message)

    def line(self, path: Path) -> int | None:
        """Find the line of a value, or of what should hold it if it is not there."""
        for end in range(len(path), -1, -1):
            line = self.line_of(path[:end])
            if line is not None:
                return line
        return None


def spelled(path: Path) -> str:
    """Write a way into a document as people do, such as `jobs[3].schedule`."""
    if not path:
        return "document"
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path).removeprefix(".")
