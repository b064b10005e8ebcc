"""What a person and a program read of results: tables, JSON, plots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from .figures import Better, Summary
from .machine import described
from .plots import draw, number
from .suite import Result

WIDTH: Final = 140
"""Columns at least, also where the output is no terminal."""

MARKS: Final = {Better.MORE: "↑", Better.LESS: "↓", Better.NEITHER: ""}


@dataclass(slots=True, kw_only=True)
class Report:
    """Tells of each scenario once it is done, and brings the files up to date with it."""

    quick: bool
    json: Path | None
    plots: Path | None
    failures: int = 0
    _told: dict[str, Any] = field(default_factory=dict)

    def add(self, results: Sequence[Result]) -> None:
        """Print one scenario, and write it down."""
        if not results:
            return
        self.failures += sum(len(result.failures) for result in results)
        show(results)
        self._told.setdefault("machine", described() | {"quick": self.quick})
        self._told.setdefault("results", []).extend(written(result) for result in results)
        if self.json is not None:
            self.json.parent.mkdir(parents=True, exist_ok=True)
            self.json.write_text(json.dumps(self._told, indent=1), "utf-8")
        if self.plots is not None:
            self.plots.mkdir(parents=True, exist_ok=True)
            draw(results, self.plots)


def show(results: Sequence[Result]) -> None:
    """Print the medians, and the ranges where there is more than one run."""
    scenario = results[0].scenario
    engines = list(dict.fromkeys(result.engine for result in results))
    table = Table("case", "figure", "unit", "", *engines, title=f"{scenario.name}: {scenario.summary}")
    for case in dict.fromkeys(result.case.name for result in results):
        here = {result.engine: result for result in results if result.case.name == case}
        # The engine that has most figures first, since it has those of all the others among them, in their order.
        fullest = sorted(here.values(), key=lambda result: -len(result.summaries))
        names = dict.fromkeys(each.name for result in fullest for each in result.summaries)
        for name in names:
            found = {engine: _named(result, name) for engine, result in here.items()}
            first = next(each for each in found.values() if each is not None)
            cells = [_worded(found.get(engine)) for engine in engines]
            table.add_row(case, name, first.unit, MARKS[first.better], *cells)
        table.add_section()
    console = Console()
    console.width = max(console.width, WIDTH)
    console.print(table)


def written(result: Result) -> dict[str, Any]:
    """Word a result as JSON, every run included."""
    return {
        "scenario": result.scenario.name,
        "summary": result.scenario.summary,
        "case": result.case.name,
        "options": dict(result.case.options),
        "engine": result.engine,
        "seconds": result.seconds,
        "failures": result.failures,
        "figures": [
            {
                "name": each.name,
                "unit": each.unit,
                "better": each.better,
                "median": each.median,
                "least": each.least,
                "most": each.most,
                "values": each.values,
            }
            for each in result.summaries
        ],
    }


def _named(result: Result, name: str) -> Summary | None:
    return next((each for each in result.summaries if each.name == name), None)


def _worded(summary: Summary | None) -> str:
    if summary is None:
        return ""
    median = number(summary.median)
    return median if len(summary.values) == 1 else f"{median} ({number(summary.least)} to {number(summary.most)})"
