"""What each stage of the protocol costs, in batches of one and of many: the absolute inputs of the model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import asyncpg

from tocsin import JobDefinition, JobType, OverlapPolicy
from tocsin.application.scheduler import Scheduler
from tocsin.domain.attempt import Attempt, Outcome, settle
from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.dispatcher import Dispatch

from ..engines import Engine, Place
from ..figures import Figure, cost, fact, quantile
from ..handlers import NOOP
from ..nodes import node
from ..scenario import Case, Options, Scenario
from ..stored import store_jobs
from ..usage import Usage

WORKER: Final = "stages"
STORED_EACH_SECOND: Final = 2_500
LEAD_SECONDS: Final = 3.0
SETTLING_SECONDS: Final = 0.2
LOOKS: Final = 200
SOONEST: Final = 5
"""The percentile that is told of what waits."""

TAKING_SECONDS: Final = 0.5

_ROWS: Final = """
SELECT sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_hot_upd), sum(n_tup_del)
FROM pg_stat_user_tables WHERE schemaname = 'tocsin'
"""

_HISTORY: Final = "SELECT pg_table_size('tocsin.executions'), pg_indexes_size('tocsin.executions')"


@dataclass(slots=True)
class Meter:
    """What is spent between two readings: processor time by process, and bytes of write-ahead log."""

    place: Place
    amount: int
    server: asyncpg.Connection | None
    figures: list[Figure] = field(default_factory=list)

    async def stage(self, name: str, steps: Callable[[], Awaitable[None]]) -> None:
        """Go through one stage for all fires, and note what it took for each of them."""
        usage, written = Usage(self.place.servers), await self._written()
        await steps()
        for process, seconds in usage.seconds().items():
            self.figures.append(cost(f"{name}: processor time of {process}", seconds / self.amount * 1e6, "us"))
        if self.server is not None:
            self.figures.append(cost(f"{name}: log", (await self._written() - written) / self.amount, "B"))

    async def _written(self) -> float:
        if self.server is None:
            return 0.0
        return float(await self.server.fetchval("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    amount = options["fires"]
    due = datetime.now(UTC) + timedelta(seconds=LEAD_SECONDS + amount / STORED_EACH_SECOND)
    due = due.replace(microsecond=0)
    await store_jobs(place, _daily(due), amount)
    async with _server(place) as server:
        before = await _rows(server)
        meter = Meter(place, amount, server)
        async with node(place) as assembly:
            await asyncio.sleep(max(0.0, due.timestamp() - time.time()) + SETTLING_SECONDS)
            await _staged(meter, Fires(scheduler=assembly.scheduler, batch=options["batch"]))
        figures = [*meter.figures, *await _changed(server, before, amount)]
        return figures if server is None else [*figures, *await _waits(server)]


@dataclass(slots=True, kw_only=True)
class Fires:
    """Due jobs on their way through the stages, `batch` at a time."""

    scheduler: Scheduler
    batch: int
    _handed: list[Sequence[Dispatch]] = field(default_factory=list)
    _taken: list[Sequence[Dispatch]] = field(default_factory=list)
    _claimed: list[Sequence[Attempt]] = field(default_factory=list)

    @property
    def claimed(self) -> int:
        """How many have come that far."""
        return sum(map(len, self._claimed))

    async def fire(self) -> None:
        """Fire as the timer does, until nothing is due."""
        ledger = self.scheduler.storage.ledger
        while (fired := await ledger.fire(self.scheduler.planning.fire, limit=self.batch)).jobs:
            self._handed.append(fired.dispatches)

    async def hand_on(self) -> None:
        """Give all to the pipe."""
        for each in self._handed:
            await self.scheduler.dispatcher.dispatch(each)

    async def take(self) -> None:
        """Receive all."""
        dispatcher = self.scheduler.dispatcher
        capabilities = frozenset(item.capability for each in self._handed for item in each)
        while found := await dispatcher.receive(capabilities=capabilities, limit=self.batch, wait=TAKING_SECONDS):
            self._taken.append(found)
            await dispatcher.acknowledge(found)

    async def claim(self) -> None:
        """Claim all."""
        ledger = self.scheduler.storage.ledger
        for each in self._taken:
            attempts = await ledger.claim([item.execution_id for item in each], worker_id=WORKER)
            self._claimed.append(attempts)

    async def finish(self) -> None:
        """Write the ends of all."""
        outcome = Outcome(status=ExecutionStatus.SUCCESS, duration_ms=1)
        for each in self._claimed:
            await self.scheduler.storage.ledger.finish([settle(attempt, outcome, chance=0) for attempt in each])


async def _staged(meter: Meter, fires: Fires) -> None:
    stages = {"fire": fires.fire, "hand on": fires.hand_on, "take": fires.take, "claim": fires.claim}
    for name, steps in {**stages, "finish": fires.finish}.items():
        await meter.stage(name, steps)
    if fires.claimed != meter.amount:
        raise AssertionError(f"{fires.claimed} of {meter.amount} fires were claimed")


async def _changed(server: asyncpg.Connection | None, before: Sequence[float], amount: int) -> list[Figure]:
    if server is None:
        return []
    names = ("rows inserted", "rows updated", "of these without an index entry", "rows deleted")
    after = await _rows(server)
    changed = [fact(name, (now - then) / amount, "rows") for name, then, now in zip(names, before, after, strict=True)]
    row = await server.fetchrow(_HISTORY)
    sizes = [] if row is None else [float(value) / amount for value in row]
    return [
        *changed,
        *(fact(f"history: {name}", size, "B") for name, size in zip(("rows", "indexes"), sizes, strict=False)),
    ]


async def _rows(server: asyncpg.Connection | None) -> Sequence[float]:
    if server is None:
        return []
    # A connection that has ended has told of all it did, if only a moment later.
    await asyncio.sleep(1.0)
    row = await server.fetchrow(_ROWS)
    return [] if row is None else [float(value or 0) for value in row]


async def _waits(server: asyncpg.Connection) -> list[Figure]:
    """Tell how long a round trip and a commit wait, for which a shared machine makes most of them too long."""
    await server.execute("CREATE TABLE waits (number integer)")
    trips = [await _seconds(server.fetchval("SELECT 1")) for _ in range(LOOKS)]
    commits = [await _seconds(server.execute("INSERT INTO waits VALUES (1)")) for _ in range(LOOKS)]
    trip = quantile(sorted(trips), SOONEST)
    commit = max(0.0, quantile(sorted(commits), SOONEST) - trip)
    return [cost("round trip", trip * 1000, "ms"), cost("commit", commit * 1000, "ms")]


async def _seconds(call: Awaitable[object]) -> float:
    started = time.perf_counter()
    await call
    return time.perf_counter() - started


@asynccontextmanager
async def _server(place: Place) -> AsyncIterator[asyncpg.Connection | None]:
    if place.engine is Engine.SQLITE:
        yield None
        return
    connection = await asyncpg.connect(place.database_url)
    try:
        yield connection
    finally:
        await connection.close()


def _daily(due: datetime) -> JobDefinition:
    return JobDefinition(
        name="stages",
        type=JobType.CRON,
        schedule=f"{due.second} {due.minute} {due.hour} * * *",
        handler_name=NOOP,
        overlap_policy=OverlapPolicy.ALLOW_ALL,
        misfire_grace_seconds=3600,
    )


STAGES: Final = Scenario(
    name="stages",
    summary="what fire, dispatch, claim and finish cost for each execution, alone and in batches",
    run=_run,
    cases=[
        Case(name="batches of 1", options={"fires": 500, "batch": 1}),
        Case(name="batches of 500", options={"fires": 10_000, "batch": 500}),
    ],
)
