"""One run of one scenario, in a process of its own: `python -m benchmarks.sample SCENARIO --place … --options …`."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tocsin.interpreter import new_loop

from .engines import Place
from .figures import Better, Figure
from .scenario import Options, Scenario
from .scenarios import SCENARIOS


def main() -> None:
    """Run, and leave the figures in a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--place", type=Place.read, required=True, help="as `Place.written` words it")
    parser.add_argument("--options", type=json.loads, required=True, help="the size, as JSON")
    parser.add_argument("--out", type=Path, required=True, help="where the figures go, as JSON")
    given = parser.parse_args()
    figures = run(SCENARIOS[given.scenario], given.place, given.options)
    given.out.write_text(json.dumps([asdict(figure) for figure in figures]), "utf-8")


def run(scenario: Scenario, place: Place, options: Options) -> Sequence[Figure]:
    """Make one run on the loop that a node has."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(scenario.run(place, options))


def read(out: Path) -> Sequence[Figure]:
    """Read the figures of a run."""
    found = json.loads(out.read_text("utf-8"))
    return [Figure(**{**each, "better": Better(each["better"])}) for each in found]


if __name__ == "__main__":
    main()
