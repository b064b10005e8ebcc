"""The program `tocsin`: the command line, handed everything that it drives."""

from __future__ import annotations

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
