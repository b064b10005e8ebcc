"""`tocsin watch`, and logs that are followed: what happens, as it happens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Final, cast
from uuid import UUID

import typer
from rich.text import Text

from ...domain.errors import InvalidInput
from ...domain.event import RESERVED, Event
from ...domain.execution import ExecutionStatus
from ...domain.patterns import is_pattern, is_reserved, matches
from ...ports.event_requests import FeedItem
from .execution_views import log_line
from .exits import ExitCode
from .session import Session, remote
from .texts import milliseconds, visible

# \b keeps the lines below it as they are.
WATCH_EXAMPLES: Final = """\b
Examples:
  tocsin watch
  tocsin watch --names 'execution.failed' --names 'execution.timed_out'
  tocsin watch --json | jq .data.job_name
"""

_WORDS: Final = ("error", "skip_reason", "finding", "reason")
_TROUBLE: Final = frozenset({"failed", "timed_out", "lost", "anomaly"})


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("watch", epilog=WATCH_EXAMPLES)(remote(watch))


async def watch(
    session: Session,
    *,
    names: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only facts such as job.* or execution.failed; repeatable."),
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="POSITION", help="Go on behind this, the position in what --json prints.")
    ] = None,
    count: Annotated[int | None, typer.Option(metavar="N", help="End after this many.")] = None,
) -> None:
    """
    Show what happens to jobs and executions, as it happens.

    As JSON each fact is an object in one line. Ctrl-C ends it.
    """
    patterns = [_pattern(name) for name in names or ("**",)]
    if count is not None and count < 1:
        raise InvalidInput.of("count", "must be 1 or more")
    told = 0
    async with (
        session.connect() as scheduler,
        # What is left early must be closed before its connection is.
        aclosing(cast("AsyncGenerator[FeedItem]", scheduler.watch(after=after))) as items,
    ):
        async for item in items:
            if item.fact is None or not any(matches(pattern, item.fact.name) for pattern in patterns):
                continue
            session.output.show_line(item, _line)
            told += 1
            if told == count:
                return


async def follow_logs(session: Session, execution_id: UUID, after: int) -> None:
    """
    Print lines as they come, until the execution has ended.

    Raises:
        typer.Exit: with 1, if it did not succeed.
    """
    async with session.connect() as scheduler:
        async for line in scheduler.follow_execution_logs(execution_id, after=after):
            session.output.show_line(line, log_line)
        ended = await scheduler.get_execution(execution_id)
    duration = "" if ended.duration_ms is None else f" after {milliseconds(ended.duration_ms)}"
    session.output.note(f"{ended.status.value}{duration}{'' if ended.error is None else f': {visible(ended.error)}'}")
    if ended.status is not ExecutionStatus.SUCCESS:
        raise typer.Exit(ExitCode.FAILED)


def _pattern(name: str) -> str:
    """Read a pattern of facts, whose first segment may be left out."""
    pattern = name if is_reserved(name) else f"{RESERVED}.{name}"
    if not is_pattern(pattern):
        raise InvalidInput.of("names", f"{name!r} is not a pattern; expected one such as job.* or execution.failed")
    return pattern


def _line(item: FeedItem) -> Text:
    fact = item.fact
    if fact is None:
        return Text()
    instant = fact.received_at.astimezone()
    text = Text(f"{instant:%H:%M:%S}.{instant.microsecond // 1000:03} ", style="dim")
    text.append(f"{visible(fact.name.removeprefix(f'{RESERVED}.')):<22} ", style=_style(fact.name))
    return text.append(_words(fact))


def _style(name: str) -> str:
    return "red" if name.rpartition(".")[2] in _TROUBLE else ""


def _words(fact: Event) -> str:
    """Say of what it is a fact, and what is worth a glance."""
    data = fact.data if isinstance(fact.data, dict) else {}
    told = (data.get("job_name"), fact.subject, *(data.get(name) for name in _WORDS))
    return "  ".join(visible(str(each)) for each in told if each is not None)
