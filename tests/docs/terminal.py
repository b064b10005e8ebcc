"""A bash that runs one block after the other, as somebody does who pastes them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from deploy.local.orphans import Watchdog
from tests.end_to_end.waiting import DEADLINE_SECONDS, eventually, until

_RUN: Final = """\
set -o pipefail {errexit}e
source {path}.sh </dev/null >{path}.out 2>&1
echo $? >{path}.code.part; mv {path}.code.part {path}.code
"""
_numbers = count(1)


class Terminal:
    """
    One shell in a folder; whatever it started ends with the context, or with this process.

    A block is sourced from a file, so that what it exports and where it goes stays.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], *, scratch: Path) -> None:
        self._folder = folder
        self._environment = environment
        self._scratch = scratch
        self._running: Path | None = None

    def __enter__(self) -> Self:
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],  # noqa: S607 - whichever bash people have
            cwd=self._folder,
            env=dict(self._environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._watchdog = Watchdog("/bin/sh", "-c", 'kill -KILL -- "-$1"', "end", str(self._shell.pid))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()
        self._watchdog.dismiss()

    async def run(self, text: str, *, exit_code: int = 0, seconds: float = DEADLINE_SECONDS) -> str:
        """Run a block to its end, for which it has that long, and answer what it printed."""
        path = await self._begin(text, errexit="-" if exit_code == 0 else "+")
        code = await eventually(lambda: self._code(path), seconds=seconds)
        output = self._printed(path)
        assert code == exit_code, f"ended with {code}:\n{text}\n{output}"
        return output

    async def leave_running(self, text: str) -> None:
        """Begin a block that starts a node, and wait until the node has started."""
        path = await self._begin(text, errexit="+")
        self._running = path

        async def started() -> bool:
            assert await self._code(path) is None, f"ended:\n{text}\n{self._printed(path)}"
            return "node.started" in self._printed(path)

        await until(started)

    async def _begin(self, text: str, *, errexit: str) -> Path:
        await self._interrupt()
        path = self._scratch / f"block-{next(_numbers)}"
        path.with_suffix(".sh").write_text(text, "utf-8")
        assert self._shell.stdin is not None
        self._shell.stdin.write(_RUN.format(errexit=errexit, path=path).encode())
        self._shell.stdin.flush()
        return path

    async def _interrupt(self) -> None:
        """Do what Ctrl-C does to what goes on here, and wait until it has ended."""
        if self._running is None:
            return
        path, self._running = self._running, None
        for process in psutil.Process(self._shell.pid).children():
            process.send_signal(signal.SIGINT)
        await eventually(lambda: self._code(path))

    async def _code(self, path: Path) -> int | None:
        """Tell how a block ended, None while it runs; a command that fails takes the shell with it."""
        ended = path.with_suffix(".code")
        if ended.exists():
            return int(ended.read_text("utf-8"))
        return self._shell.poll()

    def _printed(self, path: Path) -> str:
        output = path.with_suffix(".out")
        return output.read_text("utf-8", errors="replace") if output.exists() else ""
