"""`tocsin jobs`: creating jobs and changing what they are."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast

import typer

from ...domain.errors import InvalidInput
from .definitions import JobDetails, When, Work, define, merged
from .exits import UNKNOWN_HANDLER_ADVICE
from .inputs import cleared, read_field
from .job_views import job_facts
from .options import (
    DescriptionOption,
    JobArgument,
    PayloadOption,
    PriorityOption,
    SetOption,
    TagOption,
    VersionOption,
    ZoneOption,
)
from .references import find_job
from .session import Session, remote

# \b keeps the lines below it as they are.
CREATE_EXAMPLES: Final = """\b
Examples:
  tocsin jobs create --name backup --cron "0 2 * * *" --timezone Europe/Berlin --command "backup --all"
  tocsin jobs create --name ping --every 30s --url https://example.com/health --expect 200
  tocsin jobs create --name report --at "in 10m" --handler reports.send --payload @report.json
  tocsin jobs create --name deploy --on-demand --command "deploy --all"
"""

NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="What people call it, 1 to 255 characters.")
]


def register(jobs: typer.Typer) -> None:
    """Add the commands that say what a job is."""
    jobs.command("create", epilog=CREATE_EXAMPLES)(remote(create, advice=UNKNOWN_HANDLER_ADVICE))
    jobs.command("update")(remote(update))
    jobs.command("reschedule")(remote(reschedule))


async def create(
    session: Session,
    *,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What people call it, 1 to 255 characters.")],
    when: When,
    on_demand: Annotated[
        bool, typer.Option("--on-demand", help="No schedule: it runs only when triggered (type event).")
    ] = False,
    timezone: ZoneOption = None,
    work: Work,
    details: JobDetails,
    paused: Annotated[bool, typer.Option("--paused", help="Create it, but do not fire yet.")] = False,
    allow_unknown_handler: Annotated[
        bool, typer.Option("--allow-unknown-handler", help="The handler comes later.")
    ] = False,
) -> None:
    """
    Create a job.

    Say when with --cron, --every, --at or --on-demand, and what with --handler, --url or --command.
    """
    fields = details.with_name(name, timezone)
    definition = define(when.or_on_demand(on_demand=on_demand, timezone=timezone), work, fields)
    async with session.connect() as scheduler:
        job = await scheduler.schedule(
            definition,
            on_conflict=details.on_conflict,
            enabled=not paused,
            allow_unknown_handler=allow_unknown_handler,
        )
    session.output.show(job, job_facts)


async def update(
    session: Session,
    job: JobArgument,
    *,
    name: NameOption = None,
    description: DescriptionOption = None,
    payload: PayloadOption = None,
    tag: TagOption = None,
    priority: PriorityOption = None,
    setting: SetOption = None,
    unset: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="Empty this field; repeatable.")] = None,
    expected_version: VersionOption = None,
) -> None:
    """
    Change fields of a job.

    What is not named stays as it is.
    """
    given = {
        "name": name,
        "description": description,
        "payload": None if payload is None else read_field("payload", payload),
        "tags": tuple(tag) if tag else None,
        "priority": None if priority is None else read_field("priority", priority),
    }
    emptied = cleared([*(unset or ()), *(("payload",) if payload is not None and given["payload"] is None else ())])
    changes = merged(given, setting)
    if twice := sorted(emptied.keys() & changes.keys()):
        raise InvalidInput.of(twice[0], "is both set and emptied")
    if not changes and not emptied:
        raise InvalidInput.of("set", "name a change, such as --set priority=high or --unset description")
    async with session.connect() as scheduler:
        job_id = await find_job(scheduler, job)
        changed = await scheduler.update_job(
            job_id, expected_version=expected_version, **cast("Any", changes | emptied)
        )
    session.output.show(changed, job_facts)


async def reschedule(
    session: Session,
    job: JobArgument,
    *,
    when: When,
    timezone: ZoneOption = None,
    expected_version: VersionOption = None,
) -> None:
    """
    Give a job another schedule.

    One that has ended becomes active again.
    """
    _, schedule = when.timed(timezone)
    async with session.connect() as scheduler:
        job_id = await find_job(scheduler, job)
        changed = await scheduler.reschedule(
            job_id, schedule=schedule, timezone=timezone, expected_version=expected_version
        )
    session.output.show(changed, job_facts)
