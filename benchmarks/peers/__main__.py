"""Runs Tocsin and its peers side by side and tells how they compare."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from ..engines import Servers
from .catalog import PEERS, SYSTEMS, TOCSIN
from .comparison import compared
from .environments import Unavailable
from .plots import draw
from .report import show, written
from .rounds import QUICK_SIZES, SIZES, Case, Outcome, Rounds
from .systems import System, Test

RUNS = 5
QUICK_RUNS = 1
LETTERS = "ABCD"


def main() -> None:
    """Measure, print, and write what was asked for."""
    given = _options()
    # A signal that ends this process ends servers and programs with it, in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    sizes = QUICK_SIZES if given.quick else SIZES
    asked = [Case(test=Test(letter), jobs=jobs) for letter in given.tests for jobs in sizes[Test(letter)]]
    rounds = Rounds(
        systems=_prepared(_chosen(given.systems)),
        cases=[case for case in asked if given.at_most is None or case.jobs <= given.at_most],
        runs=given.runs or (QUICK_RUNS if given.quick else RUNS),
    )
    outcomes: list[Outcome] = []
    with Servers() as servers:
        for outcome in rounds.outcomes(servers):
            outcomes.append(outcome)
            _say(_told(outcome))
            if given.json is not None:
                given.json.parent.mkdir(parents=True, exist_ok=True)
                given.json.write_text(json.dumps(written(outcomes), indent=1), "utf-8")
    for comparison in compared(outcomes):
        show(comparison)
        if given.plots is not None:
            draw(comparison, given.plots)
    failures = sum(outcome.failure is not None for outcome in outcomes)
    sys.exit(failures and f"{failures} runs failed")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    names = {system.slug: system for system in SYSTEMS}
    parser.add_argument(
        "systems",
        nargs="*",
        metavar="PEER",
        help=f"some of {', '.join(names)}; all if none. Tocsin runs on each of its engines unless one is named",
    )
    parser.add_argument("--tests", default=LETTERS, help="A drain, B insertion, C burst, D one-shots; all by default")
    parser.add_argument("--runs", type=int, help=f"rounds of each test: {RUNS}, with --quick {QUICK_RUNS}")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--at-most", type=int, metavar="JOBS", help="leave larger cases out")
    parser.add_argument("--json", type=Path, help="where every figure of every run is written")
    parser.add_argument("--plots", type=Path, help="the folder in which plots are drawn")
    given = parser.parse_args()
    if unknown := set(given.systems) - set(names):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if not given.tests or set(given.tests) - set(LETTERS):
        parser.error(f"tests are some of {LETTERS}")
    given.systems = [names[slug] for slug in given.systems]
    return given


def _chosen(named: Sequence[System]) -> Sequence[System]:
    """Set Tocsin beside the peers that are named."""
    ours = [system for system in named if system.is_ours] or TOCSIN
    theirs = [system for system in named if not system.is_ours]
    return [*ours, *(theirs if named else PEERS)]


def _prepared(systems: Sequence[System]) -> Sequence[System]:
    """Make the environments; who cannot have one is left out, and that is told."""
    ready = []
    for system in systems:
        try:
            system.environment.prepare()
        except Unavailable as reason:
            _say(f"{system.name} is left out: {reason}")
        else:
            ready.append(system)
    return ready


def _told(outcome: Outcome) -> str:
    head = f"{outcome.case.test.name.lower()} {outcome.case.jobs}, round {outcome.round}, {outcome.system.name}"
    if outcome.failure is not None:
        return f"{head}: FAILED: {outcome.failure}"
    return f"{head}: " + ", ".join(f"{each.name} {each.value:,.5g} {each.unit}" for each in outcome.figures)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - this is a command


main()
