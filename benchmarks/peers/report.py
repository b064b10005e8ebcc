"""What a person and a program read of a comparison: tables with the ratios, and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from ..figures import Better, Summary
from ..machine import described
from .catalog import TOCSIN
from .comparison import Comparison
from .rounds import Outcome
from .systems import System

WIDTH: Final = 110
"""Columns that a table needs, also where nobody knows how wide the output is."""


def show(comparison: Comparison) -> None:
    """Print the medians, the ranges, and for each other system Tocsin's median divided by its own."""
    console = Console(width=max(Console().width, WIDTH))
    for name in comparison.headlines:
        if ranked := comparison.ranked(name):
            console.print(_table(comparison, name, ranked))
    for standing in comparison.standings:
        told = standing.system.setups[comparison.case.test].told
        console.print(f"  {standing.system.name}: {told}", highlight=False)
        for failure in standing.failures:
            console.print(f"  {failure}", markup=False, style="red")


def _table(comparison: Comparison, name: str, ranked: Sequence[tuple[System, Summary]]) -> Table:
    first = ranked[0][1]
    ours = sorted(((system, own) for system, own in ranked if system.is_ours), key=lambda each: TOCSIN.index(each[0]))
    ahead = "above" if first.better is Better.MORE else "below"
    table = Table(title=f"{comparison.title}: {name}", caption=f"Tocsin is ahead where a ratio is {ahead} 1.")
    table.add_column("system", no_wrap=True)
    for heading in (f"median, {first.unit}", "range", *(f"{system.name} / it" for system, _ in ours)):
        table.add_column(heading, justify="right", no_wrap=heading == "range")
    for system, summary in ranked:
        ratios = ["" if system.is_ours else f"{own.median / summary.median:.2f}" for _, own in ours]
        spread = f"{_number(summary.least)} to {_number(summary.most)}"
        table.add_row(system.name, _number(summary.median), spread, *ratios)
    return table


def written(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Word outcomes as JSON: the machine, and every figure of every run."""
    return {"machine": described(), "outcomes": [_written(each) for each in outcomes]}


def _written(outcome: Outcome) -> dict[str, Any]:
    return {
        "test": outcome.case.test.name.lower(),
        "jobs": outcome.case.fitted(outcome.system),
        "system": outcome.system.name,
        "settings": outcome.system.setups[outcome.case.test].told,
        "round": outcome.round,
        "figures": [{"name": each.name, "unit": each.unit, "value": each.value} for each in outcome.figures],
        "failure": outcome.failure,
    }


def _number(value: float) -> str:
    """Give three significant digits, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits
