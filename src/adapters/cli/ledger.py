"""`tocsin ledger`: holding what was recorded against what should have been."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import Annotated, Final

import typer

from ...domain.errors import JobNotFound
from ...domain.job import ScheduledJob
from ...domain.ledger import LedgerReport
from ...ports.queries import LIMIT_BOUNDS, JobFilter, SortOrder
from ...ports.scheduler import IScheduler
from .completion import complete_job
from .documents import listing
from .exits import ExitCode
from .instants import optional_bound
from .ledger_views import verdict
from .progress import progress
from .references import find_job
from .session import Session, querying, remote

_MOST: Final = LIMIT_BOUNDS[1]
_AT_ONCE: Final = 8
"""Jobs that a node is asked about at the same time, which leaves it room for others."""


def register(ledger: typer.Typer) -> None:
    """Add the command."""
    ledger.command("verify")(remote(querying(verify)))


async def verify(
    session: Session,
    *,
    job: Annotated[
        str | None,
        typer.Option(metavar="JOB", help="Only this one, by its id, key or name.", autocompletion=complete_job),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="INSTANT",
            help='Later than this: an instant, a date in UTC, "2 hours ago"; else 24 hours before --to.',
        ),
    ] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="INSTANT", help="Up to this; else now.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every job, not only those with findings.")] = False,
) -> None:
    """
    Account for every nominal time of all jobs in a window.

    Lists what is missing, doubled, early or unexplained, and exits with 1 if anything is.
    """
    after, end = optional_bound(since, "from", past=True), optional_bound(until, "to", past=True)
    async with session.connect() as scheduler:
        if job is None:
            found = await _every(session, scheduler, after, end)
        else:
            named = await scheduler.get_job(await find_job(scheduler, job))
            found = [(named, await scheduler.verify_ledger(named.id, since=after, until=end))]
    reports = [report for _, report in found]
    names = {each.id: each.definition.name for each, _ in found}
    session.output.show(listing(reports), lambda _: verdict(reports, names, every=every))
    if any(not report.is_clean for report in reports):
        raise typer.Exit(ExitCode.FAILED)


async def _every(
    session: Session, scheduler: IScheduler, since: datetime | None, until: datetime | None
) -> list[tuple[ScheduledJob, LedgerReport]]:
    """Verify all jobs, page by page."""
    total = (await scheduler.list_jobs(JobFilter(limit=1))).total
    found = []
    with progress(session.output, "verifying jobs", total=total) as done:
        async for page in _pages(scheduler):
            found += await _verified(scheduler, page, since, until)
            done(len(found))
    return found


async def _pages(scheduler: IScheduler) -> AsyncIterator[Iterable[ScheduledJob]]:
    """Walk through the jobs of the tenant, oldest first."""
    cursor: str | None = None
    while True:
        page = await scheduler.list_jobs(JobFilter(limit=_MOST, sort_order=SortOrder.ASC, cursor=cursor))
        yield page.items
        cursor = page.next_cursor
        if cursor is None:
            return


async def _verified(
    scheduler: IScheduler, jobs: Iterable[ScheduledJob], since: datetime | None, until: datetime | None
) -> list[tuple[ScheduledJob, LedgerReport]]:
    """Verify jobs, several at once, and answer in their order."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(job: ScheduledJob) -> tuple[ScheduledJob, LedgerReport] | None:
        async with turns:
            try:
                return job, await scheduler.verify_ledger(job.id, since=since, until=until)
            except JobNotFound:
                # A job may be deleted between the list and its turn.
                return None

    tasks = [asyncio.create_task(one(job)) for job in jobs]
    try:
        return [each for each in await asyncio.gather(*tasks) if each is not None]
    finally:
        # After the first failure nobody wants the other answers.
        for task in tasks:
            task.cancel()
