"""A program on a terminal: what it shows is read, and keys are pressed, as a person would."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tests.end_to_end.program import environment_of
from tests.end_to_end.waiting import eventually

LINES = 40
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(slots=True)
class Terminal:
    """A screen and a keyboard; `shown` is all that was ever written there."""

    process: subprocess.Popen[bytes]
    keyboard: int
    shown: bytearray = field(default_factory=bytearray)

    async def shows(self, *words: str) -> str:
        """Wait until all these words were written, colours aside; answer everything."""

        async def look() -> str | None:
            text = _CONTROLS.sub("", self.shown.decode("utf-8", "replace"))
            return text if all(word in text for word in words) else None

        return await eventually(look)

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self.keyboard, keys.encode())

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    async def ended(self) -> int:
        """Wait until the program has ended, and answer its exit code."""

        async def code() -> int | None:
            return self.process.poll()

        return await eventually(code)


def _without_size(variables: Mapping[str, str]) -> dict[str, str]:
    """Leave out what workers of pytest are told: the screen has a size of its own."""
    return {name: value for name, value in variables.items() if name not in {"COLUMNS", "LINES"}}


@asynccontextmanager
async def on_terminal(
    folder: Path, *arguments: str, columns: int = 120, variables: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[Terminal]:
    """Run `tocsin` on a terminal; what is left of it when the context ends is killed."""
    keyboard, screen = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    # What was started in the background of a shell ignores Ctrl-C, and so does all that it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(  # noqa: ASYNC220, S603 - the program under test
        [sys.executable, "-m", "tocsin", *arguments],
        cwd=folder,
        env={**_without_size(environment_of(folder)), "TERM": "xterm-256color", **variables},
        stdin=screen,
        stdout=screen,
        stderr=screen,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, before)
    os.close(screen)
    terminal = Terminal(process, keyboard)

    def read() -> None:
        # A terminal that nobody writes to any more says so with an error.
        with suppress(OSError):
            terminal.shown += os.read(keyboard, 65_536)
            return
        loop.remove_reader(keyboard)

    loop = asyncio.get_running_loop()
    loop.add_reader(keyboard, read)
    try:
        yield terminal
    finally:
        loop.remove_reader(keyboard)
        process.kill()
        process.wait()
        os.close(keyboard)
