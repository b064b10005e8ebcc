"""Processes that a run starts; none outlives it, however it ends."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deploy.local.orphans import Watchdog

CHECKOUT: Final = Path(__file__).parents[1]


@contextmanager
def attended(
    command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program that says everything to a log and is killed at the end, should it still run."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - programs of this repository
            command,
            cwd=CHECKOUT,
            env=_inherited() | dict(environment or {}),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
    watchdog = Watchdog("/bin/sh", "-c", 'kill -KILL "$1"', "end", str(process.pid))
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        watchdog.dismiss()


def last_words(log: Path) -> str:
    """Read the end of a log."""
    return "\n".join(log.read_text("utf-8", errors="replace").splitlines()[-8:])


def _inherited() -> dict[str, str]:
    """
    Give this process's environment without settings of Tocsin's that happen to be in it.

    Programs find themselves compiled, as installed ones are: else to start a node costs two fifths more.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TOCSIN_") and name != "PYTHONDONTWRITEBYTECODE"
    }
