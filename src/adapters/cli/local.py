"""What needs no server, only this machine: `tocsin migrate`, `settings` and `preview`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

import typer

from ...domain.errors import InvalidInput
from ...domain.schedule import Once
from ...ports.scheduler import Timing
from .confirmation import confirm
from .documents import listing
from .factories import NodeOptions
from .instants import is_relative, optional_bound, read_instant
from .job_views import fires
from .node_views import migration_list, setting_list
from .options import AfterOption, ConfigOption, CountOption, DatabaseOption, YesOption
from .progress import progress
from .session import Local, local
from .texts import counted

PREVIEW_EXAMPLE: Final = 'Example: tocsin preview "0 2 * * *" --timezone Europe/Berlin'


def register(app: typer.Typer, migrate: typer.Typer) -> None:
    """Add the commands."""
    app.command("settings")(local(settings))
    app.command("preview", epilog=PREVIEW_EXAMPLE)(local(preview))
    migrate.command("up")(local(up))
    migrate.command("down")(local(down))
    migrate.command("status")(local(status))


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


def up(desk: Local, *, database_url: DatabaseOption = None, config: ConfigOption = None) -> None:
    """Bring the database to this version's schema."""
    migrations = desk.factories.migrations(NodeOptions(config=config, database_url=database_url))
    with progress(desk.output, "migrating"):
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
    with progress(desk.output, "migrating"):
        undone = asyncio.run(migrations.down(steps))
    desk.output.show(listing(undone), lambda _: migration_list(undone))


def status(desk: Local, *, database_url: DatabaseOption = None, config: ConfigOption = None) -> None:
    """List the steps of the schema, and which of them the database has."""
    migrations = desk.factories.migrations(NodeOptions(config=config, database_url=database_url))
    known = asyncio.run(migrations.status())
    desk.output.show(listing(known), lambda _: migration_list(known))
