"""The program `tocsin`: the command line, handed everything that it drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from .adapters import postgres, sqlite
from .adapters.calendar import CroniterCalendar
from .adapters.cli import create_cli
from .adapters.cli.factories import Factories, Migration, Migrations, NodeOptions, SettingRow
from .adapters.http import HttpScheduler
from .adapters.system import Uuid7Sequence
from .adapters.telemetry import StructuredLog
from .application.planning import Planning
from .application.previewing import Previews
from .domain.errors import InvalidInput
from .engines import access_of
from .ports.reports import Preview
from .ports.scheduler import Timing
from .ports.schema import MigrationStatus
from .service import serve
from .settings import Settings, explain, load_settings


def main() -> None:
    """Run the command that the arguments name."""
    create_cli(
        Factories(
            connect=HttpScheduler,
            preview=_preview,
            serve=lambda options: serve(_settings(options)),
            settings=_explained,
            migrations=_migrations,
            version=version("tocsin"),
        ),
    )()


@dataclass(frozen=True, slots=True)
class _PostgresMigrations:
    """The schema in one PostgreSQL database, as the command line asks for it."""

    access: postgres.Access

    async def status(self) -> Sequence[Migration]:
        return _shown(await postgres.migrate.status(self.access))

    async def up(self) -> Sequence[Migration]:
        return _shown(await postgres.migrate.up(self.access))

    async def down(self, steps: int) -> Sequence[Migration]:
        stands = await postgres.migrate.status(self.access)
        return _shown(await postgres.migrate.down(self.access, to=_below(steps, stands)))


@dataclass(frozen=True, slots=True)
class _SqliteMigrations:
    """The schema of one SQLite file, as the command line asks for it."""

    path: Path

    async def status(self) -> Sequence[Migration]:
        return _shown(sqlite.migrate.status(self.path))

    async def up(self) -> Sequence[Migration]:
        return _shown(sqlite.migrate.up(self.path))

    async def down(self, steps: int) -> Sequence[Migration]:
        return _shown(sqlite.migrate.down(self.path, to=_below(steps, sqlite.migrate.status(self.path))))


def _below(steps: int, stands: Sequence[MigrationStatus]) -> int:
    """Tell the version that is left once the newest `steps` are undone."""
    taken = [step.version for step in stands if step.applied_at is not None]
    return taken[-steps - 1] if steps < len(taken) else 0


def _migrations(options: NodeOptions) -> Migrations:
    settings = _settings(options)
    if settings.uses_postgres:
        return _PostgresMigrations(access_of(settings))
    if settings.database_path is None:
        raise InvalidInput.of("database_url", "a database in memory has no schema to migrate")
    return _SqliteMigrations(settings.database_path)


def _shown(steps: Sequence[MigrationStatus]) -> Sequence[Migration]:
    return [Migration(version=step.version, name=step.name, applied_at=step.applied_at) for step in steps]


def _settings(options: NodeOptions) -> Settings:
    return load_settings(options.given(), file=options.config)


def _explained(options: NodeOptions) -> Sequence[SettingRow]:
    rows = explain(options.given(), file=options.config)
    return [SettingRow(name=row.name, value=row.value, source=row.source, description=row.description) for row in rows]


def _preview(timing: Timing, *, after: datetime | None, count: int) -> Preview:
    planning = Planning(CroniterCalendar(), Uuid7Sequence(), StructuredLog(level="error"))
    return Previews(planning).of_timing(timing, after=after or datetime.now(UTC), count=count)


if __name__ == "__main__":
    main()
