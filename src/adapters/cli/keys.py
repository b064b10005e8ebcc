"""Keys as they are pressed, one by one and without being shown."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pressed_keys() -> Iterator[asyncio.Queue[str]]:
    """
    Read the keyboard until the context ends, in a running loop; Ctrl-C stays what it is.

    Raises:
        OSError: stdin is no terminal.
    """
    keyboard, keys = sys.stdin.fileno(), asyncio.Queue[str]()
    loop, before = asyncio.get_running_loop(), _settings(keyboard)
    tty.setcbreak(keyboard)
    loop.add_reader(keyboard, lambda: _read(keyboard, keys))
    try:
        yield keys
    finally:
        loop.remove_reader(keyboard)
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _settings(keyboard: int) -> list[int | list[bytes | int]]:
    try:
        return termios.tcgetattr(keyboard)
    except termios.error as error:
        raise OSError("stdin is no terminal") from error


def _read(keyboard: int, keys: asyncio.Queue[str]) -> None:
    for key in os.read(keyboard, 64).decode("utf-8", "replace"):
        keys.put_nowait(key)
