"""`tocsin ledger`: holding what was recorded against what should have been."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Final
from uuid import UUID

import typer

from ...domain.errors import JobNotFound
from ...domain.job import ScheduledJob
from ...domain.ledger import LedgerReport
from ...ports.queries import LIMIT_BOUNDS, JobFilter, SortOrder
from ...ports.scheduler import IScheduler
from .documents import listing
from .exits import ExitCode
from .inputs import optional_instant
from .ledger_views import verdict
from .references import find_job
from .session import Session, querying, remote

_MOST: Final = LIMIT_BOUNDS[1]


def register(ledger: typer.Typer) -> None:
    """Add the command."""
    ledger.command("verify")(remote(querying(verify)))


async def verify(
    session: Session,
    *,
    job: Annotated[str | None, typer.Option(metavar="JOB", help="Only this one, by its id, key or name.")] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="INSTANT", help="Later than this; else 24 hours before --to.")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="INSTANT", help="Up to this; else now.")] = None,
) -> None:
    """
    Account for every nominal time of all jobs in a window.

    Lists what is missing, doubled, early or unexplained, and exits with 1 if anything is.
    """
    after, end = optional_instant(since, "from"), optional_instant(until, "to")
    reports: list[LedgerReport] = []
    names: dict[UUID, str] = {}
    async with session.connect() as scheduler:
        async for each in _jobs(scheduler, job):
            # A job may be deleted between the list and its turn.
            with suppress(*() if job is not None else (JobNotFound,)):
                reports.append(await scheduler.verify_ledger(each.id, since=after, until=end))
                names[each.id] = each.definition.name
    session.output.show(listing(reports), lambda _: verdict(reports, names))
    if any(not report.is_clean for report in reports):
        raise typer.Exit(ExitCode.FAILED)


async def _jobs(scheduler: IScheduler, reference: str | None) -> AsyncIterator[ScheduledJob]:
    """Walk through the jobs of the tenant, or give the one that is named."""
    if reference is not None:
        yield await scheduler.get_job(await find_job(scheduler, reference))
        return
    cursor: str | None = None
    while True:
        page = await scheduler.list_jobs(JobFilter(limit=_MOST, sort_order=SortOrder.ASC, cursor=cursor))
        for job in page.items:
            yield job
        cursor = page.next_cursor
        if cursor is None:
            return
