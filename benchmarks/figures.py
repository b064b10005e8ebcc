"""How measurements are summed up and printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tocsin.application.statistics import percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured quantity; `values` are those of all its samples, in `unit`."""

    name: str
    unit: str
    values: Sequence[float]

    def at(self, percent: float) -> float:
        """Give a percentile by nearest rank."""
        ranks = sorted(range(len(self.values)), key=self.values.__getitem__)
        rank = percentile(range(len(ranks)), percent)
        return self.values[ranks[rank or 0]]


def show(title: str, figures: Sequence[Figure]) -> None:
    """Print figures as a table."""
    table = Table("figure", "unit", "samples", "min", "p50", "p99", "max", title=title)
    for figure in figures:
        spread = (figure.at(0), figure.at(50), figure.at(99), figure.at(100))
        table.add_row(figure.name, figure.unit, str(len(figure.values)), *(f"{value:,.1f}" for value in spread))
    Console().print(table)
