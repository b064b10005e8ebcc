"""What runs on this machine alone: `tocsin serve`, `migrate`, `settings`, `preview` and `version`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Final

import typer

from ...domain.errors import InvalidInput
from ...domain.schedule import Once
from ...ports.scheduler import Timing
from .confirmation import confirm
from .documents import listing
from .factories import NodeOptions
from .inputs import split_list
from .instants import is_relative, optional_bound, read_instant
from .job_views import fires
from .node_views import migration_list, setting_list
from .options import AfterOption, CountOption, YesOption
from .session import Local, local
from .texts import counted

PREVIEW_EXAMPLE: Final = 'Example: tocsin preview "0 2 * * *" --timezone Europe/Berlin'

ConfigOption = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML file with settings.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database-url", metavar="URL", help="sqlite:///PATH or postgresql://USER@HOST/DATABASE."),
]


def register(app: typer.Typer, migrate: typer.Typer) -> None:
    """Add the commands."""
    app.command("serve")(local(serve))
    app.command("settings")(local(settings))
    app.command("preview", epilog=PREVIEW_EXAMPLE)(local(preview))
    app.command("version")(local(version))
    migrate.command("up")(local(up))
    migrate.command("down")(local(down))
    migrate.command("status")(local(status))


def serve(
    desk: Local,
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on; else 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; else 8080.")] = None,
    database_url: DatabaseOption = None,
    redis_url: Annotated[
        str | None, typer.Option(metavar="URL", help="redis://HOST to dispatch through; else through the database.")
    ] = None,
    handlers: Annotated[
        list[str] | None, typer.Option(metavar="MODULE,…", help="Modules to import, which register handlers.")
    ] = None,
    roles: Annotated[
        list[str] | None, typer.Option(metavar="ROLE,…", help="Some of api, timer, executor, sweeper; else all.")
    ] = None,
    samples: Annotated[bool | None, typer.Option("--samples", help="Make the sample jobs.")] = None,
    allow_commands: Annotated[
        bool | None, typer.Option("--allow-commands", help="Let jobs run commands of the operating system.")
    ] = None,
    allow_remote: Annotated[
        bool | None,
        typer.Option("--unsafe-allow-remote", help="Listen beyond loopback although nobody is authenticated."),
    ] = None,
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="Executions to run at once.")] = None,
    drain_seconds: Annotated[
        float | None, typer.Option(metavar="N", help="How long a stop waits for running work.")
    ] = None,
    log_format: Annotated[str | None, typer.Option(help="console or json.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    config: ConfigOption = None,
) -> None:
    """
    Run a node until it is told to stop.

    `tocsin settings` lists what else can be set, by environment or file.
    """
    options = NodeOptions(
        config=config,
        host=host,
        port=port,
        database_url=database_url,
        redis_url=redis_url,
        handlers=split_list(handlers),
        roles=split_list(roles),
        samples=samples,
        allow_commands=allow_commands,
        allow_remote=allow_remote,
        concurrency=concurrency,
        drain_seconds=drain_seconds,
        log_format=log_format,
        log_level=log_level,
    )
    raise typer.Exit(desk.factories.serve(options))


def settings(desk: Local, *, config: ConfigOption = None) -> None:
    """List every setting, its value and its source."""
    found = desk.factories.settings(NodeOptions(config=config))
    desk.output.show(found, setting_list)


def preview(
    desk: Local,
    schedule: Annotated[
        str, typer.Argument(metavar="SCHEDULE", help='A cron, "every 15m", PT6H, an instant, "in 10m" or now.')
    ],
    *,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="IANA name, such as Europe/Berlin.")] = "UTC",
    count: CountOption = 10,
    after: AfterOption = None,
) -> None:
    """Show when a schedule fires, without any server."""
    instant = optional_bound(after, "after") or desk.now
    written = str(Once(at=read_instant(schedule, "schedule"))) if is_relative(schedule) else schedule
    found = desk.factories.preview(Timing(schedule=written, timezone=timezone), after=instant, count=count)
    desk.output.show(found, fires)


def version(desk: Local) -> None:
    """Show which version this is."""
    desk.output.show({"version": desk.factories.version}, lambda _: f"tocsin {desk.factories.version}")


def up(desk: Local, *, database_url: DatabaseOption = None, config: ConfigOption = None) -> None:
    """Bring the database to this version's schema."""
    migrations = desk.factories.migrations(NodeOptions(config=config, database_url=database_url))
    taken = asyncio.run(migrations.up())
    desk.output.show(listing(taken), lambda _: migration_list(taken))


def down(
    desk: Local,
    *,
    steps: Annotated[int, typer.Option(metavar="N", help="How many steps to undo.")] = 1,
    database_url: DatabaseOption = None,
    config: ConfigOption = None,
    yes: YesOption = False,
) -> None:
    """Undo the newest steps of the schema, with what they hold."""
    if steps < 1:
        raise InvalidInput.of("steps", "must be 1 or more")
    confirm(f"Undo the newest {counted(steps, 'step')} of the schema, with all that they hold?", yes=yes)
    migrations = desk.factories.migrations(NodeOptions(config=config, database_url=database_url))
    undone = asyncio.run(migrations.down(steps))
    desk.output.show(listing(undone), lambda _: migration_list(undone))


def status(desk: Local, *, database_url: DatabaseOption = None, config: ConfigOption = None) -> None:
    """List the steps of the schema, and which of them the database has."""
    migrations = desk.factories.migrations(NodeOptions(config=config, database_url=database_url))
    known = asyncio.run(migrations.status())
    desk.output.show(listing(known), lambda _: migration_list(known))
