from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import asyncpg
import pytest

from tests.contracts.steps import TENANT, WORKER, executions_of
from tests.makers import a_job, a_success, a_worker, an_event_job, decided, planner, triggered
from tests.postgres.nodes import a_connection
from tests.postgres.pooler import a_pooler
from tests.postgres.sessions import until_calls_wait_for_a_lock
from tocsin.adapters.postgres import Access, Database, migrate, open_postgres
from tocsin.adapters.postgres.statements import statements
from tocsin.adapters.postgres.transaction import Transaction
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import Conflict, StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.lifecycle import pause
from tocsin.ports.queries import ExecutionFilter, JobFilter
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

LEASE = timedelta(seconds=30)


@pytest.fixture
def pooler_url(postgres_url: str) -> Iterator[str]:
    """A database through a pooler that has one connection for everybody: whatever anybody leaves on it, all meet."""
    with a_pooler(postgres_url, connections=1) as url:
        yield url


@pytest.fixture
async def pooled(pooler_url: str, clock: ManualClock) -> AsyncIterator[Storage]:
    async with open_postgres(Access(url=pooler_url, pooler=True), clock) as opened:
        yield opened


async def a_slice_of_the_protocol(storage: Storage, clock: ManualClock) -> None:
    """Have many jobs fire at once, run, and be listed and paused, by callers that do not wait for each other."""
    jobs = await asyncio.gather(*(storage.jobs.add(a_job(key=f"{number}")) for number in range(12)))
    with pytest.raises(Conflict):
        await storage.jobs.add(a_job(key="0"))
    clock.advance(61)
    fired = await asyncio.gather(*(storage.ledger.fire(planner, limit=5) for _ in range(4)))
    ids = [dispatch.execution_id for each in fired for dispatch in each.dispatches]
    claimed = await asyncio.gather(*(storage.ledger.claim(ids, worker_id=WORKER) for _ in range(3)))
    attempts = [attempt for each in claimed for attempt in each]
    assert len(attempts) == len(set(ids)) == 12

    holds = {(attempt.execution_id, attempt.attempt): LEASE for attempt in attempts}
    assert await storage.ledger.renew(holds, worker_id=WORKER) == []
    await asyncio.gather(*(storage.ledger.finish([a_success(attempt)]) for attempt in attempts))
    await asyncio.gather(*(storage.jobs.change(TENANT, job.id, decided(pause)) for job in jobs))
    await storage.workers.beat(a_worker())
    assert await storage.locks.acquire("retention", holder="node-1", lease=LEASE) is not None

    assert (await storage.jobs.list(TENANT, JobFilter(limit=5))).total == 12
    succeeded = ExecutionFilter(status=(ExecutionStatus.SUCCESS,))
    assert (await storage.executions.list(TENANT, succeeded)).total == 12
    assert (await storage.executions.queue(TENANT)).jobs_by_status == {"paused": 12}
    assert [len(await executions_of(storage, job)) for job in jobs] == [1] * 12


async def test_the_protocol_works_through_a_pooler(pooled: Storage, clock: ManualClock) -> None:
    await a_slice_of_the_protocol(pooled, clock)


async def test_nothing_is_left_on_a_session_that_others_will_have(
    pooled: Storage, pooler_url: str, clock: ManualClock
) -> None:
    await a_slice_of_the_protocol(pooled, clock)
    await migrate.status(Access(url=pooler_url, pooler=True))

    stranger = await asyncpg.connect(pooler_url, statement_cache_size=0)
    try:
        assert await stranger.fetchval("SELECT current_setting('search_path')") == '"$user", public'
        changed = "SELECT name FROM pg_settings WHERE source = 'session' AND setting <> reset_val"
        assert await stranger.fetch(changed) == []
        assert await stranger.fetch("SELECT name FROM pg_prepared_statements") == []
        assert await stranger.fetch("SELECT * FROM pg_listening_channels()") == []
        assert await stranger.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    finally:
        await stranger.close()


async def test_what_others_leave_on_a_session_does_not_matter(
    pooled: Storage, pooler_url: str, clock: ManualClock
) -> None:
    stranger = await asyncpg.connect(pooler_url, statement_cache_size=0)
    try:
        await stranger.execute("SET search_path = elsewhere; SET timezone = 'Asia/Tokyo'; SET IntervalStyle = iso_8601")
        await a_slice_of_the_protocol(pooled, clock)
    finally:
        await stranger.close()


async def test_a_call_that_is_cancelled_behind_a_pooler_leaves_no_lock_behind(
    pooler_url: str, postgres_url: str
) -> None:
    async with a_connection(postgres_url) as stranger, open_postgres(Access(url=pooler_url, pooler=True)) as storage:
        job = await storage.jobs.add(an_event_job())
        await stranger.execute("BEGIN; SELECT FROM job_counters FOR UPDATE")
        call = asyncio.ensure_future(storage.jobs.change(TENANT, job.id, triggered()))
        async with a_connection(postgres_url) as other:
            await until_calls_wait_for_a_lock(other, 1)
            call.cancel()
            await asyncio.wait([call])
            await other.execute("SET lock_timeout = '5s'")
            await other.execute("SELECT FROM jobs FOR UPDATE")
        await stranger.execute("ROLLBACK")

        assert await storage.jobs.get(TENANT, job.id) == job
        assert (await storage.jobs.change(TENANT, job.id, triggered())).execution is not None


async def test_the_deadline_holds_through_a_pooler(pooler_url: str, postgres_url: str) -> None:
    async with (
        a_connection(postgres_url) as stranger,
        open_postgres(Access(url=pooler_url, pooler=True, deadline=0.5)) as storage,
    ):
        await stranger.execute("BEGIN; LOCK TABLE jobs")
        with pytest.raises(StoreUnavailable, match="in time"):
            await storage.jobs.add(an_event_job())
        await stranger.execute("ROLLBACK")

        assert (await storage.jobs.list(TENANT, JobFilter())).total == 0


async def test_nothing_is_prepared_for_a_pooler_that_nobody_sees(postgres_url: str) -> None:
    database = Database(Access(url=postgres_url, pooler=True, connections=1))
    await database.open()
    now = statements("jobs")["now"]

    async def prepared(transaction: Transaction) -> int:
        await transaction.rows(now, now=None)
        return int(await transaction.connection.fetchval("SELECT count(*) FROM pg_prepared_statements"))

    for _ in range(3):
        await database.rows(now, now=None)
        assert await database.write(prepared) == 0
    await database.close()
