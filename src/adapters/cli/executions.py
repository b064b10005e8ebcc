"""`tocsin executions`: what ran, what it said, and running it again."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Final

import typer

from ...domain.errors import InvalidInput
from ...domain.execution import ExecutionStatus, Origin
from ...ports.queries import ExecutionFilter
from .completion import complete_job
from .confirmation import confirm
from .execution_views import execution_facts, execution_list, executions_of_jobs, log
from .following import follow_logs
from .instants import optional_bound
from .options import (
    ExecutionArgument,
    Paging,
    SinceOption,
    UntilOption,
    YesOption,
)
from .references import event_id, execution_id, find_job, job_names
from .session import Session, querying, remote

DEFAULT_LINES: Final = 250


def register(executions: typer.Typer) -> None:
    """Add the commands about executions."""
    executions.command("list")(remote(querying(list_executions), watchable=True))
    executions.command("show")(remote(show, watchable=True))
    executions.command("logs")(remote(querying(logs)))
    executions.command("cancel")(remote(cancel))
    executions.command("retry")(remote(retry))


async def list_executions(
    session: Session,
    *,
    job: Annotated[
        str | None,
        typer.Option(metavar="JOB", help="Only this job's; a deleted one's by its id.", autocompletion=complete_job),
    ] = None,
    status: Annotated[list[ExecutionStatus] | None, typer.Option(help="Only these; repeatable.")] = None,
    origin: Annotated[list[Origin] | None, typer.Option(help="Only these; repeatable.")] = None,
    event: Annotated[str | None, typer.Option(metavar="EVENT", help="Only what came of this event.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    page: Paging,
) -> None:
    """List executions of all jobs, newest first."""
    scheduled_after = optional_bound(since, "since")
    scheduled_before = optional_bound(until, "until")
    async with session.connect() as scheduler:
        query = ExecutionFilter(
            job_id=None if job is None else await find_job(scheduler, job),
            status=tuple(status or ()),
            origin=tuple(origin or ()),
            event_id=None if event is None else event_id(event),
            scheduled_after=scheduled_after,
            scheduled_before=scheduled_before,
            **asdict(page),
        )
        found = await scheduler.list_executions(query)
        wanted = () if job is not None or not session.output.for_people else (each.job_id for each in found.items)
        names = await job_names(scheduler, wanted)
    draw = execution_list if job is not None else partial(executions_of_jobs, names=names)
    session.output.show_page(found, draw)


async def show(session: Session, execution: ExecutionArgument) -> None:
    """Show all of one execution, its past attempts included."""
    async with session.connect() as scheduler:
        found = await scheduler.get_execution(execution_id(execution))
    session.output.show(found, execution_facts)


async def logs(
    session: Session,
    execution: ExecutionArgument,
    *,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Show lines as they come, until it has ended; exits with 1 if it failed."),
    ] = False,
    after: Annotated[int, typer.Option(metavar="N", help="Pass over this many lines.")] = 0,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Show at most this many, 1 to 1000; else 250.")] = None,
) -> None:
    """Show what an execution's handler logged."""
    if follow:
        if limit is not None:
            raise InvalidInput.of("limit", "does not go with --follow")
        await follow_logs(session, execution_id(execution), after)
        return
    async with session.connect() as scheduler:
        most = DEFAULT_LINES if limit is None else limit
        page = await scheduler.get_execution_logs(execution_id(execution), after=after, limit=most)
    session.output.show(page, log)
    seen = after + len(page.items)
    if page.items and seen < page.total:
        session.output.note(f"{seen} of {page.total} lines; go on with --after {seen}")


async def cancel(
    session: Session,
    execution: ExecutionArgument,
    *,
    yes: YesOption = False,
) -> None:
    """End one pending or running execution."""
    async with session.connect() as scheduler:
        found = execution_id(execution)
        confirm(f"Cancel execution {found}?", yes=yes)
        ended = await scheduler.cancel_execution(found)
    session.output.show(ended, execution_facts)


async def retry(session: Session, execution: ExecutionArgument) -> None:
    """Run a failed or timed-out execution again, as a new one."""
    async with session.connect() as scheduler:
        again = await scheduler.retry_execution(execution_id(execution))
    session.output.show(again, execution_facts)
