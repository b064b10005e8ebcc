"""What every case needs: its servers, its database, its size, and the account at its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import asyncpg

from deploy.local.postgres import LocalPostgres
from deploy.local.redis import LocalRedis
from tests.faults.cluster import Cluster, cluster_of
from tests.faults.load import Load, done, storage_of
from tests.faults.sizes import Size
from tests.faults.verdict import Verdict, assert_sound, verdict_on
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from typing import TypeAlias

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

_NUMBERS: Final = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """Real servers with an empty pipe and a new database; without `redis` the database is the pipe as well."""

    size: Size
    folder: Path
    postgres: LocalPostgres
    redis: LocalRedis | None
    database_url: str
    storage: Storage

    def cluster(self, **options: object) -> AbstractAsyncContextManager[Cluster]:
        """Start the nodes of a case; options are those of `cluster_of` and settings of the program."""
        given = {"nodes": self.size.nodes, "redis_url": self.redis.url if self.redis else None, **options}
        return cluster_of(folder=self.folder, database_url=self.database_url, **given)  # type: ignore[arg-type]

    async def settled(self, cluster: Cluster, load: Load, *, others: int = 0) -> Verdict:
        """Wait until everything is done, stop the nodes, and find nothing wrong; `others` are jobs beside the load."""
        try:
            await done(self.storage, load, self.size)
        except TimeoutError:
            queue = await self.storage.executions.queue(None)
            verdict = await verdict_on(self.storage, cluster)
            raise AssertionError("\n".join([f"not done in time: {queue}", *verdict.lines])) from None
        return await self.closed(cluster, jobs=len(load.jobs) + others)

    async def closed(self, cluster: Cluster, *, jobs: int) -> Verdict:
        """Stop the nodes of a quiet cluster in good order, and find nothing wrong with that many jobs."""
        assert set(await cluster.stop()) == {0}
        verdict = await verdict_on(self.storage, cluster)
        assert_sound(verdict, jobs)
        return verdict

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Open a connection to the database that is nobody else's."""
        connection = await asyncpg.connect(self.database_url)
        try:
            yield connection
        finally:
            await connection.close()


@asynccontextmanager
async def rigged(size: Size, folder: Path, postgres: LocalPostgres, redis: LocalRedis | None) -> AsyncIterator[Rig]:
    """Make a database on the server, and empty the pipe."""
    name = f"faults_{next(_NUMBERS)}"
    await _execute(postgres, f"CREATE DATABASE {name}")
    if redis is not None:
        await asyncio.to_thread(redis.command, "FLUSHALL")
    url = postgres.url(name)
    async with storage_of(url) as storage:
        yield Rig(size=size, folder=folder, postgres=postgres, redis=redis, database_url=url, storage=storage)
    await _execute(postgres, f"DROP DATABASE {name} WITH (FORCE)")


async def _execute(server: LocalPostgres, statement: str) -> None:
    connection = await asyncpg.connect(server.url())
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
