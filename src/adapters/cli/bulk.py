"""`tocsin jobs bulk` and `create-many`: the same for many jobs, and many jobs at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Final
from uuid import UUID

import typer

from ...domain.definition import document
from ...domain.errors import FieldError, InvalidInput, InvalidJob, TocsinError
from ...domain.job import ScheduledJob
from ...domain.json import encoded
from ...ports.batches import BulkAction, BulkOutcome, NewJob
from ...ports.queries import JobFilter
from ...ports.scheduler import IScheduler, OnConflict
from .bulk_views import bulk_facts, created_list, refused
from .confirmation import confirm
from .documents import listing
from .exits import ExitCode
from .instants import optional_bound
from .job_files import read_jobs
from .job_filters import (
    AllTagsOption,
    CallerOption,
    DueOption,
    HandlerOption,
    KeyOption,
    NameOption,
    StatusOption,
    TagOption,
    TypeOption,
)
from .options import JobsArgument, YesOption
from .progress import progress
from .references import find_job
from .session import Session, querying, remote
from .texts import counted

# \b keeps the lines below it as they are.
EXAMPLES: Final = """\b
Examples:
  tocsin jobs bulk pause --tag nightly --status active --dry-run
  tocsin jobs bulk trigger backup report
  tocsin jobs bulk cancel --handler reports.old --yes
"""

MOST_AT_ONCE: Final = 200
LENGTH_AT_ONCE: Final = 512 * 1024
"""In characters, for a server that reads twice as many bytes."""

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
    status: StatusOption = None,
    type: TypeOption = None,  # noqa: A002 - it is the option's name
    tag: TagOption = None,
    all_tags: AllTagsOption = None,
    handler: HandlerOption = None,
    key: KeyOption = None,
    name: NameOption = None,
    created_by: CallerOption = None,
    due_before: DueOption = None,
    every: Annotated[bool, typer.Option("--all", help="Every job there is.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would do; change nothing.")] = False,
    yes: YesOption = False,
) -> None:
    """
    Pause, resume, cancel or trigger many jobs: those named, or those that match.

    Shows what it would do, and asks. Exits with 6 if some could not be changed; the others were.
    """
    query = JobFilter(
        status=tuple(status or ()),
        type=tuple(type or ()),
        tags=tuple(tag or ()),
        tags_all=tuple(all_tags or ()),
        handler_name=tuple(handler or ()),
        key=tuple(key or ()),
        name_contains=name,
        created_by=tuple(created_by or ()),
        next_run_before=optional_bound(due_before, "next_run_before"),
    )
    if [bool(jobs), query != JobFilter(), every].count(True) != 1:
        raise InvalidInput.of("jobs", "say which: name them, or use filters such as --tag, or --all")
    async with session.connect() as scheduler:
        named = [await find_job(scheduler, each) for each in jobs] if jobs else None
        if dry_run or not yes:
            outcome = await _change(scheduler, action, named or query, dry_run=True)
        if not dry_run:
            if not yes:
                _ask(session, outcome)
            with progress(session.output, action.value):
                outcome = await _change(scheduler, action, named or query, dry_run=False)
    session.output.show(outcome, bulk_facts)
    if refused(outcome):
        raise typer.Exit(ExitCode.PARTLY)


def _one_request(jobs: Sequence[NewJob]) -> Sequence[NewJob]:
    """Take as many of them as one request may carry, but one at least."""
    length = 0
    for place, job in enumerate(jobs):
        length += len(encoded(document(job.definition)))
        if place and length > LENGTH_AT_ONCE:
            return jobs[:place]
    return jobs


@contextmanager
def _placed(session: Session, made: int) -> Iterator[None]:
    """Have an error in a batch name places in the whole file, and tell what was made before."""
    try:
        yield
    except TocsinError as error:
        if made:
            session.output.note(f"{counted(made, 'job')} were created before that")
        if not isinstance(error, InvalidInput):
            raise
        raise InvalidJob(
            FieldError(_PLACE.sub(lambda match: f"jobs[{int(match[1]) + made}]", each.field), each.message)
            for each in error.errors
        ) from None


async def _change(
    scheduler: IScheduler, action: BulkAction, meant: Sequence[UUID] | JobFilter, *, dry_run: bool
) -> BulkOutcome:
    if isinstance(meant, JobFilter):
        return await scheduler.change_jobs(action, query=meant, dry_run=dry_run)
    return await scheduler.change_jobs(action, job_ids=meant, dry_run=dry_run)


def _ask(session: Session, outcome: BulkOutcome) -> None:
    """Show what would be done, and ask whether to; if that is nothing, nobody is asked."""
    if not outcome.changed:
        return
    if session.output.for_people:
        session.output.print(bulk_facts(outcome))
    confirm(f"{outcome.action.value.capitalize()} {counted(outcome.changed, 'job')}?", yes=False)


async def create_many(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON array of jobs, or one in each line; - is stdin.")],
    *,
    on_conflict: Annotated[OnConflict, typer.Option(help="What to do when a key is taken.")] = OnConflict.ERROR,
) -> None:
    """
    Create many jobs, each as the HTTP API takes it.

    They are created some hundred at a time, and of these all or none. What a file is to hold for good, `tocsin apply`
    carries out better.
    """
    jobs = read_jobs(file)
    made: list[ScheduledJob] = []
    async with session.connect() as scheduler:
        with progress(session.output, "creating", total=len(jobs)) as done:
            while batch := _one_request(jobs[len(made) : len(made) + MOST_AT_ONCE]):
                with _placed(session, len(made)):
                    made += await scheduler.schedule_many(batch, on_conflict=on_conflict)
                done(len(made))
    session.output.show(listing(made), lambda _: created_list(made))
