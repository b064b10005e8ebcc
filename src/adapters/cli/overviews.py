"""`tocsin jobs upcoming` and `calendar`: many jobs, or a month, at a glance."""

from __future__ import annotations

from typing import Annotated

import typer

from .instants import read_length
from .options import JobArgument
from .overview_views import month, upcoming
from .references import find_job
from .session import Session, remote


def register(jobs: typer.Typer) -> None:
    """Add the commands."""
    jobs.command("upcoming")(remote(list_upcoming, watchable=True))
    jobs.command("calendar")(remote(calendar))


async def list_upcoming(
    session: Session,
    *,
    within: Annotated[str, typer.Option(metavar="LENGTH", help="How far ahead to look, up to 7d.")] = "1h",
    limit: Annotated[int, typer.Option(metavar="N", help="Show at most this many, 1 to 1000.")] = 500,
) -> None:
    """List the next fires of all active jobs, in order."""
    length = read_length(within, "within")
    async with session.connect() as scheduler:
        found = await scheduler.list_upcoming(within=length, limit=limit)
    session.output.show(found, upcoming)


async def calendar(
    session: Session,
    job: JobArgument,
    *,
    month_: Annotated[str | None, typer.Option("--month", metavar="MONTH", help="2026-11; else this month.")] = None,
    timezone: Annotated[
        str | None, typer.Option("--timezone", metavar="ZONE", help="IANA name, such as Europe/Berlin; else the job's.")
    ] = None,
) -> None:
    """Show a month of a job: what came of its fires day by day, and those to come."""
    async with session.connect() as scheduler:
        found = await scheduler.get_job_calendar(await find_job(scheduler, job), month=month_, timezone=timezone)
    session.output.show(found, month)
