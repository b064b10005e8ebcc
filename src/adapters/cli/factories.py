"""What the command line is handed by `__main__`, because it knows neither the client nor the stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from .options import ConfigOption, DatabaseOption, RedisOption, split_list

# `tocsin version` has no use for what these import.
if TYPE_CHECKING:
    from ...ports.conditions import Conditions
    from ...ports.reports import Preview
    from ...ports.scheduler import IScheduler, Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """
    The settings that a command line names, under the names of the settings; None is not named.

    `config` is the TOML file to read the others from. A list replaces what file and environment say, and may have
    several in one, with commas between them.
    """

    host: Annotated[str | None, typer.Option(help="Address to listen on; else 127.0.0.1.")] = None
    port: Annotated[int | None, typer.Option(help="Port to listen on; else 8080.")] = None
    database_url: DatabaseOption = None
    redis_url: RedisOption = None
    handlers: Annotated[
        list[str] | None, typer.Option(metavar="MODULE,…", help="Modules to import, which register handlers.")
    ] = None
    roles: Annotated[
        list[str] | None, typer.Option(metavar="ROLE,…", help="Some of api, timer, executor, sweeper; else all.")
    ] = None
    samples: Annotated[bool | None, typer.Option("--samples", help="Make the sample jobs.")] = None
    allow_commands: Annotated[
        bool | None, typer.Option("--allow-commands", help="Let jobs run commands of the operating system.")
    ] = None
    allow_remote: Annotated[
        bool | None,
        typer.Option("--unsafe-allow-remote", help="Listen beyond loopback although nobody is authenticated."),
    ] = None
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="Executions to run at once.")] = None
    drain_seconds: Annotated[
        float | None, typer.Option(metavar="N", help="How long a stop waits for running work.")
    ] = None
    log_format: Annotated[str | None, typer.Option(help="console or json.")] = None
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None
    config: ConfigOption = None

    def given(self) -> dict[str, object]:
        """List the settings that were named, `config` aside: they win over file and environment."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "config"}
        lists = {"handlers": split_list(self.handlers), "roles": split_list(self.roles)}
        return {name: value for name, value in (named | lists).items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting in force: its variable, its value as text with secrets masked, where that came from, its meaning."""

    name: str
    value: str
    source: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema; `applied_at` is None while the database has not taken it."""

    version: int
    name: str
    applied_at: datetime | None


class Migrations(Protocol):
    """
    The schema of the database that the settings name, oldest step first in every answer.

    Raises (every method):
        StoreUnavailable: the database did not answer; a step is taken whole or not at all.
    """

    async def status(self) -> Sequence[Migration]:
        """List every known step."""

    async def up(self) -> Sequence[Migration]:
        """Take the steps that are missing, and answer those."""

    async def down(self, steps: int) -> Sequence[Migration]:
        """Undo the newest `steps` (1 or more) that were taken, and answer those, as they are now."""


class PreviewSchedule(Protocol):
    """Computes fires on this machine, without any server."""

    def __call__(self, timing: Timing, *, after: datetime, count: int) -> Preview:
        """
        Show the next `count` (1..1000) fires later than `after`.

        Raises:
            InvalidSchedule: the schedule or its zone cannot be read, or `count` is out of bounds.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Factories:
    """
    The seam between the commands and what they drive.

    `connect` opens a scheduler behind a server's URL; it, or its first call, raises StoreUnavailable when
    nobody answers there. `serve` blocks until the node has stopped, and answers the exit code. `settings` and
    `migrations` read the settings as `serve` would, and so does `conditions`. All may raise InvalidInput for options
    out of bounds.
    """

    connect: Callable[[str], AbstractAsyncContextManager[IScheduler]]
    preview: PreviewSchedule
    serve: Callable[[NodeOptions], int]
    settings: Callable[[NodeOptions], Sequence[SettingRow]]
    migrations: Callable[[NodeOptions], Migrations]
    conditions: Callable[[NodeOptions], Conditions]
    version: str
