"""How far long work has come, on stderr, while somebody looks on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .output import Output


@contextmanager
def progress(output: Output, words: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """
    Show a bar until the context ends, and forget it then; what it gives is told how much is done by now.

    Without a `total` nobody knows how much there is, and the bar only moves. Nothing is shown where stderr is no
    terminal, and none where machines read.
    """
    if not output.for_people or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - only where somebody looks on
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    counts = () if total is None else (MofNCompleteColumn(),)
    columns = (TextColumn("{task.description}"), BarColumn(), *counts, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True, highlight=False), transient=True) as bar:
        task = bar.add_task(words, total=total)
        yield lambda done: bar.update(task, completed=done)
