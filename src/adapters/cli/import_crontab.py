"""`tocsin import crontab`: a crontab file as jobs of type command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

import typer

from ...domain.errors import InvalidInput, StoreUnavailable
from ...domain.zones import load_zone
from ...ports.scheduler import Timing
from .confirmation import confirm
from .crontab import Crontab, CrontabLayout, read_crontab
from .crontab_views import Report, crontab_report
from .exits import ExitCode
from .importing import Fate, ImportedLine, Planned, as_new, carry_over, compare, refused
from .leftovers import Leftover, cancel_all, left_over
from .options import YesOption
from .progress import progress
from .session import Session, remote
from .sources import read_bytes
from .texts import counted, visible

LARGEST_FILE: Final = 4 * 1024 * 1024

_NAMED: Final = 5
_GOES_ON: Final = "the file no longer has it; it goes on unless --prune cancels it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """The options that say what becomes of jobs that the file no longer has."""

    prune: Annotated[
        bool, typer.Option("--prune", help="Cancel the jobs of this scope that the file no longer has.")
    ] = False
    prune_all: Annotated[
        bool, typer.Option("--prune-all", help="With --prune and --yes: even if that leaves none of them.")
    ] = False
    yes: YesOption = False


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
    pruning: Pruning,
) -> None:
    """
    Carry a crontab over into jobs; lines that cannot be are listed with their reason.

    Doing it again after an edit changes the jobs whose time or settings were edited. A line whose command
    was edited is a new job, and the job of the old line, like that of a deleted one, is left over: it goes on
    until --prune cancels it, with what of it is pending or running. Some node must allow commands.

    Exits with 0 if every line was carried over, with 6 if some were not.
    """
    load_zone(timezone)
    read = read_crontab(
        read_bytes(file, largest=LARGEST_FILE).decode("utf-8", "surrogateescape"),
        layout=CrontabLayout.SYSTEM if system else CrontabLayout.USER,
        check=lambda schedule: _check(session, schedule),
        scope=scope,
    )
    if dry_run:
        lines = await _tried(session, read, timezone)
    else:
        lines = await _done(session, read, timezone, pruning)
    every = sorted([*lines, *refused(read)], key=lambda each: each.line or sys.maxsize)
    report = Report(lines=every, notes=read.notes, dry_run=dry_run)
    session.output.show(report, partial(crontab_report, preview=session.factories.preview, now=session.now))
    if left := [each.fate for each in every].count(Fate.LEFT_OVER):
        go_on = counted(left, "job goes on", "jobs go on")
        advice = "" if pruning.prune else "; --prune cancels what is left over"
        session.output.note(f"Warning: {go_on} that the file no longer has{advice}")
    if any(each.fate is Fate.REFUSED for each in every):
        raise typer.Exit(ExitCode.PARTLY)


async def _done(session: Session, read: Crontab, timezone: str, pruning: Pruning) -> Sequence[ImportedLine]:
    async with session.connect() as scheduler:
        planned = await compare(scheduler, read, timezone)
        leftovers = await left_over(scheduler, read)
        if pruning.prune:
            _ask(planned, leftovers, pruning)
        with progress(session.output, "carrying over", total=len(planned)) as done:
            carried = await carry_over(scheduler, planned, done)
        if not pruning.prune:
            return [*carried, *(each.line(reason=_GOES_ON) for each in leftovers)]
        with progress(session.output, "cancelling what is left over"):
            return [*carried, *await cancel_all(scheduler, leftovers)]


def _ask(planned: Sequence[Planned], leftovers: Sequence[Leftover], pruning: Pruning) -> None:
    """Ask before anything is written, if there is something to cancel; an empty file is seldom meant to end all."""
    names = [each.job.definition.name for each in leftovers if each.refused is None]
    goes_on = len(names) < len(leftovers) or any(each.existing is not None for each in planned)
    if names and pruning.yes and not (goes_on or pruning.prune_all):
        raise InvalidInput.of(
            "prune_all", f"this cancels all {len(names)} that imports of this scope made; give --prune-all if so"
        )
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
