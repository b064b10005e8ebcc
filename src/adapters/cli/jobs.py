"""`tocsin jobs`: reading jobs, their fires, their history and their figures."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Final

import typer

from ...domain.execution import ExecutionStatus
from ...ports.queries import ExecutionFilter, SortBy, SortOrder
from .execution_views import execution_list
from .instants import optional_bound
from .job_filters import JobsMeant
from .job_views import figures, fires, job_facts, job_list
from .ledger_views import change_list
from .options import (
    AfterOption,
    CountOption,
    CursorOption,
    JobArgument,
    LimitOption,
    Paging,
    SinceOption,
    UntilOption,
)
from .references import find_job, newest_outcomes
from .session import Session, querying, remote
from .strips import ALONE, IN_LIST

_ASCENDING: Final = frozenset({SortBy.NAME, SortBy.NEXT_RUN})


def register(jobs: typer.Typer) -> None:
    """Add the reading commands."""
    jobs.command("list")(remote(querying(list_jobs), watchable=True))
    jobs.command("show")(remote(show, watchable=True))
    jobs.command("history")(remote(querying(history), watchable=True))
    jobs.command("changes")(remote(querying(changes)))
    jobs.command("stats")(remote(stats, watchable=True))
    jobs.command("preview")(remote(preview))


async def list_jobs(
    session: Session,
    *,
    meant: JobsMeant,
    sort: Annotated[SortBy, typer.Option(help="What to sort by.")] = SortBy.CREATED_AT,
    order: Annotated[
        SortOrder | None, typer.Option(help="Which way; else names and next runs ascend.", show_default=False)
    ] = None,
    page: Paging,
) -> None:
    """List jobs, newest first."""
    way = order or (SortOrder.ASC if sort in _ASCENDING else SortOrder.DESC)
    query = replace(meant.query(), sort_by=sort, sort_order=way, **asdict(page))
    async with session.connect() as scheduler:
        found = await scheduler.list_jobs(query)
        wanted = [job.id for job in found.items] if session.output.for_people else []
        outcomes = await newest_outcomes(scheduler, wanted, limit=IN_LIST)
    session.output.show_page(found, partial(job_list, outcomes=outcomes))


async def show(session: Session, job: JobArgument) -> None:
    """Show all of one job."""
    async with session.connect() as scheduler:
        found = await scheduler.get_job(await find_job(scheduler, job))
        wanted = [found.id] if session.output.for_people else []
        outcomes = await newest_outcomes(scheduler, wanted, limit=ALONE)
    session.output.show(found, partial(job_facts, outcomes=outcomes.get(found.id, ())))


async def history(
    session: Session,
    job: JobArgument,
    *,
    status: Annotated[list[ExecutionStatus] | None, typer.Option(help="Only these; repeatable.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    page: Paging,
) -> None:
    """
    List a job's executions, newest first.

    Those of a deleted job are listed by `tocsin executions list --job ID`.
    """
    query = ExecutionFilter(
        status=tuple(status or ()),
        scheduled_after=optional_bound(since, "since"),
        scheduled_before=optional_bound(until, "until"),
        **asdict(page),
    )
    async with session.connect() as scheduler:
        found = await scheduler.get_job_history(await find_job(scheduler, job), query)
    session.output.show_page(found, execution_list)


async def changes(session: Session, job: JobArgument, *, limit: LimitOption = 50, cursor: CursorOption = None) -> None:
    """
    Show who changed a job, when and to what, newest first.

    Those of a deleted job are shown by its id, until retention removes them.
    """
    async with session.connect() as scheduler:
        page = await scheduler.get_job_changes(await find_job(scheduler, job), limit=limit, cursor=cursor)
    session.output.show_page(page, change_list)


async def stats(session: Session, job: JobArgument) -> None:
    """Show a job's outcomes, durations and failures."""
    async with session.connect() as scheduler:
        found = await scheduler.get_job_stats(await find_job(scheduler, job))
    session.output.show(found, figures)


async def preview(session: Session, job: JobArgument, *, count: CountOption = 10, after: AfterOption = None) -> None:
    """Show when a job fires next."""
    instant = optional_bound(after, "after")
    async with session.connect() as scheduler:
        found = await scheduler.preview(await find_job(scheduler, job), after=instant, count=count)
    session.output.show(found, fires)
