"""The scripts that Redis runs for us, each in one step that nothing can come between."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def script(name: str) -> str:
    """Read `scripts/NAME.lua`."""
    return files(__package__).joinpath("scripts", f"{name}.lua").read_text("utf-8")
