"""The two shapes in which everything is shown to people: rows under headings, and facts beside their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from .texts import relative, visible, wall

NOTHING: Final = Text("-", style="dim")

_STYLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "active": "green",
        "success": "green",
        "healthy": "green",
        "live": "green",
        "new": "green",
        "acted": "green",
        "enabled": "green",
        "running": "cyan",
        "pending": "cyan",
        "held": "cyan",
        "paused": "yellow",
        "limited": "yellow",
        "skipped": "yellow",
        "degraded": "yellow",
        "draining": "yellow",
        "drained": "yellow",
        "changed": "yellow",
        "left over": "yellow",
        "failed": "red",
        "timeout": "red",
        "unhealthy": "red",
        "dead": "red",
        "refused": "red",
        "cancelled": "dim",
        "completed": "dim",
        "stopped": "dim",
        "unchanged": "dim",
        "filtered": "dim",
        "disabled": "dim",
    },
)

# On a narrow terminal these give way; what stands under the others is short, or useless when cut.
_FOLDING: Final = frozenset(
    {
        "name",
        "job",
        "schedule",
        "detail",
        "event",
        "action",
        "did",
        "note",
        "crontab",
        "reason",
        "next fires",
        "error",
        "last error",
        "value",
        "roles",
    },
)

Cell = RenderableType | int | None


def rows(headings: Iterable[str], content: Iterable[Iterable[Cell]], *, empty: str) -> RenderableType:
    """Lay rows out under headings; without any, `empty` says so. Numbers stand at the right."""
    lines = [list(line) for line in content]
    if not lines:
        return Text(empty, style="dim")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for position, heading in enumerate(headings):
        numeric = any(isinstance(line[position], int) for line in lines)
        table.add_column(heading, justify="right" if numeric else "left", no_wrap=heading not in _FOLDING)
    for line in lines:
        table.add_row(*(cell(each) for each in line))
    return table


def facts(content: Mapping[str, Cell]) -> RenderableType:
    """Lay facts out beside their names; those that are None are left out."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in content.items():
        if value is not None:
            table.add_row(name, cell(value))
    return table


def cell(value: Cell) -> RenderableType:
    """Make anything safe to print; None becomes a dash."""
    match value:
        case None:
            return NOTHING
        case str():
            return Text(visible(value))
        case int():
            return Text(str(value))
        case _:
            return value


def state(value: str) -> Text:
    """Write a status in its colour."""
    return Text(visible(value), style=_STYLES.get(value, ""))


def ago(instant: datetime | None) -> str | None:
    """Write an instant as its distance from now."""
    return None if instant is None else relative(instant, datetime.now(UTC))


def moment(instant: datetime | None) -> str | None:
    """Write an instant on this machine's clock, with its distance from now."""
    return None if instant is None else f"{wall(instant)} ({ago(instant)})"
