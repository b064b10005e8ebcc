"""Plots of the model and of what was played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..plots import STYLE
from .model import DATABASE, FULL, Costs, engines
from .played import Played

COLOURS: Final = {"sqlite": "#7a8b99", "postgres": "#2f6690", "postgres+redis": "#c8553d"}
SHADES: Final = ("#2f6690", "#c8553d", "#7a8b99", "#81a4cd")
BURSTS: Final = ("minute", "kills")
BURST_SECONDS: Final = 10.0
"""How much of the first burst is drawn: one is like the other."""

SMALLEST: Final = 1e-4
"""Seconds below which a lateness is drawn as this, its axis being logarithmic."""


def draw(results: Sequence[Played], found: Mapping[str, Any], folder: Path) -> None:
    """Draw what batches do to a database, where its knee is, and how backlogs come and go."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        _save(_batches(found), folder / "scaling-batches.svg")
        if knee := [each for each in results if each.play == "knee"]:
            _save(_knee(knee), folder / "scaling-knee.svg")
        if bursts := [
            each for each in results if each.play in BURSTS and each.engine == DATABASE and "16 cores" in each.name
        ]:
            _save(_backlog(bursts), folder / "scaling-backlog.svg")


def _batches(found: Mapping[str, Any]) -> Figure:
    drawing, axes = _empty("fires a second that one core of the database carries", "rows in a batch")
    sizes = [1, 2, 5, 10, 20, 50, 100, 200, FULL]
    for engine in engines(found):
        costs = Costs.read(engine, found)
        if costs.per_fire(DATABASE):
            rates = [costs.database_rate(1, rows=rows) for rows in sizes]
            axes.plot(sizes, rates, marker="o", color=COLOURS[engine], label=engine)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False)
    return drawing


def _knee(results: Sequence[Played]) -> Figure:
    drawing, axes = _empty("lateness p99 in seconds, simulated", "part of the rate of full batches")
    for engine in dict.fromkeys(each.engine for each in results):
        here = [each for each in results if each.engine == engine]
        parts = [float(each.name.split("%")[0]) / 100 for each in here]
        axes.plot(parts, [max(SMALLEST, each.p99) for each in here], marker="o", color=COLOURS[engine], label=engine)
    axes.set_yscale("log")
    axes.legend(frameon=False)
    return drawing


def _backlog(results: Sequence[Played]) -> Figure:
    drawing, axes = _empty("age of the oldest waiting fire in seconds, simulated, around a minute", "seconds")
    for each, shade in zip(results, SHADES, strict=False):
        seen = [(second, age) for second, age in each.backlog if abs(second) <= BURST_SECONDS]
        axes.plot(*zip(*seen, strict=True), color=shade, label=each.name)
    axes.legend(frameon=False)
    return drawing


def _empty(title: str, across: str) -> tuple[Figure, Axes]:
    drawing = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = drawing.add_subplot()
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(across)
    axes.grid(axis="y")
    return drawing, axes


def _save(drawing: Figure, file: Path) -> None:
    drawing.savefig(file, format="svg", facecolor="white", metadata={"Date": None})
