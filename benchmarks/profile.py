"""Where the time of one run goes: `python -m benchmarks.profile SCENARIO --engine ENGINE`, or `make profile`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from .engines import Engine, Servers
from .profiler import PROFILE
from .scenario import Case, Scenario
from .scenarios import SCENARIOS
from .suite import run

FOLDER = Path("build/profiles")


def main() -> None:
    """Make one run under a profiler, print what took the time, and say where the rest can be seen."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--engine", type=Engine, default=Engine.POSTGRES, help=f"one of {', '.join(Engine)}")
    parser.add_argument("--case", default="", help="the words that its name holds; else the first")
    parser.add_argument("--quick", action="store_true", help="in the sizes for a look")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where profiles go")
    given = parser.parse_args()
    scenario = SCENARIOS[given.scenario]
    if given.engine not in scenario.engines:
        parser.error(f"{scenario.name} runs on {', '.join(scenario.engines)}")
    case = _case(scenario, given.case, quick=given.quick)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    profile(scenario, given.engine, case, (given.folder / f"{scenario.name}-{given.engine}").absolute())


def profile(scenario: Scenario, engine: Engine, case: Case, folder: Path) -> None:
    """Make one run, and leave its profiles in the folder in place of older ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    with Servers() as servers:
        figures = run(servers, scenario, engine, case, environment={**os.environ, PROFILE: str(folder)})
    lines = [f"{scenario.name}, {case.name}, on {engine}"]
    lines += [f"{figure.value:>14,.1f} {figure.unit:<6} {figure.name}" for figure in figures]
    for text in sorted(folder.glob("*.txt")):
        lines += ["", text.stem, text.read_text("utf-8")]
    lines += ["The whole of it:", *(str(path) for path in sorted(folder.iterdir()) if path.suffix != ".txt")]
    print("\n".join(lines))  # noqa: T201 - this is a command


def _case(scenario: Scenario, words: str, *, quick: bool) -> Case:
    found = [case for case in scenario.sizes(quick=quick) if words in case.name]
    if not found:
        sys.exit(f"no such case; there are {', '.join(case.name for case in scenario.sizes(quick=quick))}")
    return found[0]


if __name__ == "__main__":
    main()
