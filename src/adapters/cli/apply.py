"""`tocsin apply`: jobs and event handlers as files declare them."""

from __future__ import annotations

import sys
from functools import cache
from typing import Annotated

import typer

from ...domain.errors import InvalidInput
from ...domain.job import JobDefinition
from ...domain.reconciliation import Fate
from ...ports.scheduler import Timing
from .confirmation import confirm
from .declarative.applying import Plan, Report, carry_out, plan
from .declarative.entries import read_wishes
from .declarative.files import read_source
from .declarative.jobs import CheckTiming
from .declarative.report_views import drawn, shown_plan, summary
from .exits import ExitCode
from .options import YesOption
from .session import Session, remote
from .texts import counted

EXAMPLE = "Example: tocsin apply -f jobs.yaml --dry-run"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("apply", epilog=EXAMPLE)(remote(apply))


async def apply(
    session: Session,
    *,
    file: Annotated[
        list[str],
        typer.Option("--file", "-f", metavar="FILE", help="YAML, .json or .toml; - reads stdin. May be repeated."),
    ],
    scope: Annotated[
        str | None, typer.Option(help="Whose jobs these are, if the files do not say; else default.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and change nothing.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the jobs that this scope made and no file has any more.")
    ] = False,
    prune_all: Annotated[
        bool, typer.Option("--prune-all", help="With --prune and --yes: even if that leaves none of them.")
    ] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take over jobs with these keys that a person, or another scope, made.")
    ] = False,
    allow_unknown_handler: Annotated[
        bool, typer.Option("--allow-unknown-handler", help="The functions may come later.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """
    Make jobs and event handlers what files declare, and show what changes.

    They are found again by their keys. What a file does not state has its default, but a paused job stays paused.
    Without --yes it asks, if there is a terminal to ask on. Doing it again changes nothing.

    With --dry-run it exits with 0 if nothing would change, and with 7 if something would.
    """
    wishes = read_wishes([read_source(each) for each in file], scope=scope, check=_timing_check(session))
    async with session.connect() as scheduler:
        planned = await plan(scheduler, wishes, prune=prune, adopt=adopt)
        expected = planned.report()
        if dry_run or expected.count(Fate.CONFLICT):
            session.output.show(expected, drawn)
            raise typer.Exit(_code(expected))
        is_asked = not yes and (sys.stdin.isatty() or expected.count(Fate.PRUNE) > 0)
        if session.output.for_people or is_asked:
            session.output.show_before(shown_plan(expected))
        _ask(planned, expected, yes=yes, prune_all=prune_all)
        report = await carry_out(scheduler, planned, allow_unknown_handler=allow_unknown_handler)
    session.output.show(report, summary)
    if report.failed:
        raise typer.Exit(ExitCode.PARTLY)


def _code(unchanged: Report) -> ExitCode:
    """Say by the exit code what a plan that is not carried out would come to."""
    if unchanged.count(Fate.CONFLICT):
        return ExitCode.CONFLICT
    return ExitCode.CHANGES if unchanged.count(Fate.CREATE, Fate.CHANGE, Fate.PRUNE) else ExitCode.OK


def _ask(planned: Plan, expected: Report, *, yes: bool, prune_all: bool) -> None:
    """Ask before anything is written; what ends jobs is done without asking only if that was said."""
    pruned = expected.count(Fate.PRUNE)
    if planned.prunes_everything and not prune_all and (yes or not sys.stdin.isatty()):
        raise InvalidInput.of(
            "prune_all", f"this deletes all {pruned} that scope {expected.scope} made; give --prune-all if so"
        )
    if pruned:
        which = "all" if planned.prunes_everything else "the"
        confirm(f"Go on, and delete {which} {counted(pruned, 'job')} listed?", yes=yes)
    elif expected.count(Fate.CREATE, Fate.CHANGE) and sys.stdin.isatty():
        confirm("Go on?", yes=yes)


def _timing_check(session: Session) -> CheckTiming:
    # Many jobs share few schedules.
    @cache
    def fires(schedule: str, timezone: str) -> None:
        session.factories.preview(Timing(schedule=schedule, timezone=timezone), after=session.now, count=1)

    def check(definition: JobDefinition) -> None:
        fires(definition.schedule or "", definition.timezone)

    return check
