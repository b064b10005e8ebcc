from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.contracts.steps import TENANT, trigger
from tests.makers import an_event_job, decided
from tocsin.adapters.postgres import Access, Database
from tocsin.adapters.postgres.transaction import Transaction
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.job import JobStatus, OverlapPolicy
from tocsin.domain.lifecycle import cancel
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

BACKLOG = 2500
WAITING = f"""
WITH made AS (
INSERT INTO executions (
    id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, attempt, failures,
    max_retries, holds_slot, past_attempts, metadata
)
SELECT
    gen_random_uuid(), job_id, job_version, tenant_id, 'pending', origin, scheduled_at, created_at, priority, 0, 0,
    max_retries, false, '[]', '{{}}'
FROM executions, generate_series(1, {BACKLOG})
RETURNING id, job_id
)

INSERT INTO open_executions (execution_id, job_id) SELECT id, job_id FROM made"""  # noqa: S608 - a number of this file


async def test_a_job_is_cancelled_with_all_that_it_has_open_however_much_that_is(
    storage: Storage, stranger: Stranger
) -> None:
    job = await storage.jobs.add(an_event_job(overlap_policy=OverlapPolicy.QUEUE_ALL))
    [running] = await trigger(storage, job, 1)
    await storage.ledger.claim([running.id], worker_id="node")
    await stranger.execute(WAITING)
    await stranger.execute("UPDATE job_counters SET live = live + $1, waiting = waiting + $1", BACKLOG)

    changed = await storage.jobs.change(TENANT, job.id, decided(cancel))

    assert (changed.job.status, changed.stopped) == (JobStatus.CANCELLED, [running.id])
    counters = changed.job.counters
    assert (counters.live, counters.waiting, counters.slots_taken) == (0, 0, 1)
    assert await stranger.fetchval("SELECT count(*) FROM executions WHERE status = 'cancelled'") == BACKLOG + 1


async def test_only_a_transaction_that_says_so_may_take_longer_than_others(postgres_url: str) -> None:
    database = Database(Access(url=postgres_url, deadline=0.5))
    await database.open()
    try:
        assert await database.write(_long) == "done"
        with pytest.raises(StoreUnavailable):
            await database.write(_late)
    finally:
        await database.close()


async def _long(transaction: Transaction) -> str:
    transaction.take_longer(60)
    return await _late(transaction)


async def _late(transaction: Transaction) -> str:
    """Come to an end behind the deadline, of which each statement on its own falls short."""
    deadline = asyncio.get_running_loop().time() + 0.6
    while asyncio.get_running_loop().time() < deadline:
        await transaction.connection.execute("SELECT pg_sleep(0.05)")
    return "done"
