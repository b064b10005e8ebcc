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
from .confirmation import confirm
from .crontab import Crontab, CrontabLayout, Note, read_crontab
from .exits import ExitCode
from .importing import Fate, ImportedLine, as_new, carry_over, compare, refused
from .leftovers import Leftover, cancel_all, left_over
from .options import YesOption
from .progress import progress
from .session import Session, remote
from .tables import rows, state
from .texts import counted, shortened, visible

FIRES_SHOWN: Final = 3
LARGEST_FILE: Final = 4 * 1024 * 1024

# What is longer is seldom a crontab; --json has the whole.
_SHOWN: Final = 160
_NAMED: Final = 5
_GOES_ON: Final = "the file no longer has it; it goes on unless --prune cancels it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an import came to: every line with its fate, what is different afterwards, and whether it was a trial."""

    lines: Sequence[ImportedLine]
    notes: Sequence[Note]
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """Whether jobs that the file no longer has are to be cancelled, and without asking."""

    wanted: bool
    yes: bool


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
    prune: Annotated[
        bool, typer.Option("--prune", help="Cancel the jobs of this scope that the file no longer has.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """
    Carry a crontab over into jobs; lines that cannot be are listed with their reason.

    Doing it again after an edit changes the jobs whose time or settings were edited. A line whose command
    was edited is a new job, and the job of the old line, like that of a deleted one, is left over: it goes on
    until --prune cancels it, with what of it is pending or running. The node must allow commands.

    Exits with 0 if every line was carried over, with 6 if some were not.
    """
    load_zone(timezone)
    read = read_crontab(
        _read(file),
        layout=CrontabLayout.SYSTEM if system else CrontabLayout.USER,
        check=lambda schedule: _check(session, schedule),
        scope=scope,
    )
    if dry_run:
        lines = await _tried(session, read, timezone)
    else:
        lines = await _done(session, read, timezone, Pruning(wanted=prune, yes=yes))
    every = sorted([*lines, *refused(read)], key=lambda each: each.line or sys.maxsize)
    report = Report(lines=every, notes=read.notes, dry_run=dry_run)
    session.output.show(report, lambda shown: _draw(session, shown))
    if left := [each.fate for each in every].count(Fate.LEFT_OVER):
        go_on = counted(left, "job goes on", "jobs go on")
        session.output.note(
            f"Warning: {go_on} that the file no longer has{'' if prune else '; --prune cancels what is left over'}"
        )
    if any(each.fate is Fate.REFUSED for each in every):
        raise typer.Exit(ExitCode.PARTLY)


async def _done(session: Session, read: Crontab, timezone: str, pruning: Pruning) -> Sequence[ImportedLine]:
    async with session.connect() as scheduler:
        planned = await compare(scheduler, read, timezone)
        leftovers = await left_over(scheduler, read)
        if pruning.wanted:
            _ask(leftovers, pruning)
        with progress(session.output, "carrying over", total=len(planned)) as done:
            carried = await carry_over(scheduler, planned, done)
        if not pruning.wanted:
            return [*carried, *(each.line(reason=_GOES_ON) for each in leftovers)]
        with progress(session.output, "cancelling what is left over"):
            return [*carried, *await cancel_all(scheduler, leftovers)]


def _ask(leftovers: Sequence[Leftover], pruning: Pruning) -> None:
    """Ask before anything is written, if there is something to cancel."""
    names = [each.job.definition.name for each in leftovers if each.refused is None]
    if names:
        shown = ", ".join(names[:_NAMED]) + (", and others" if len(names) > _NAMED else "")
        confirm(f"Cancel {counted(len(names), 'job')} that the file no longer has ({shown})?", yes=pruning.yes)


async def _tried(session: Session, read: Crontab, timezone: str) -> Sequence[ImportedLine]:
    try:
        async with session.connect() as scheduler:
            planned = await compare(scheduler, read, timezone)
            leftovers = await left_over(scheduler, read)
    except StoreUnavailable as error:
        session.output.note(f"{visible(error.message)}: every line is shown as if it were new")
        return [each.line() for each in as_new(read, timezone)]
    return [*(each.line() for each in planned), *(each.line(reason=_GOES_ON) for each in leftovers)]


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
                state(each.fate.words),
                each.timezone,
                shortened(each.source.strip(), _SHOWN),
                _outcome(session, each, report),
            )
            for each in report.lines
        ),
        empty="the file has no entries",
    )
    notes = [Text(f"line {note.line}: {shortened(note.reason, _SHOWN)}", style="yellow") for note in report.notes]
    return Group(table, Text(), *notes, Text(_summary(report), style="bold"))


def _outcome(session: Session, line: ImportedLine, report: Report) -> str:
    if line.reason is not None:
        return shortened(line.reason, _SHOWN)
    return _fires(session, line) if report.dry_run else ""


def _fires(session: Session, line: ImportedLine) -> str:
    timing = Timing(schedule=line.schedule or "", timezone=line.timezone or "UTC")
    preview = session.factories.preview(timing, after=session.now, count=FIRES_SHOWN)
    return ", ".join(f"{fire.local:%Y-%m-%d %H:%M}" for fire in preview.fires)


def _summary(report: Report) -> str:
    counts = ", ".join(f"{[each.fate for each in report.lines].count(fate)} {fate.words}" for fate in Fate)
    return f"{counts}; nothing was changed (--dry-run)" if report.dry_run else counts
