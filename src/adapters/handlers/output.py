"""What a process prints: followed by the loop, cut into lines, logged within bounds, and never in its way."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from ...domain.json import Json, clean_text

KEPT_BYTES: Final = 128 * 1024
"""How much of one stream is logged; with two streams, 256 KiB of an attempt."""

KEPT_LINES: Final = 5000
LINE_BYTES: Final = 8 * 1024
TAIL_BYTES: Final = 4 * 1024

_CHUNK: Final = 64 * 1024


class LineLog:
    """Logs a byte stream line by line up to its bounds; beyond them it only counts, and keeps the newest tail."""

    def __init__(self, write: Callable[..., None], **fields: Json) -> None:
        self.size = 0
        self.truncated = False
        self._write = write
        self._fields = fields
        self._partial = b""
        self._tail = b""
        self._bytes_left = KEPT_BYTES
        self._lines_left = KEPT_LINES

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, wherever the stream was cut."""
        self.size += len(chunk)
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]
        if self._is_full():
            self.truncated = True
            return
        *lines, rest = (self._partial + chunk).split(b"\n")
        # One byte more than a line may have is enough to know that it was too long.
        self._partial = rest[: LINE_BYTES + 1]
        for line in lines:
            self._log(line)

    def finish(self) -> None:
        """Log what follows the last newline, and say so if something was left out."""
        if self._partial:
            self._log(self._partial)
        if self.truncated:
            self._write(f"the log is cut: {self.size} bytes were printed", **self._fields)

    def tail(self) -> str:
        """Show the newest 4 KiB of the stream."""
        return clean_text(self._tail.decode("utf-8", "replace"))

    def last_line(self) -> str:
        """Show the newest line that is not blank, or nothing."""
        lines = [line for line in self.tail().splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""

    def _log(self, line: bytes) -> None:
        if self._is_full():
            self.truncated = True
            return
        kept = line[: min(LINE_BYTES, self._bytes_left)]
        self.truncated |= len(kept) < len(line)
        self._bytes_left -= len(kept)
        self._lines_left -= 1
        self._write(clean_text(kept.decode("utf-8", "replace").rstrip("\r")), **self._fields)

    def _is_full(self) -> bool:
        return self._bytes_left <= 0 or self._lines_left <= 0


class OutputPipe:
    """
    A pipe that a process prints into; what arrives is fed to a log as long as the pipe is open.

    `writing` is the end for the process; the node must `release` its own copy, or the end never comes.
    """

    def __init__(self, log: LineLog) -> None:
        self.log = log
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        self._reading, self.writing = os.pipe()
        self._released = False
        os.set_blocking(self._reading, False)
        self._loop.add_reader(self._reading, self._read)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()
        self._read()  # Once more, for what a killed process left behind.
        self._loop.remove_reader(self._reading)
        os.close(self._reading)
        self.log.finish()

    def release(self) -> None:
        """Close the node's copy of the end that the process prints into."""
        if not self._released:
            self._released = True
            os.close(self.writing)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(self._reading, _CHUNK)
            if chunk:
                self.log.feed(chunk)
            else:
                self._loop.remove_reader(self._reading)
                self.ended.set()
