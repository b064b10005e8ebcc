"""`tocsin import crontab`: a crontab file as jobs of type command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ...domain.errors import InvalidInput, StoreUnavailable
from ...domain.zones import load_zone
from ...ports.scheduler import Timing
from .crontab import Crontab, CrontabLayout, Note, read_crontab
from .exits import ExitCode
from .importing import Fate, ImportedLine, Planned, carry_over, compare, define_entry, refused
from .session import Session, remote
from .tables import rows, state
from .texts import visible

FIRES_SHOWN: Final = 3
LARGEST_FILE: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an import came to: every line with its fate, what is different afterwards, and whether it was a trial."""

    lines: Sequence[ImportedLine]
    notes: Sequence[Note]
    dry_run: bool


def register(imports: typer.Typer) -> None:
    """Add the command."""
    imports.command("crontab")(remote(crontab))


async def crontab(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The crontab; - reads stdin.")],
    *,
    system: Annotated[
        bool, typer.Option("--system", help="As /etc/crontab has it: a user stands before the command.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done and when jobs would fire; change nothing.")
    ] = False,
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="The zone of lines without CRON_TZ, such as Europe/Berlin.")
    ] = "UTC",
    scope: Annotated[
        str, typer.Option(help="Keeps apart the crontabs of different people or machines: give each its own.")
    ] = "",
) -> None:
    """
    Carry a crontab over into jobs; lines that cannot be are listed with their reason.

    Doing it again after an edit changes only what was edited. The node must allow commands.
    Exits with 0 if every line was carried over, with 6 if some were not.
    """
    load_zone(timezone)
    read = read_crontab(
        _read(file),
        layout=CrontabLayout.SYSTEM if system else CrontabLayout.USER,
        check=lambda schedule: _check(session, schedule),
        scope=scope,
    )
    lines = await (_tried if dry_run else _done)(session, read, timezone)
    every = sorted([*lines, *refused(read)], key=lambda each: each.line)
    report = Report(lines=every, notes=read.notes, dry_run=dry_run)
    session.output.show(report, lambda shown: _draw(session, shown))
    if any(each.fate is Fate.REFUSED for each in every):
        raise typer.Exit(ExitCode.PARTLY)


async def _done(session: Session, read: Crontab, timezone: str) -> Sequence[ImportedLine]:
    async with session.connect() as scheduler:
        return await carry_over(scheduler, await compare(scheduler, read, timezone))


async def _tried(session: Session, read: Crontab, timezone: str) -> Sequence[ImportedLine]:
    try:
        async with session.connect() as scheduler:
            return [each.line() for each in await compare(scheduler, read, timezone)]
    except StoreUnavailable as error:
        session.output.note(f"{visible(error.message)}: every line is shown as if it were new")
        planned = (Planned(entry=entry, definition=define_entry(entry, timezone)) for entry in read.entries)
        return [each.line() for each in planned]


def _check(session: Session, schedule: str) -> None:
    session.factories.preview(Timing(schedule=schedule), after=session.now, count=1)


def _read(file: str) -> str:
    """
    Read a crontab as it is, line ends included; bytes that are no UTF-8 stand for themselves.

    Raises:
        InvalidInput: it cannot be read, or is larger than any crontab.
    """
    try:
        raw = sys.stdin.buffer.read(LARGEST_FILE + 1) if file == "-" else _bytes(Path(file))
    except OSError as error:
        raise InvalidInput.of("file", f"cannot read {file}: {error.strerror}") from error
    if len(raw) > LARGEST_FILE:
        raise InvalidInput.of("file", f"{file} is larger than {LARGEST_FILE} bytes")
    return raw.decode("utf-8", "surrogateescape")


def _bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(LARGEST_FILE + 1)


def _draw(session: Session, report: Report) -> RenderableType:
    heading = "next fires" if report.dry_run else "reason"
    table = rows(
        ("line", "", "zone", "crontab", heading),
        (
            (
                each.line,
                state(each.fate),
                each.timezone,
                each.source.strip(),
                each.reason or (_fires(session, each) if report.dry_run else ""),
            )
            for each in report.lines
        ),
        empty="the file has no entries",
    )
    notes = [Text(f"line {note.line}: {visible(note.reason)}", style="yellow") for note in report.notes]
    return Group(table, Text(), *notes, Text(_summary(report), style="bold"))


def _fires(session: Session, line: ImportedLine) -> str:
    timing = Timing(schedule=line.schedule or "", timezone=line.timezone or "UTC")
    preview = session.factories.preview(timing, after=session.now, count=FIRES_SHOWN)
    return ", ".join(f"{fire.local:%Y-%m-%d %H:%M}" for fire in preview.fires)


def _summary(report: Report) -> str:
    counts = ", ".join(f"{[each.fate for each in report.lines].count(fate)} {fate.value}" for fate in Fate)
    return f"{counts}; nothing was changed (--dry-run)" if report.dry_run else counts
