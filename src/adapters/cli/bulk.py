"""`tocsin jobs bulk` and `create-many`: the same for many jobs, and many jobs at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Final, Protocol
from uuid import UUID

import typer

from ...domain.definition import document
from ...domain.errors import FieldError, InvalidInput, InvalidJob, TocsinError
from ...domain.job import ScheduledJob
from ...ports.batches import BulkAction, BulkOutcome
from ...ports.conflicts import OnConflict
from ...ports.queries import JobFilter
from ...ports.scheduler import IScheduler
from .bulk_views import bulk_facts, created_list, refused
from .confirmation import confirm
from .documents import listing
from .exits import ExitCode, tell
from .job_files import read_jobs
from .job_filters import JobsMeant
from .options import JobsArgument, YesOption
from .output import Form
from .progress import progress
from .references import find_job
from .request_sizes import in_requests
from .session import Session, querying, remote
from .texts import counted

# \b keeps the lines below it as they are.
EXAMPLES: Final = """\b
Examples:
  tocsin jobs bulk pause --tag nightly --status active --dry-run
  tocsin jobs bulk trigger backup report
  tocsin jobs bulk cancel --handler reports.old --yes
"""


class _Change(Protocol):
    """Does it to the jobs that are meant, or tells what that would come to."""

    async def __call__(self, *, dry_run: bool) -> BulkOutcome: ...


_PLACE: Final = re.compile(r"^jobs\[(\d+)\]")


def register(jobs: typer.Typer) -> None:
    """Add the commands."""
    jobs.command("bulk", epilog=EXAMPLES)(remote(querying(bulk)))
    jobs.command("create-many")(remote(create_many))


async def bulk(
    session: Session,
    action: Annotated[BulkAction, typer.Argument(help="What to do to each of them.")],
    jobs: JobsArgument = None,
    *,
    meant: JobsMeant,
    every: Annotated[bool, typer.Option("--all", help="Every job there is.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would do; change nothing.")] = False,
    yes: YesOption = False,
) -> None:
    """
    Pause, resume, cancel or trigger many jobs: those named, or those that match.

    Shows what it would do, and asks. Exits with 6 if some could not be changed; the others were.
    """
    query = meant.query()
    if [bool(jobs), query != JobFilter(), every].count(True) != 1:
        raise InvalidInput.of("jobs", "say which: name them, or use filters such as --tag, or --all")
    async with session.connect() as scheduler:
        named = [await find_job(scheduler, each) for each in jobs] if jobs else None
        change = partial(_change, scheduler, action, named or query)
        outcome = await (_looked_at(session, change) if dry_run else _carried_out(session, change, yes=yes))
    session.output.show(outcome, bulk_facts)
    if refused(outcome):
        raise typer.Exit(ExitCode.PARTLY)


async def _looked_at(session: Session, change: _Change) -> BulkOutcome:
    outcome = await change(dry_run=True)
    if session.output.form is Form.IDS and outcome.changed > len(outcome.jobs):
        shown = f"only {len(outcome.jobs)} of {outcome.changed} ids would be shown"
        raise InvalidInput.of("output", f"{shown}; choose json, or take the ids from `tocsin jobs list`")
    return outcome


async def _carried_out(session: Session, change: _Change, *, yes: bool) -> BulkOutcome:
    """Change them, after a look and a question where nobody said yes; if nothing would change, nobody is asked."""
    if not yes or session.output.form is Form.IDS:
        outcome = await _looked_at(session, change)
        if not outcome.changed:
            return replace(outcome, dry_run=False)
        if not yes:
            session.output.show_before(bulk_facts(outcome))
        confirm(f"{outcome.action.value.capitalize()} {counted(outcome.changed, 'job')}?", yes=yes)
    with progress(session.output, "changing"):
        return await change(dry_run=False)


@contextmanager
def _placed(before: int) -> Iterator[None]:
    """Have an error in a batch name places in the whole file."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidJob(
            FieldError(_PLACE.sub(lambda match: f"jobs[{int(match[1]) + before}]", each.field), each.message)
            for each in error.errors
        ) from None


async def _change(
    scheduler: IScheduler, action: BulkAction, meant: Sequence[UUID] | JobFilter, *, dry_run: bool
) -> BulkOutcome:
    if isinstance(meant, JobFilter):
        return await scheduler.change_jobs(action, query=meant, dry_run=dry_run)
    return await scheduler.change_jobs(action, job_ids=meant, dry_run=dry_run)


async def create_many(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON array of jobs, or one in each line; - is stdin.")],
    *,
    on_conflict: Annotated[OnConflict, typer.Option(help="What to do when a key is taken.")] = OnConflict.ERROR,
    after: Annotated[int, typer.Option(metavar="N", min=0, help="Pass over this many jobs.")] = 0,
) -> None:
    """
    Create many jobs, each as the HTTP API takes it.

    They are created some hundred at a time, and of these all or none: it exits with 6 if only the first of them were,
    and lists those. What a file is to hold for good, `tocsin apply` carries out better.
    """
    jobs = read_jobs(file)[after:]
    made: list[ScheduledJob] = []
    try:
        async with session.connect() as scheduler:
            with progress(session.output, "creating", total=len(jobs)) as done:
                for batch in in_requests(jobs, lambda each: document(each.definition)):
                    with _placed(after + len(made)):
                        made += await scheduler.schedule_many(batch, on_conflict=on_conflict)
                    done(len(made))
    except TocsinError as error:
        if not made:
            raise
        _show_created(session, made)
        tell(error)
        reached = after + len(made)
        typer.echo(f"{counted(len(made), 'job')} were created before that: go on with --after {reached}", err=True)
        raise typer.Exit(ExitCode.PARTLY) from error
    _show_created(session, made)


def _show_created(session: Session, made: Sequence[ScheduledJob]) -> None:
    session.output.show(listing(made), lambda _: created_list(made))
