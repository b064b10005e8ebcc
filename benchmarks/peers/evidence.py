"""How one sees from outside that a system has durably done its jobs: by what is in its database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import asyncpg
from redis.asyncio import Redis

from tocsin import ExecutionFilter, ExecutionStatus
from tocsin.application.scheduler import Scheduler

from ..engines import Place
from ..nodes import client


class Watch(Protocol):
    """An open look at the database."""

    async def left(self) -> int:
        """Count the jobs that are not durably done."""

    async def assert_done(self) -> None:
        """Find what a system keeps of done jobs; one that keeps nothing has nothing to find."""


class Evidence(Protocol):
    """How to look."""

    def watching(self, place: Place, jobs: int) -> AbstractAsyncContextManager[Watch]:
        """Open the look at so many jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Two statements: one counts what is left, the other what is kept of jobs done."""

    left: str
    kept: str | None = None

    @asynccontextmanager
    async def watching(self, place: Place, jobs: int) -> AsyncIterator[Watch]:
        """Connect."""
        connection = await asyncpg.connect(place.database_url)
        try:
            yield _RowWatch(connection, self, jobs)
        finally:
            await connection.close()


@dataclass(frozen=True, slots=True)
class _RowWatch:
    connection: asyncpg.Connection[asyncpg.Record]
    rows: Rows
    jobs: int

    async def left(self) -> int:
        return int(await self.connection.fetchval(self.rows.left))

    async def assert_done(self) -> None:
        if self.rows.kept is not None:
            _assert_all(int(await self.connection.fetchval(self.rows.kept)), self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Two looks at Redis: one counts what is left of so many jobs, the other what is kept of jobs done."""

    left: Callable[[Redis, int], Awaitable[int]]
    kept: Callable[[Redis], Awaitable[int]]

    @asynccontextmanager
    async def watching(self, place: Place, jobs: int) -> AsyncIterator[Watch]:
        """Connect."""
        if place.redis_url is None:
            raise ValueError("there is no Redis in this place")
        redis = Redis.from_url(place.redis_url)
        try:
            yield _KeyWatch(redis, self, jobs)
        finally:
            await redis.aclose()


@dataclass(frozen=True, slots=True)
class _KeyWatch:
    redis: Redis
    keys: Keys
    jobs: int

    async def left(self) -> int:
        return await self.keys.left(self.redis, self.jobs)

    async def assert_done(self) -> None:
        _assert_all(await self.keys.kept(self.redis), self.jobs)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Tocsin's own lists: every execution is there, once, and a success."""

    @asynccontextmanager
    async def watching(self, place: Place, jobs: int) -> AsyncIterator[Watch]:
        """Open a scheduler without loops."""
        async with client(place) as scheduler:
            yield _LedgerWatch(scheduler, jobs)


@dataclass(frozen=True, slots=True)
class _LedgerWatch:
    scheduler: Scheduler
    jobs: int

    async def left(self) -> int:
        return self.jobs - await self._total(ExecutionStatus.SUCCESS)

    async def assert_done(self) -> None:
        _assert_all(await self._total(ExecutionStatus.SUCCESS), self.jobs)
        _assert_all(await self._total(), self.jobs)
        [job] = (await self.scheduler.list_jobs()).items
        _assert_all(job.counters.success_count, self.jobs)

    async def _total(self, *statuses: ExecutionStatus) -> int:
        return (await self.scheduler.list_executions(ExecutionFilter(status=statuses, limit=1))).total


def _assert_all(found: int, jobs: int) -> None:
    if found != jobs:
        raise AssertionError(f"{found} of {jobs} jobs are known as done")
