"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from .completion import (
    complete_event,
    complete_event_handler,
    complete_execution,
    complete_job,
    complete_worker,
    complete_zone,
)

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="A job's id, its key or its name.", autocompletion=complete_job)
]
JobsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[JOB]...", help="Jobs by their ids, keys or names.", show_default=False, autocompletion=complete_job
    ),
]
ExecutionArgument = Annotated[
    str, typer.Argument(metavar="EXECUTION", help="An execution's id.", autocompletion=complete_execution)
]
EventArgument = Annotated[str, typer.Argument(metavar="EVENT", help="An event's id.", autocompletion=complete_event)]
EventHandlerArgument = Annotated[
    str,
    typer.Argument(metavar="HANDLER", help="An event handler's id or its key.", autocompletion=complete_event_handler),
]
WorkerArgument = Annotated[
    str,
    typer.Argument(metavar="WORKER", help="A node's id, as `tocsin workers` shows it.", autocompletion=complete_worker),
]

VersionOption = Annotated[
    int | None, typer.Option("--expected-version", metavar="N", help="Change nothing if the job is at another version.")
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
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
PayloadOption = Annotated[
    str | None, typer.Option("--payload", metavar="JSON|@FILE", help="What the handler is given; @- reads stdin.")
]

CronOption = Annotated[
    str | None,
    typer.Option("--cron", metavar="CRON", help='5 fields, or 6 with seconds first, or @daily and kin: "0 2 * * *".'),
]
EveryOption = Annotated[str | None, typer.Option("--every", metavar="LENGTH", help="15m, 6 hours or PT6H.")]
AtOption = Annotated[str | None, typer.Option("--at", metavar="INSTANT", help='2026-03-01T08:00:00Z, "in 10m" or now.')]
ZoneOption = Annotated[
    str | None,
    typer.Option(
        "--timezone",
        metavar="ZONE",
        help="IANA name, such as Europe/Berlin; else UTC.",
        autocompletion=complete_zone,
    ),
]

LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Show at most this many, 1 to 250.")]
OffsetOption = Annotated[int | None, typer.Option("--offset", metavar="N", help="Pass over this many.")]
CursorOption = Annotated[str | None, typer.Option("--cursor", metavar="CURSOR", help="Go on where a page ended.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """The options that say which part of a list is meant, under the names that every filter has for them."""

    limit: LimitOption = 50
    offset: OffsetOption = None
    cursor: CursorOption = None


CountOption = Annotated[int, typer.Option("--count", metavar="N", help="Show this many fires, 1 to 1000.")]
AfterOption = Annotated[str | None, typer.Option("--after", metavar="INSTANT", help="Start later than this; else now.")]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="INSTANT", help='Scheduled then or later: an instant, a date in UTC, "2 hours ago".'
    ),
]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="INSTANT", help="Scheduled then or earlier.")]

ConfigOption = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML file with settings.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database-url", metavar="URL", help="sqlite:///PATH or postgresql://USER@HOST/DATABASE."),
]
RedisOption = Annotated[
    str | None,
    typer.Option("--redis-url", metavar="URL", help="redis://HOST to dispatch through; else through the database."),
]


def split_list(values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Take repeated options and commas within them as one list; None when the option was not given."""
    if not values:
        return None
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())
