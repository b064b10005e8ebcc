"""The two shapes in which everything is shown to people: rows under headings, and facts beside their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
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

_ROOM: Final = 24
"""Characters that what may be folded is to have, before anything else gives way."""

_UNBOUNDED: Final = 10_000

Cell = RenderableType | int | None


def rows(
    headings: Iterable[str], content: Iterable[Iterable[Cell]], *, empty: str, spare: Sequence[str] = ()
) -> RenderableType:
    """
    Lay rows out under headings; without any, `empty` says so. Numbers stand at the right.

    Where there is no room for all columns, those in `spare` are left out, the first of them first.
    """
    lines = [list(line) for line in content]
    return _Rows(headings=tuple(headings), lines=lines, spare=spare) if lines else Text(empty, style="dim")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows that know how wide they are drawn once they are."""

    headings: Sequence[str]
    lines: Sequence[Sequence[Cell]]
    spare: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw them."""
        left_out: list[str] = []
        for name in self.spare:
            natural = Measurement.get(console, options.update(width=_UNBOUNDED), self._table(left_out, longest=_ROOM))
            if natural.maximum <= options.max_width:
                break
            left_out.append(name)
        yield self._table(left_out)

    def _table(self, left_out: Collection[str], longest: int | None = None) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        kept = [position for position, heading in enumerate(self.headings) if heading not in left_out]
        for position in kept:
            heading = self.headings[position]
            numeric = any(isinstance(line[position], int) for line in self.lines)
            folds = heading in _FOLDING
            table.add_column(
                heading,
                justify="right" if numeric else "left",
                no_wrap=not folds,
                max_width=longest if folds else None,
            )
        for line in self.lines:
            table.add_row(*(cell(line[position]) for position in kept))
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
