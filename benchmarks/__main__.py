"""Runs the scenarios named, or all."""

from __future__ import annotations

import asyncio
import sys

from .figures import show
from .scenarios import SCENARIOS, measure


def main() -> None:
    """Measure and print."""
    for name in sys.argv[1:] or SCENARIOS:
        scenario = SCENARIOS[name]
        show(f"{name}: {scenario.__doc__}", asyncio.run(measure(scenario)))


main()
