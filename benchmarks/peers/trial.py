"""One system on one place: its programs, and what they tell."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..engines import Place
from .environments import CHECKOUT
from .programs import VARIABLE
from .systems import Setup, System

POLL_SECONDS: Final = 0.005
STOP_SECONDS: Final = 6.0
PART_SECONDS: Final = 600.0
LAST_WORDS: Final = 5
# What production is told for Node, and that graphile-worker logs no success.
QUIET: Final = {"NODE_ENV": "production", "NO_LOG_SUCCESS": "1"}


class TrialFailed(Exception):
    """A program ended or stood still; the message says which, and its last words."""


@dataclass(frozen=True, slots=True)
class Start:
    """A handler's start: which job, when it was due and when it started, in seconds of the epoch."""

    number: int
    due: float
    at: float

    @property
    def late_ms(self) -> float:
        """How late it was."""
        return (self.at - self.due) * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A system set up for a test on an empty place, with so many jobs; the seed is for random times."""

    system: System
    setup: Setup
    place: Place
    jobs: int
    seed: int

    def perform(self, part: str) -> None:
        """
        Run a part of the program to its end.

        Raises:
            TrialFailed: it ended badly, or not within ten minutes.
        """
        with self._log.open("ab") as log:
            process = self._start(part, log)
            try:
                code = process.wait(PART_SECONDS)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
        if code != 0:
            raise self.failed(f"{part} ended with {code}")

    @contextmanager
    def running(self, *parts: str) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
        """Run parts of the program beside each other until the context ends."""
        processes: list[subprocess.Popen[bytes]] = []
        with self._log.open("ab") as log:
            try:
                processes.extend(self._start(part, log) for part in parts)
                yield processes
            finally:
                for process in processes:
                    _end(process)

    async def marked(self, word: str, process: subprocess.Popen[bytes], *, seconds: float) -> Mapping[str, Any]:
        """
        Wait for a mark.

        Raises:
            TrialFailed: the process ended before, or it took too long.
        """
        deadline = time.monotonic() + seconds
        while (found := self.mark(word)) is None:
            if process.poll() is not None:
                raise self.failed(f"ended with {process.returncode} before it was at {word!r}")
            if time.monotonic() > deadline:
                raise self.failed(f"not at {word!r} after {seconds:.0f} s")
            await asyncio.sleep(POLL_SECONDS)
        return found

    def mark(self, word: str) -> Mapping[str, Any] | None:
        """Read the first mark of that word, if there is one."""
        marks = self.place.folder / "marks"
        if not marks.exists():
            return None
        # The last line may be half written.
        lines = (line for line in marks.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n"))
        told: Iterator[Mapping[str, Any]] = map(json.loads, lines)
        return next((each for each in told if each["word"] == word), None)

    def forget_marks(self) -> None:
        """Make room for the marks of another part."""
        (self.place.folder / "marks").unlink(missing_ok=True)

    def starts(self) -> list[Start]:
        """Read the starts of handlers told so far."""
        lines = [line for file in self.place.folder.glob("starts-*") for line in file.read_text("utf-8").splitlines()]
        whole = [words for line in lines if len(words := line.split()) == len(Start.__slots__)]
        return [Start(int(number), float(due), float(at)) for number, due, at in whole]

    def failed(self, what: str) -> TrialFailed:
        """Word a failure, with the program's last words."""
        words = self._log.read_text("utf-8", errors="replace").splitlines()[-LAST_WORDS:]
        return TrialFailed("\n  ".join((f"{self.system.name}: {what}", *words)))

    @property
    def _log(self) -> Path:
        return self.place.folder / "log"

    def _start(self, part: str, log: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - what subprocess calls a file
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
        return subprocess.Popen(  # noqa: S603 - programs of this package
            [*self.system.environment.command(self.system.program), part],
            cwd=CHECKOUT,
            env={**inherited, **QUIET, VARIABLE: self._task()},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def _task(self) -> str:
        return json.dumps(
            {
                "database_url": self.place.database_url,
                "redis_url": self.place.redis_url or "",
                "folder": str(self.place.folder),
                "jobs": self.jobs,
                "seed": self.seed,
                "settings": dict(self.setup.settings),
            }
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    # It leads a session of its own, in which its children are.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
