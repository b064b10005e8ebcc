"""
One program for each system, which speaks to the bench by files (`marks`).

Each runs in an environment of its own, in which neither Tocsin nor the other systems are installed: the modules that
lead here import nothing but the standard library.
"""

from __future__ import annotations

from typing import Final

VARIABLE: Final = "PEERS_TASK"
"""The environment variable with the task, as JSON."""
