"""Scale on paper: `python -m benchmarks.model --help`."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import fit, played, tables
from .model import MEASURED, measured


def main() -> None:
    """Fit, tell, or play."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    fitting = commands.add_parser("fit", help="derive the inputs of the model from results of benchmarks")
    fitting.add_argument("results", nargs="+", type=Path, help="what --json wrote; the later wins")
    fitting.add_argument("--out", type=Path, default=MEASURED)
    commands.add_parser("tell", help="print the inputs and what follows from them")
    playing = commands.add_parser("play", help="simulate fleets")
    playing.add_argument("plays", nargs="*", help=f"of {', '.join(played.PLAYS)}; all if none")
    playing.add_argument("--plots", type=Path, help="the folder in which plots are drawn")
    given = parser.parse_args()
    match given.command:
        case "fit":
            fit.write(given.results, given.out)
        case "tell":
            tables.tell(measured())
        case _:
            if unknown := set(given.plays) - set(played.PLAYS):
                parser.error(f"no such play: {', '.join(sorted(unknown))}; there are {', '.join(played.PLAYS)}")
            results = [result for name in given.plays or played.PLAYS for result in played.PLAYS[name](measured())]
            tables.show(results)
            if given.plots is not None:
                # Only who draws needs what draws.
                from .drawing import draw  # noqa: PLC0415 - drawing libraries take a second

                draw(results, measured(), given.plots)


main()
