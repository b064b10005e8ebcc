"""What a measurement is: a quantity with its unit, what better means, and how many are summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median


class Better(StrEnum):
    """Which of two values of a figure is the better one; `neither` where it only describes."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One quantity of one run."""

    name: str
    unit: str
    better: Better
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One figure of many runs."""

    name: str
    unit: str
    better: Better
    values: Sequence[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.values)

    @property
    def least(self) -> float:
        """The lowest."""
        return min(self.values)

    @property
    def most(self) -> float:
        """The highest."""
        return max(self.values)


def rate(name: str, value: float, unit: str = "1/s") -> Figure:
    """Give a figure of which more is better."""
    return Figure(name=name, unit=unit, better=Better.MORE, value=value)


def cost(name: str, value: float, unit: str) -> Figure:
    """Give a figure of which less is better."""
    return Figure(name=name, unit=unit, better=Better.LESS, value=value)


def fact(name: str, value: float, unit: str) -> Figure:
    """Give a figure that describes the run, no better high than low."""
    return Figure(name=name, unit=unit, better=Better.NEITHER, value=value)


def spread(name: str, values: Sequence[float], unit: str) -> list[Figure]:
    """Sum up what less is better of, by its median, its 99th percentile and its maximum."""
    ordered = sorted(values)
    marks = {"p50": 50.0, "p99": 99.0, "max": 100.0}
    return [cost(f"{name} {word}", quantile(ordered, percent), unit) for word, percent in marks.items()]


def quantile(ordered: Sequence[float], percent: float) -> float:
    """Give a percentile of sorted values by nearest rank."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, min(len(ordered), int(rank)) - 1)]


def summed(runs: Sequence[Sequence[Figure]]) -> list[Summary]:
    """Sum figures up by name, in the order of the first run."""
    return [
        Summary(
            name=first.name,
            unit=first.unit,
            better=first.better,
            values=[each.value for run in runs for each in run if each.name == first.name],
        )
        for first in runs[0]
    ]
