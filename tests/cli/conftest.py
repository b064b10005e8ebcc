"""The command line over a real scheduler in memory, as one object that a test talks to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from tocsin.adapters.calendar import CroniterCalendar
from tocsin.adapters.cel import open_cel
from tocsin.adapters.cli import create_cli
from tocsin.adapters.cli.factories import Factories, Migration, NodeOptions, SettingRow
from tocsin.adapters.handlers.catalog import LocalHandlers
from tocsin.adapters.handlers.command import CommandHandler
from tocsin.adapters.handlers.functions import FunctionRegistry
from tocsin.adapters.memory import InProcessDispatcher, memory_storage
from tocsin.adapters.system import ManualClock, Uuid7Sequence
from tocsin.adapters.telemetry import StructuredLog
from tocsin.application.auditing import Auditor
from tocsin.application.event_parts import EventParts, EventPorts
from tocsin.application.health import HealthCheck
from tocsin.application.loop import Pulse
from tocsin.application.planning import Planning
from tocsin.application.previewing import Previews
from tocsin.application.retention import Retention
from tocsin.application.scheduler import Scheduler
from tocsin.domain.attempt import Outcome, settle
from tocsin.domain.errors import ServerUnreachable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.json import Json, storable
from tocsin.ports.conditions import DatabaseCondition, PipeCondition
from tocsin.ports.ledger import LogLine
from tocsin.ports.queries import ExecutionFilter
from tocsin.ports.scheduler import IScheduler
from tocsin.ports.storage import Storage
from tocsin.ports.stores import Worker

SERVER = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON
        return json.loads(self.out)


@dataclass
class MigrationsInMemory:
    """A schema of two steps, for an adapter that is not under test here."""

    taken: int = 0
    asked: list[NodeOptions] = field(default_factory=list)

    async def status(self) -> Sequence[Migration]:
        return [self._step(number) for number in (1, 2)]

    async def up(self) -> Sequence[Migration]:
        missing = range(self.taken + 1, 3)
        self.taken = 2
        return [self._step(number) for number in missing]

    async def down(self, steps: int) -> Sequence[Migration]:
        undone = range(max(self.taken - steps, 0) + 1, self.taken + 1)
        self.taken = max(self.taken - steps, 0)
        return [self._step(number) for number in undone]

    def _step(self, number: int) -> Migration:
        at = datetime(2026, 1, 1, tzinfo=UTC) if number <= self.taken else None
        return Migration(version=number, name=f"step_{number}", applied_at=at)


@dataclass
class ConditionsInMemory:
    """What there is to look at, for adapters that are not under test here."""

    found: DatabaseCondition | None = None
    carries: PipeCondition | None = None
    unknown_variables: Sequence[str] = ()
    connections: int = 11
    asked: list[NodeOptions] = field(default_factory=list)

    async def database(self) -> DatabaseCondition | None:
        return self.found

    async def pipe(self) -> PipeCondition | None:
        return self.carries


@dataclass
class CommandLine:
    """`tocsin` over one scheduler that outlives the commands."""

    clock: ManualClock = field(default_factory=ManualClock)
    commands_allowed: bool = True
    reachable: bool = True
    pulses: Sequence[Pulse] = ()
    servers: list[str] = field(default_factory=list)
    served: list[NodeOptions] = field(default_factory=list)
    migrations: MigrationsInMemory = field(default_factory=MigrationsInMemory)
    conditions: ConditionsInMemory = field(default_factory=ConditionsInMemory)
    serve_code: int = 0
    home: Path = Path("/nonexistent")

    def __post_init__(self) -> None:
        self.storage: Storage = memory_storage(self.clock)
        self.telemetry = StructuredLog(level="error")
        self.planning = Planning(CroniterCalendar(), Uuid7Sequence(), self.telemetry)
        self.preview = Previews(self.planning).of_timing
        self.factories = Factories(
            connect=self.connect,
            preview=self.preview,
            serve=self._serve,
            settings=self._settings,
            migrations=self._migrations,
            conditions=self._conditions,
            version="1.2.3",
        )

    def __call__(self, *arguments: str, stdin: str | bytes | None = None, **environment: str) -> Ran:
        nobodys = {"TOCSIN_SERVER": None, "TOCSIN_PROFILE": None, "XDG_CONFIG_HOME": str(self.home)}
        variables = {"COLUMNS": "200", **nobodys, **environment}
        ended = CliRunner().invoke(
            create_cli(self.factories), arguments, input=stdin, env=variables, catch_exceptions=False
        )
        return Ran(code=ended.exit_code, out=ended.stdout, err=ended.stderr)

    @asynccontextmanager
    async def connect(self, server: str) -> AsyncIterator[IScheduler]:
        self.servers.append(server)
        if not self.reachable:
            raise ServerUnreachable(f"no server answers at {server}")
        health = HealthCheck(storage=self.storage, clock=self.clock, pulses=self.pulses)
        retention = Retention(ledger=self.storage.ledger, telemetry=self.telemetry)

        async def report() -> dict[str, Json]:
            return cast("dict[str, Json]", storable(asdict(await health())))

        commands = CommandHandler({}) if self.commands_allowed else None
        functions = FunctionRegistry()
        pipe = InProcessDispatcher(capabilities=frozenset)
        async with (
            LocalHandlers(health=report, retention=retention.run, functions=functions, commands=commands) as handlers,
            open_cel() as expressions,
        ):
            ports = EventPorts(
                storage=self.storage,
                expressions=expressions,
                planning=self.planning,
                dispatcher=pipe,
                clock=self.clock,
                telemetry=self.telemetry,
            )
            yield Scheduler(
                storage=self.storage,
                planning=self.planning,
                auditor=Auditor(planning=self.planning, keep=retention.keep),
                events=EventParts.of(ports).events,
                dispatcher=pipe,
                handlers=handlers,
                health=health,
                telemetry=self.telemetry,
            )

    def create(self, *options: str, name: str = "report", at: str = "0 2 * * *") -> Any:  # noqa: ANN401 - a JSON object
        """Make a job and answer it as JSON."""
        what = () if {"--url", "--command", "--handler"} & set(options) else ("--handler", "tocsin.noop")
        made = self("jobs", "create", "--name", name, "--cron", at, *what, *options, "--json")
        assert made.code == 0, made.err
        return made.json

    def jobs(self) -> Any:  # noqa: ANN401 - a JSON list
        """Read all jobs as JSON."""
        return self("jobs", "list", "--limit", "250", "--json").json["items"]

    def beat(self, status: str = "live", *, anomalies: int = 0) -> None:
        """Let a node with every role say how it is, and how much it found amiss."""
        now = self.clock.now()
        worker = Worker(
            id="node-1#abc",
            name="node-1",
            roles=["api", "timer", "executor", "sweeper"],
            capabilities=["http"],
            version="1.2.3",
            capacity=200,
            running=7,
            status=status,
            started_at=now,
            heartbeat_at=now,
            anomalies=anomalies,
        )
        asyncio.run(self.storage.workers.beat(worker))

    def run_pending(self, *outcomes: ExecutionStatus) -> None:
        """Claim what is pending, log a line and end one attempt after another."""
        asyncio.run(self._run_pending(outcomes))

    async def _run_pending(self, outcomes: Sequence[ExecutionStatus]) -> None:
        ledger = self.storage.ledger
        for status in outcomes:
            await ledger.ready(limit=250)
            pending = await self.storage.executions.list("default", ExecutionFilter(status=(ExecutionStatus.PENDING,)))
            claimed = await ledger.claim([each.id for each in pending.items], worker_id="node-1")
            for attempt in claimed:
                line = LogLine(
                    execution_id=attempt.execution_id,
                    attempt=attempt.attempt,
                    sequence=1,
                    logged_at=self.clock.now(),
                    level="info",
                    message="said \x1b[2Jhello",
                    fields={"size": 3},
                )
                await ledger.append_logs([line])
                error = {} if status is ExecutionStatus.SUCCESS else {"error": "broken", "error_type": "ValueError"}
                outcome = Outcome(status=status, duration_ms=1500, **error)
                await ledger.finish([settle(attempt, outcome, chance=0)])
            self.clock.advance(2)

    def _serve(self, options: NodeOptions) -> int:
        self.served.append(options)
        return self.serve_code

    def _settings(self, options: NodeOptions) -> Sequence[SettingRow]:
        source = str(options.config or "default")
        return [SettingRow(name="TOCSIN_PORT", value="8080", source=source, description="port to listen on")]

    def _conditions(self, options: NodeOptions) -> ConditionsInMemory:
        self.conditions.asked.append(options)
        return self.conditions

    def _migrations(self, options: NodeOptions) -> MigrationsInMemory:
        self.migrations.asked.append(options)
        return self.migrations


@pytest.fixture
def tocsin(tmp_path: Path) -> CommandLine:
    return CommandLine(home=tmp_path / "configuration")
