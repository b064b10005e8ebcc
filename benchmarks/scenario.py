"""What a scenario is: a name, in which sizes it is measured, and how one run of it is made."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .engines import Engine, Place
from .figures import Figure

Options: TypeAlias = Mapping[str, int]
"""The size of a case: numbers by name."""

Run: TypeAlias = Callable[[Place, Options], Coroutine[Any, Any, Sequence[Figure]]]
"""Makes one run on an empty database, and raises if what came of it is not exactly what was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario in one size."""

    name: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """
    One thing to measure.

    `quick` are the cases for a look, if they are not `cases`. `headlines` are the figures that are drawn. `most_runs`
    bounds the runs of what takes long by itself, and `limit_seconds` the time of one run.
    """

    name: str
    summary: str
    run: Run
    cases: Sequence[Case]
    quick: Sequence[Case] = ()
    engines: Sequence[Engine] = tuple(Engine)
    headlines: Sequence[str] = ()
    most_runs: int = 5
    limit_seconds: float = 300.0

    def sizes(self, *, quick: bool) -> Sequence[Case]:
        """List the cases, or those for a look."""
        return self.quick or self.cases if quick else self.cases
