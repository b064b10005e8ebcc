"""Looking for trouble: asks a node, the database and Redis how they are; one that gives no answer is a finding."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from ..domain.errors import TocsinError
from ..domain.job import JobStatus, ScheduledJob
from ..ports.conditions import Conditions
from ..ports.queries import LIMIT_BOUNDS, JobFilter
from ..ports.scheduler import IScheduler
from ..ports.stores import Worker
from .declared_jobs import every_job
from .diagnosis import ClockReading, Finding, Level, of_clocks, of_database, of_pipe
from .diagnosis_of_nodes import of_handlers, of_health, of_ledger, of_workers

_FILE: Final = "SQLite"
"""The engine that has no clock of its own."""


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """
    One look at everything that can be reached from here.

    `connect` opens the scheduler of a node, `conditions` are those of the settings in force here, `version` is that of
    this program, and `now` reads this machine's clock.
    """

    connect: Callable[[], AbstractAsyncContextManager[IScheduler]]
    conditions: Conditions
    version: str
    now: Callable[[], datetime]
    _workers: Sequence[Worker] = ()
    _readings: dict[str, ClockReading] = field(default_factory=dict)

    async def __call__(self) -> Sequence[Finding]:
        """Look once, and tell what was found, part by part; never raises for it."""
        parts = (self._settings, self._node, self._database, self._pipe, self._clocks)
        return [finding for part in parts async for finding in part()]

    async def _settings(self) -> AsyncIterator[Finding]:
        for name in self.conditions.unknown_variables:
            yield Finding(
                level=Level.WARNING,
                subject="settings",
                message=f"{name} is set and means nothing",
                advice="`tocsin settings` lists those that do; correct its name, or unset it",
            )

    async def _node(self) -> AsyncIterator[Finding]:
        try:
            async with self.connect() as scheduler:
                async for finding in self._of_node(scheduler):
                    yield finding
        except TocsinError as error:
            yield Finding(
                level=Level.ERROR,
                subject="server",
                message=error.message,
                advice="start a node with `tocsin serve`, or name another with --server, --profile or TOCSIN_SERVER",
            )

    async def _of_node(self, scheduler: IScheduler) -> AsyncIterator[Finding]:
        asked_at = self.now()
        health = await scheduler.health_check()
        self._note_clock("the node", asked_at, health.timestamp)
        yield Finding(level=Level.OK, subject="server", message=f"a node answers, up for {health.uptime_seconds:.0f} s")
        for finding in of_health(health):
            yield finding
        self._workers = await scheduler.list_workers()
        for finding in of_workers(self._workers, version=self.version):
            yield finding
        asked_at = self.now()
        metrics = await scheduler.get_metrics()
        self._note_clock("the database", asked_at, metrics.generated_at)
        active = [job async for job in _active(scheduler)]
        for finding in (*of_handlers(active, self._workers), *of_ledger(metrics, health)):
            yield finding

    async def _database(self) -> AsyncIterator[Finding]:
        asked_at = self.now()
        try:
            database = await self.conditions.database()
        except TocsinError as error:
            yield Finding(
                level=Level.ERROR,
                subject="database",
                message=error.message,
                advice="see that it runs, and that --database-url or TOCSIN_DATABASE_URL names it as the nodes do",
            )
            return
        if database is None:
            yield Finding(
                level=Level.NOTE,
                subject="database",
                message="none is named here, so it was not looked at",
                advice="name it with --database-url, TOCSIN_DATABASE_URL or --config, as the nodes do",
            )
            return
        if database.engine != _FILE:
            self._note_clock("the database", asked_at, database.now)
        nodes = sum(not worker.is_gone for worker in self._workers)
        for finding in of_database(database, nodes=nodes, connections_each=self.conditions.connections):
            yield finding

    async def _pipe(self) -> AsyncIterator[Finding]:
        asked_at = self.now()
        try:
            pipe = await self.conditions.pipe()
        except TocsinError as error:
            yield Finding(
                level=Level.ERROR,
                subject="redis",
                message=error.message,
                advice="see that it runs, and that --redis-url or TOCSIN_REDIS_URL names it; nothing is lost, but late",
            )
            return
        if pipe is not None:
            self._note_clock("Redis", asked_at, pipe.now)
            for finding in of_pipe(pipe):
                yield finding

    async def _clocks(self) -> AsyncIterator[Finding]:
        for finding in of_clocks(self._readings.values()):
            yield finding

    def _note_clock(self, subject: str, asked_at: datetime, showed: datetime) -> None:
        self._readings[subject] = ClockReading(
            subject=subject, asked_at=asked_at, showed=showed, answered_at=self.now()
        )


def _active(scheduler: IScheduler) -> AsyncIterator[ScheduledJob]:
    return every_job(scheduler, JobFilter(status=(JobStatus.ACTIVE,), limit=LIMIT_BOUNDS[1]))
