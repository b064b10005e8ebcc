"""The program `tocsin`: the command line, handed everything that it drives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from . import __version__
from .adapters.cli import create_cli
from .adapters.cli.factories import Factories, Migration, Migrations, NodeOptions, SettingRow
from .domain.errors import InvalidInput

if TYPE_CHECKING:
    from .adapters.postgres import Access
    from .ports.conditions import Conditions, DatabaseCondition, PipeCondition
    from .ports.reports import Preview
    from .ports.scheduler import IScheduler, Timing
    from .ports.schema import MigrationStatus
    from .settings import Settings


def main() -> None:
    """Run the command that the arguments name, which imports what it drives: most drive little."""
    create_cli(
        Factories(
            connect=_connect,
            preview=_preview,
            serve=_serve,
            settings=_explained,
            migrations=_migrations,
            conditions=_conditions,
            version=__version__,
        ),
    )()


@dataclass(frozen=True, slots=True)
class _PostgresMigrations:
    """The schema in one PostgreSQL database, as the command line asks for it."""

    access: Access

    async def status(self) -> Sequence[Migration]:
        from .adapters.postgres import migrate  # noqa: PLC0415 - see main

        return _shown(await migrate.status(self.access))

    async def up(self) -> Sequence[Migration]:
        from .adapters.postgres import migrate  # noqa: PLC0415 - see main

        return _shown(await migrate.up(self.access))

    async def down(self, steps: int) -> Sequence[Migration]:
        from .adapters.postgres import migrate  # noqa: PLC0415 - see main

        stands = await migrate.status(self.access)
        return _shown(await migrate.down(self.access, to=_below(steps, stands)))


@dataclass(frozen=True, slots=True)
class _SqliteMigrations:
    """The schema of one SQLite file, as the command line asks for it."""

    path: Path

    async def status(self) -> Sequence[Migration]:
        from .adapters.sqlite import migrate  # noqa: PLC0415 - see main

        return _shown(migrate.status(self.path))

    async def up(self) -> Sequence[Migration]:
        from .adapters.sqlite import migrate  # noqa: PLC0415 - see main

        return _shown(migrate.up(self.path))

    async def down(self, steps: int) -> Sequence[Migration]:
        from .adapters.sqlite import migrate  # noqa: PLC0415 - see main

        return _shown(migrate.down(self.path, to=_below(steps, migrate.status(self.path))))


@dataclass(frozen=True, slots=True)
class _Conditions:
    """What the settings of this process name, looked at from here; `names_database` says whether they name one."""

    settings: Settings
    names_database: bool

    @property
    def connections(self) -> int:
        """Beside the pool there is one for LISTEN."""
        return self.settings.database_connections + 1

    @property
    def unknown_variables(self) -> Sequence[str]:
        from .settings import unknown_variables  # noqa: PLC0415 - see main

        return unknown_variables(os.environ)

    async def database(self) -> DatabaseCondition | None:
        if self.settings.uses_postgres:
            from .adapters.postgres.condition import condition  # noqa: PLC0415 - see main
            from .engines import access_of  # noqa: PLC0415 - see main

            return await condition(access_of(self.settings))
        path = self.settings.database_path
        if path is None or not (self.names_database or path.exists()):
            return None
        from .adapters.sqlite.condition import condition as condition_of_file  # noqa: PLC0415 - see main

        return condition_of_file(path, datetime.now(UTC))

    async def pipe(self) -> PipeCondition | None:
        if self.settings.redis_url is None:
            return None
        from .adapters.redis.condition import condition  # noqa: PLC0415 - see main

        try:
            return await condition(self.settings.redis_url)
        except ValueError as error:
            raise InvalidInput.of("redis_url", str(error)) from None


def _below(steps: int, stands: Sequence[MigrationStatus]) -> int:
    """Tell the version that is left once the newest `steps` are undone."""
    taken = [step.version for step in stands if step.applied_at is not None]
    return taken[-steps - 1] if steps < len(taken) else 0


def _migrations(options: NodeOptions) -> Migrations:
    from .engines import access_of  # noqa: PLC0415 - see main

    settings = _settings(options)
    if settings.uses_postgres:
        return _PostgresMigrations(access_of(settings))
    if settings.database_path is None:
        raise InvalidInput.of("database_url", "a database in memory has no schema to migrate")
    return _SqliteMigrations(settings.database_path)


def _conditions(options: NodeOptions) -> Conditions:
    from .settings import explain  # noqa: PLC0415 - see main

    sources = {row.name: row.source for row in explain(options.given(), file=options.config)}
    return _Conditions(_settings(options), names_database=sources["TOCSIN_DATABASE_URL"] != "default")


def _shown(steps: Sequence[MigrationStatus]) -> Sequence[Migration]:
    return [Migration(version=step.version, name=step.name, applied_at=step.applied_at) for step in steps]


def _connect(url: str) -> AbstractAsyncContextManager[IScheduler]:
    from .adapters.http import HttpScheduler  # noqa: PLC0415 - see main

    return HttpScheduler(url)


def _serve(options: NodeOptions) -> int:
    from .service import serve  # noqa: PLC0415 - see main

    return serve(_settings(options))


def _settings(options: NodeOptions) -> Settings:
    from .settings import load_settings  # noqa: PLC0415 - see main

    return load_settings(options.given(), file=options.config)


def _explained(options: NodeOptions) -> Sequence[SettingRow]:
    from .settings import explain  # noqa: PLC0415 - see main

    rows = explain(options.given(), file=options.config)
    return [SettingRow(name=row.name, value=row.value, source=row.source, description=row.description) for row in rows]


def _preview(timing: Timing, *, after: datetime | None, count: int) -> Preview:
    from .adapters.calendar import CroniterCalendar  # noqa: PLC0415 - see main
    from .adapters.system import Uuid7Sequence  # noqa: PLC0415 - see main
    from .adapters.telemetry import StructuredLog  # noqa: PLC0415 - see main
    from .application.planning import Planning  # noqa: PLC0415 - see main
    from .application.previewing import Previews  # noqa: PLC0415 - see main

    planning = Planning(CroniterCalendar(), Uuid7Sequence(), StructuredLog(level="error"))
    return Previews(planning).of_timing(timing, after=after or datetime.now(UTC), count=count)


if __name__ == "__main__":
    main()
