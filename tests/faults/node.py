"""
`tocsin serve` with a wall clock that is off: `python -m tests.faults.node SECONDS`.

Everything else is set by the environment, as for any node. It ends with its standard input, which is the test's to
hold: so none is left behind by a test that is killed.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from threading import Thread

from tocsin.adapters.system import SystemClock
from tocsin.service import serve
from tocsin.settings import load_settings


class ShiftedClock(SystemClock):
    """The clock of a machine whose wall clock was set wrong."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        """Read the wrong wall clock, in UTC."""
        return super().now() + self._by


def end_with_input() -> None:
    """End the process once nobody holds the other end of its input."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    Thread(target=end_with_input, daemon=True).start()
    serve(load_settings({}), ShiftedClock(timedelta(seconds=float(sys.argv[1]))))
