"""Runs scenarios and tells what came of them: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from .engines import Engine, Servers
from .report import Report
from .scenarios import SCENARIOS
from .suite import Suite

RUNS = 5
QUICK_RUNS = 1


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"one of {', '.join(SCENARIOS)}; all if none")
    parser.add_argument("--engine", type=Engine, action="append", help=f"one of {', '.join(Engine)}; may be repeated")
    parser.add_argument("--runs", type=int, help=f"runs of each case: {RUNS}, with --quick {QUICK_RUNS}")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--json", type=Path, help="where every figure of every run is written")
    parser.add_argument("--plots", type=Path, help="the folder in which plots are drawn")
    given = parser.parse_args()
    if unknown := set(given.scenarios) - set(SCENARIOS):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}")
    # A signal that ends this process ends the servers with it, in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    suite = Suite(
        scenarios=[SCENARIOS[name] for name in given.scenarios or SCENARIOS],
        engines=given.engine or list(Engine),
        runs=given.runs or (QUICK_RUNS if given.quick else RUNS),
        quick=given.quick,
        tell=lambda line: print(line, flush=True),  # noqa: T201 - this is a command
    )
    report = Report(quick=given.quick, json=given.json, plots=given.plots)
    with Servers() as servers:
        for results in suite.results(servers):
            report.add(results)
    sys.exit(report.failures and f"{report.failures} runs failed")


main()
