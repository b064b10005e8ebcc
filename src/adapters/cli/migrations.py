"""`tocsin migrate`: the schema of the database, without any server."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ...domain.errors import InvalidInput
from .confirmation import confirm
from .documents import listing
from .factories import NodeOptions
from .node_views import migration_list
from .options import ConfigOption, DatabaseOption, YesOption
from .progress import progress
from .session import Local, local
from .texts import counted


def register(migrate: typer.Typer) -> None:
    """Add the commands."""
    migrate.command("up")(local(up))
    migrate.command("down")(local(down))
    migrate.command("status")(local(status))


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
