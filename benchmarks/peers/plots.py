"""Plots of comparisons: every system as a multiple of one, which is 1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter

from ..figures import Better, Summary
from ..plots import STYLE
from .catalog import BASELINE
from .comparison import Comparison
from .systems import System

OURS: Final = "#c8553d"
THEIRS: Final = "#7a8b99"
WORDS: Final = {Better.MORE: "more is better", Better.LESS: "less is better", Better.NEITHER: ""}


def draw(comparison: Comparison, folder: Path) -> None:
    """Draw each headline figure into a file of its own; nothing without the system that is 1."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in comparison.headlines:
        ranked = comparison.ranked(name)
        one = next((summary.median for system, summary in ranked if system == BASELINE), None)
        if one:
            file = folder / f"{_file_name('peers', comparison.case.test.name, comparison.case.jobs, name)}.svg"
            with mpl.rc_context(STYLE):
                _drawing(f"{comparison.title}: {name}", ranked, one).savefig(
                    file, format="svg", facecolor="white", metadata={"Date": None}
                )


def _drawing(title: str, ranked: Sequence[tuple[System, Summary]], one: float) -> Drawing:
    drawing = Drawing(figsize=(7.5, 1.1 + 0.32 * len(ranked)), layout="constrained")
    axes = drawing.add_subplot()
    multiples = [summary.median / one for _, summary in ranked]
    below = [(summary.median - summary.least) / one for _, summary in ranked]
    above = [(summary.most - summary.median) / one for _, summary in ranked]
    colours = [OURS if system.is_ours else THEIRS for system, _ in ranked]
    bars = axes.barh(range(len(ranked)), multiples, color=colours, xerr=[below, above], ecolor="#333333")
    axes.bar_label(bars, [f"{multiple:.2g}" for multiple in multiples], padding=6, fontsize=9)
    axes.set_yticks(range(len(ranked)), [system.name for system, _ in ranked])
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.set_xscale("log")
    axes.margins(x=0.12)  # For the numbers behind the bars.
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(f"multiple of {BASELINE.name}; {WORDS[ranked[0][1].better]}")
    axes.grid(axis="x")
    return drawing


def _file_name(*words: object) -> str:
    return re.sub(r"[^a-z0-9]+", "-", " ".join(map(str, words)).lower()).strip("-")
