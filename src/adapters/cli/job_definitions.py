"""`tocsin jobs`: creating jobs and changing what they are."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast

import typer

from ...domain.errors import InvalidInput
from ...domain.job import HandlerType
from ...ports.scheduler import OnConflict
from .definitions import When, Work, define
from .inputs import cleared, read_field, read_settings
from .instants import optional_instant
from .job_views import job_facts
from .options import (
    AtOption,
    CronOption,
    EveryOption,
    JobArgument,
    PayloadOption,
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
DescriptionOption = Annotated[str | None, typer.Option("--description", metavar="TEXT", help="What it is for.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Repeatable.")]
PriorityOption = Annotated[
    str | None, typer.Option("--priority", metavar="N", help="0 to 100, or low, medium, high, critical.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Any field of a job, such as max_retries=5; repeatable."),
]


def register(jobs: typer.Typer) -> None:
    """Add the commands that say what a job is."""
    jobs.command("create", epilog=CREATE_EXAMPLES)(remote(create))
    jobs.command("update")(remote(update))
    jobs.command("reschedule")(remote(reschedule))


async def create(
    session: Session,
    *,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What people call it, 1 to 255 characters.")],
    cron: CronOption = None,
    every: EveryOption = None,
    at: AtOption = None,
    on_demand: Annotated[
        bool, typer.Option("--on-demand", help="No schedule: it runs only when triggered (type event).")
    ] = False,
    timezone: ZoneOption = None,
    handler: Annotated[str | None, typer.Option(metavar="NAME", help="The function that does the work.")] = None,
    handler_type: Annotated[HandlerType | None, typer.Option(help="What kind of handler that is.")] = None,
    payload: PayloadOption = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Call this URL instead.")] = None,
    method: Annotated[str | None, typer.Option(metavar="VERB", help="With --url; else GET, POST with a body.")] = None,
    header: Annotated[list[str] | None, typer.Option(metavar="NAME:VALUE", help="With --url; repeatable.")] = None,
    body: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="With --url.")] = None,
    expect: Annotated[list[int] | None, typer.Option(metavar="STATUS", help="With --url; else any 2xx.")] = None,
    command: Annotated[str | None, typer.Option(metavar="LINE", help="Run this shell line instead.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="A name that no other job may have.")] = None,
    on_conflict: Annotated[OnConflict, typer.Option(help="What to do when the key is taken.")] = OnConflict.ERROR,
    description: DescriptionOption = None,
    tag: TagOption = None,
    priority: PriorityOption = None,
    start: Annotated[str | None, typer.Option(metavar="INSTANT", help="Fire then or later.")] = None,
    end: Annotated[str | None, typer.Option(metavar="INSTANT", help="Fire then or earlier.")] = None,
    max_executions: Annotated[int | None, typer.Option(metavar="N", help="Fire this often, then end.")] = None,
    setting: SetOption = None,
    paused: Annotated[bool, typer.Option("--paused", help="Create it, but do not fire yet.")] = False,
    allow_unknown_handler: Annotated[
        bool, typer.Option("--allow-unknown-handler", help="The handler comes later.")
    ] = False,
) -> None:
    """
    Create a job.

    Say when with --cron, --every, --at or --on-demand, and what with --handler, --url or --command.
    """
    when = When(cron=cron, every=every, at=at, on_demand=on_demand, timezone=timezone)
    work = Work(
        handler=handler,
        handler_type=handler_type,
        payload=payload,
        url=url,
        method=method,
        headers=header or (),
        body=body,
        expect=expect or (),
        command=command,
    )
    fields = _merged(
        {
            "name": name,
            "key": key,
            "timezone": timezone,
            "description": description,
            "tags": tuple(tag) if tag else None,
            "priority": None if priority is None else read_field("priority", priority),
            "start_date": optional_instant(start, "start_date"),
            "end_date": optional_instant(end, "end_date"),
            "max_executions": max_executions,
        },
        setting,
    )
    definition = define(when, work, fields)
    async with session.connect() as scheduler:
        job = await scheduler.schedule(
            definition,
            on_conflict=on_conflict,
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
    changes = _merged(given, setting)
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
    cron: CronOption = None,
    every: EveryOption = None,
    at: AtOption = None,
    timezone: ZoneOption = None,
    expected_version: VersionOption = None,
) -> None:
    """
    Give a job another schedule.

    One that has ended becomes active again.
    """
    _, schedule = When(cron=cron, every=every, at=at, timezone=timezone).timed()
    async with session.connect() as scheduler:
        job_id = await find_job(scheduler, job)
        changed = await scheduler.reschedule(
            job_id, schedule=schedule, timezone=timezone, expected_version=expected_version
        )
    session.output.show(changed, job_facts)


def _merged(options: dict[str, object], settings: list[str] | None) -> dict[str, object]:
    """Put options and --set pairs together; naming a field by both is a mistake."""
    given = {name: value for name, value in options.items() if value is not None}
    pairs = read_settings(settings or ())
    if twice := sorted(given.keys() & pairs.keys()):
        raise InvalidInput.of(twice[0], "is given by an option and by --set; use one of them")
    return given | pairs
