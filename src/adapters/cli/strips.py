"""Much in a small place: a strip of outcomes, and a line of a figure over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rich.text import Text

from ...domain.execution import ExecutionStatus
from ...ports.overviews import Outcome

IN_LIST: Final = 15
"""How many outcomes of a job a row of a table has room for."""

ALONE: Final = 50

_MARKS: Final[Mapping[ExecutionStatus, tuple[str, str]]] = MappingProxyType(
    {
        ExecutionStatus.SUCCESS: ("\N{BLACK SQUARE}", "green"),
        ExecutionStatus.FAILED: ("\N{MULTIPLICATION X}", "red"),
        ExecutionStatus.TIMEOUT: ("\N{MULTIPLICATION SIGN}", "red"),
        ExecutionStatus.SKIPPED: ("\N{MIDDLE DOT}", "yellow"),
        ExecutionStatus.CANCELLED: ("-", "dim"),
        ExecutionStatus.RUNNING: (">", "cyan"),
        ExecutionStatus.PENDING: ("\N{WHITE SQUARE}", "cyan"),
    }
)
"""A sign for each, since not everybody sees colours, and not every terminal shows them."""

_LEVELS: Final = (
    " \N{LOWER ONE EIGHTH BLOCK}\N{LOWER ONE QUARTER BLOCK}\N{LOWER THREE EIGHTHS BLOCK}\N{LOWER HALF BLOCK}\
\N{LOWER FIVE EIGHTHS BLOCK}\N{LOWER THREE QUARTERS BLOCK}\N{LOWER SEVEN EIGHTHS BLOCK}\N{FULL BLOCK}"
)


def strip(outcomes: Sequence[Outcome]) -> Text | None:
    """Draw outcomes, given newest first, from the oldest on the left to the newest; None without any."""
    if not outcomes:
        return None
    drawn = Text(no_wrap=True)
    for each in reversed(outcomes):
        drawn.append(*mark(each.status))
    return drawn


def mark(status: ExecutionStatus) -> tuple[str, str]:
    """Give the sign of a status and its style."""
    return _MARKS[status]


def legend(statuses: Sequence[ExecutionStatus] = tuple(ExecutionStatus)) -> Text:
    """Say what the signs mean."""
    words = Text(style="dim")
    for status in statuses:
        sign, style = mark(status)
        words.append(f"{sign} ", style=f"not dim {style}").append(f"{status.value}  ")
    return words


def line(values: Sequence[float | None]) -> str:
    """Draw a figure over time, each value as high as its share of the greatest; what is unknown or nothing is blank."""
    greatest = max((value for value in values if value is not None), default=0)
    return "".join(_level(value, greatest) for value in values)


def _level(value: float | None, greatest: float) -> str:
    if not value or not greatest:
        return _LEVELS[0]
    steps = len(_LEVELS) - 1
    return _LEVELS[max(1, round(value / greatest * steps))]
