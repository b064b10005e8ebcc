"""Plots of results: for each headline figure one drawing, cases side by side, a bar for each engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter

from .engines import Engine
from .figures import Better, Summary
from .suite import Result

COLOURS: Final = {Engine.SQLITE: "#7a8b99", Engine.POSTGRES: "#2f6690", Engine.REDIS: "#c8553d"}
WORDS: Final = {Better.MORE: "more is better", Better.LESS: "less is better", Better.NEITHER: ""}
WIDEST: Final = 40.0
"""From which ratio on between values the axis is logarithmic, so that none is too small to see."""

STYLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "tocsin",  # The same figures give the same file.
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "grid.color": "#e3e3e3",
}


def draw(results: Sequence[Result], folder: Path) -> None:
    """Draw each headline figure of a scenario into a file of its own."""
    scenario = results[0].scenario
    with mpl.rc_context(STYLE):
        for name in scenario.headlines:
            drawing = _drawing(results, name)
            if drawing is not None:
                file = folder / f"{_file_name(scenario.name, name)}.svg"
                drawing.savefig(file, format="svg", facecolor="white", metadata={"Date": None})


def _drawing(results: Sequence[Result], name: str) -> Drawing | None:
    found = {(result.case.name, result.engine): _named(result, name) for result in results}
    cases = list(dict.fromkeys(case for (case, _), summary in found.items() if summary is not None))
    engines = [engine for engine in Engine if any(found.get((case, engine)) for case in cases)]
    first = next((summary for summary in found.values() if summary is not None), None)
    if first is None:
        return None
    drawing = Drawing(figsize=(max(5.0, 1.4 + 0.62 * len(cases) * (len(engines) + 0.8)), 3.6), layout="constrained")
    axes = drawing.add_subplot()
    width = 0.8 / len(engines)
    for place, engine in enumerate(engines):
        shift = (place - (len(engines) - 1) / 2) * width
        _bars(axes, [found.get((case, engine)) for case in cases], engine, shift, width)
    drawing.legend(loc="outside lower left", ncols=len(engines), frameon=False, fontsize=9)
    _label(axes, results, first, cases)
    _scale(axes, [each for each in found.values() if each is not None])
    return drawing


def _bars(axes: Axes, summaries: Sequence[Summary | None], engine: Engine, shift: float, width: float) -> None:
    drawn = [(place, each) for place, each in enumerate(summaries) if each is not None]
    places = [place + shift for place, _ in drawn]
    heights = [each.median for _, each in drawn]
    below = [each.median - each.least for _, each in drawn]
    above = [each.most - each.median for _, each in drawn]
    ranges = [below, above] if any(len(each.values) > 1 for _, each in drawn) else None
    bars = axes.bar(places, heights, width * 0.92, label=engine, color=COLOURS[engine], yerr=ranges, ecolor="#333333")
    axes.bar_label(bars, [number(height) for height in heights], padding=2, fontsize=8, color="#333333")


def _label(axes: Axes, results: Sequence[Result], first: Summary, cases: Sequence[str]) -> None:
    axes.set_title(f"{results[0].scenario.name}: {first.name}", loc="left", fontsize=11)
    axes.set_ylabel(", ".join(filter(None, [first.unit, WORDS[first.better]])))
    axes.set_xticks(range(len(cases)), cases, rotation=20 if len(cases) > 4 else 0)  # noqa: PLR2004 - so many fit
    axes.tick_params(length=0)
    axes.grid(axis="y")
    axes.margins(y=0.12)
    # One case alone would be drawn as wide as all.
    axes.set_xlim(-max(0.6, 1.6 / len(cases)), len(cases) - 1 + max(0.6, 1.6 / len(cases)))


def _scale(axes: Axes, summaries: Sequence[Summary]) -> None:
    values = [each.median for each in summaries if each.median > 0]
    if values and max(values) / min(values) > WIDEST:
        axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def number(value: float) -> str:
    """Give three significant digits, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def _named(result: Result, name: str) -> Summary | None:
    return next((each for each in result.summaries if each.name == name), None)


def _file_name(*words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")
