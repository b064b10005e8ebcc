"""What fires cost, and what follows: how much one database carries, how many nodes feed it, what a history weighs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

MEASURED: Final = Path(__file__).with_name("measured.json")
STAGES: Final = ("fire", "hand on", "take", "claim", "finish")
FULL: Final = 500
"""Rows of a full batch: the limit of the timer, of a claim and of a flush."""

NODE: Final = "node"
DATABASE: Final = "postgres"
PIPE: Final = "redis"

TRIPS: Final[Mapping[str, int]] = {"fire": 8, "hand on": 1, "take": 1, "claim": 1, "finish": 7}
"""Round trips of each stage, begin and commit included, when nothing waits for a slot and nobody listens to facts."""

COMMITS: Final = frozenset({"fire", "claim", "finish"})
"""What waits for the disk; what is handed on is unlogged, or Redis's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A cost of `fixed` for each call and `each` for each row: of seconds, or of bytes."""

    fixed: float
    each: float

    @classmethod
    def through(cls, *, alone: float, batched: float, rows: int = FULL) -> Self:
        """Draw it through the cost of a row in a batch of one and in one of `rows`; neither part is below nothing."""
        fixed = max(0.0, (alone - batched) * rows / (rows - 1))
        return cls(fixed=fixed, each=max(0.0, min(alone, batched) - fixed / rows))

    def of(self, rows: int) -> float:
        """Tell what a call for so many rows costs."""
        return self.fixed + self.each * rows

    def per_row(self, rows: float) -> float:
        """Tell what a row costs in batches of so many."""
        return self.fixed / rows + self.each


NOTHING: Final = Line(fixed=0.0, each=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """
    What an engine's stages cost each process, in seconds of one of its cores.

    `running` is what an execution costs its node outside the stages; `log` is in bytes of write-ahead log.
    """

    engine: str
    stages: Mapping[str, Mapping[str, Line]]
    log: Mapping[str, Line]
    running: float
    trip: float
    commit: float

    @classmethod
    def read(cls, engine: str, measured: Mapping[str, Any]) -> Self:
        """Read them from what `fit` wrote."""
        found = measured["engines"][engine]
        return cls(
            engine=engine,
            stages={
                stage: {process: _seconds(pair) for process, pair in processes.items()}
                for stage, processes in found["stages_us"].items()
            },
            log={stage: Line.through(**pair) for stage, pair in found["log_bytes"].items()},
            running=found["running_us"] / 1e6,
            trip=found["trip_ms"] / 1000,
            commit=found["commit_ms"] / 1000,
        )

    def line(self, stage: str, process: str) -> Line:
        """Tell what a stage costs a process."""
        return self.stages[stage].get(process, NOTHING)

    def per_fire(self, process: str, rows: float = FULL) -> float:
        """Tell the processor seconds of one fire, from due to written, in batches of so many."""
        stages = sum(self.line(stage, process).per_row(rows) for stage in STAGES)
        return stages + (self.running if process == NODE else 0.0)

    def log_per_fire(self, rows: float = FULL) -> float:
        """Tell the bytes of write-ahead log of one fire in batches of so many."""
        return sum(line.per_row(rows) for line in self.log.values())

    def waiting(self, stage: str) -> float:
        """Tell how long a call of a stage waits for network and disk, however much it carries."""
        return TRIPS[stage] * self.trip + (self.commit if stage in COMMITS else 0.0)

    def database_rate(self, cores: int, *, used: float = 1.0, rows: float = FULL) -> float:
        """Tell how many fires a second so many cores of a database carry when `used` of them may be busy."""
        each = self.per_fire(DATABASE, rows)
        return cores * used / each if each else float("inf")

    def node_rate(self, rows: float = FULL) -> float:
        """Tell how many fires a second one process carries: its interpreter runs on one core."""
        return 1.0 / self.per_fire(NODE, rows)

    def pipe_rate(self, rows: float = FULL) -> float:
        """Tell how many fires a second one Redis carries: it runs commands on one core."""
        each = self.per_fire(PIPE, rows)
        return 1.0 / each if each else float("inf")

    def nodes_for(self, rate: float, *, rows: float = FULL) -> float:
        """Tell how many processes a rate keeps fully busy."""
        return rate / self.node_rate(rows)


def measured(path: Path = MEASURED) -> dict[str, Any]:
    """Read the measurements."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def engines(found: Mapping[str, Any]) -> Sequence[str]:
    """List the engines that were measured."""
    return list(found["engines"])


def _seconds(pair: Mapping[str, float]) -> Line:
    return Line.through(alone=pair["alone"] / 1e6, batched=pair["batched"] / 1e6)
