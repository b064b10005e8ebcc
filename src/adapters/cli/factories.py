"""What the command line is handed by `__main__`, because it knows neither the client nor the stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

# `tocsin version` has no use for what these import.
if TYPE_CHECKING:
    from ...ports.conditions import Conditions
    from ...ports.reports import Preview
    from ...ports.scheduler import IScheduler, Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """
    The settings that a command line names, under the names of the settings; None is not named.

    `config` is the TOML file to read the others from. A tuple replaces what file and environment say.
    """

    config: Path | None = None
    host: str | None = None
    port: int | None = None
    database_url: str | None = None
    redis_url: str | None = None
    handlers: tuple[str, ...] | None = None
    roles: tuple[str, ...] | None = None
    samples: bool | None = None
    allow_commands: bool | None = None
    allow_remote: bool | None = None
    concurrency: int | None = None
    drain_seconds: float | None = None
    log_format: str | None = None
    log_level: str | None = None

    def given(self) -> dict[str, object]:
        """List the settings that were named, `config` aside: they win over file and environment."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self) if field.name != "config")
        return {name: value for name, value in named if value is not None}


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
