"""Runs scenarios again and again, each time in a new process on a new database."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .engines import Engine, Place, Servers
from .figures import Figure, Summary, summed
from .processes import attended, last_words
from .sample import read
from .scenario import Case, Scenario

Tell = Callable[[str], None]
SAID: Final = "run.log"
FAILURES: Final = 2
"""After how many a case is given up."""


class RunFailed(Exception):
    """A run ended without figures, or took too long; the message is its last words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a scenario in one size on one engine: the figures of each run, and why others failed."""

    scenario: Scenario
    engine: Engine
    case: Case
    runs: list[Sequence[Figure]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def summaries(self) -> Sequence[Summary]:
        """Sum the runs up."""
        return summed(self.runs) if self.runs else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Which scenarios, on which engines, how often; `tell` hears of each run."""

    scenarios: Sequence[Scenario]
    engines: Sequence[Engine]
    runs: int
    quick: bool
    tell: Tell

    def results(self, servers: Servers) -> Iterator[Sequence[Result]]:
        """Measure one scenario after the other; what is compared takes turns, so that all meet the same weather."""
        for scenario in self.scenarios:
            results = [
                Result(scenario=scenario, engine=engine, case=case)
                for case in scenario.sizes(quick=self.quick)
                for engine in scenario.engines
                if engine in self.engines
            ]
            for number in range(1, min(self.runs, scenario.most_runs) + 1):
                for result in results:
                    # What fails again and again would take as long as all that works.
                    if len(result.failures) < FAILURES:
                        self._run(servers, result, number)
            yield results

    def _run(self, servers: Servers, result: Result, number: int) -> None:
        name = " ".join(filter(None, [result.scenario.name, result.case.name, f"on {result.engine}, run {number}"]))
        started = time.monotonic()
        try:
            figures = run(servers, result.scenario, result.engine, result.case)
        except RunFailed as failure:
            result.failures.append(str(failure))
            self.tell(f"{name} failed:\n{failure}")
            return
        result.runs.append(figures)
        result.seconds.append(time.monotonic() - started)
        heads = [each for each in figures if each.name in result.scenario.headlines]
        said = ", ".join(f"{each.name} {each.value:,.1f} {each.unit}" for each in heads)
        self.tell(f"{name}: {said} ({result.seconds[-1]:.0f} s)")


def run(
    servers: Servers,
    scenario: Scenario,
    engine: Engine,
    case: Case,
    *,
    environment: Mapping[str, str] | None = None,
) -> Sequence[Figure]:
    """
    Make one run.

    Raises:
        RunFailed: there are no figures.
    """
    with servers.fresh(engine) as place:
        return _figures(place, scenario, case, environment)


def _figures(place: Place, scenario: Scenario, case: Case, environment: Mapping[str, str] | None) -> Sequence[Figure]:
    out, log = place.folder / "figures.json", place.folder / SAID
    command = [sys.executable, "-m", "benchmarks.sample", scenario.name, "--out", str(out)]
    asked = ["--place", place.written(), "--options", json.dumps(case.options)]
    with attended([*command, *asked], log=log, environment=environment) as process:
        try:
            process.wait(scenario.limit_seconds)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"took more than {scenario.limit_seconds:.0f} s:\n{last_words(log)}") from None
    if not out.exists():
        raise RunFailed(last_words(log))
    return read(out)
