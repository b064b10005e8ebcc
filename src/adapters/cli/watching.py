"""A list that is shown anew again and again, until Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from ...domain.errors import InvalidInput, Unavailable
from .output import Output, plain_console
from .texts import visible

EVERY_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Output):
    """An output that keeps what it is given to draw, for somebody else to show."""

    drawn: list[RenderableType] = field(default_factory=list)

    def print(self, *drawn: RenderableType) -> None:
        """Keep it."""
        self.drawn.extend(drawn)

    def note(self, text: str) -> None:
        """Keep it."""
        self.drawn.append(Text(visible(text), style="dim"))


async def watched(command: Callable[[Output], Coroutine[Any, Any, None]], output: Output) -> None:
    """
    Run a command that reads every two seconds, and show what it draws in place of what it drew before.

    A server that is away is waited for.

    Raises:
        InvalidInput: nobody looks on.
    """
    refuse_without_terminal(output)
    with Live(console=plain_console(), screen=True, auto_refresh=False) as live:
        while True:
            live.update(await _picture(command), refresh=True)
            await asyncio.sleep(EVERY_SECONDS)


def refuse_without_terminal(output: Output, option: str = "watch") -> None:
    """
    Refuse to draw where nobody looks on.

    Raises:
        InvalidInput: stdout is no terminal, or a form for machines was asked for.
    """
    if not output.for_people or not sys.stdout.isatty():
        raise InvalidInput.of(option, "needs a terminal, and tables; for machines there is `tocsin watch --json`")


async def _picture(command: Callable[[Output], Coroutine[Any, Any, None]]) -> RenderableType:
    kept = Kept()
    try:
        # Its exit code is for whoever asks once.
        with suppress(typer.Exit):
            await command(kept)
    except Unavailable as error:
        kept.drawn.append(Text(visible(error.message), style="red"))
    now = datetime.now().astimezone()
    # Above, because what a screen has no room for is cut off below.
    return Group(Text(f"{now:%H:%M:%S}, every {EVERY_SECONDS:.0f} s; Ctrl-C ends it", style="dim"), *kept.drawn)
