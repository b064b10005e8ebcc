"""`tocsin doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Final

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...application.diagnosing import Diagnosis
from ...application.diagnosis import Finding, Level
from .documents import listing
from .exits import ExitCode
from .factories import NodeOptions
from .options import ConfigOption, DatabaseOption, RedisOption
from .session import Session, remote
from .texts import counted, visible

# \b keeps the lines below it as they are.
EXAMPLES: Final = """\b
Examples:
  tocsin doctor
  tocsin doctor --database-url postgresql://tocsin@db/tocsin --redis-url redis://cache
  tocsin doctor --strict --json
"""

_MARKS: Final[Mapping[Level, tuple[str, str]]] = MappingProxyType(
    {
        Level.OK: ("\N{CHECK MARK}", "green"),
        Level.NOTE: ("\N{MIDDLE DOT}", "cyan"),
        Level.WARNING: ("!", "yellow"),
        Level.ERROR: ("\N{BALLOT X}", "bold red"),
    }
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", epilog=EXAMPLES)(remote(doctor))


async def doctor(
    session: Session,
    *,
    database_url: DatabaseOption = None,
    redis_url: RedisOption = None,
    config: ConfigOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings make it exit with 1 as well.")] = False,
) -> None:
    """
    Look for trouble, and say what to do about it.

    Asks a node, and the database and Redis that the settings here name; nothing is changed. Exits with 1 if there is
    an error.
    """
    options = NodeOptions(config=config, database_url=database_url, redis_url=redis_url)
    diagnosis = Diagnosis(
        connect=session.connect,
        conditions=session.factories.conditions(options),
        version=session.factories.version,
        now=lambda: session.now,
    )
    findings = await diagnosis()
    session.output.show(listing(findings), lambda _: _drawn(findings))
    failing = {Level.ERROR, Level.WARNING} if strict else {Level.ERROR}
    if any(each.level in failing for each in findings):
        raise typer.Exit(ExitCode.FAILED)


def _drawn(findings: Sequence[Finding]) -> RenderableType:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for each in findings:
        mark, style = _MARKS[each.level]
        words = Text(visible(each.message), style="" if each.level is Level.OK else style)
        if each.advice is not None:
            words.append(f"\n\N{RIGHTWARDS ARROW} {visible(each.advice)}", style="not bold default")
        table.add_row(Text(mark, style=style), each.subject, words)
    return Group(table, Text(), _sum(findings))


def _sum(findings: Sequence[Finding]) -> Text:
    levels = [each.level for each in findings]
    errors, warnings = levels.count(Level.ERROR), levels.count(Level.WARNING)
    style = "bold red" if errors else "bold yellow" if warnings else "bold green"
    told = ", ".join(counted(count, word) for count, word in ((errors, "error"), (warnings, "warning")) if count)
    return Text(told or "nothing is wrong", style=style)
