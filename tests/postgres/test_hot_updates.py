from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import pytest

from tests.contracts.event_steps import a_runner, running, trigger_one
from tests.makers import a_success, an_event_job, triggered
from tocsin.adapters.postgres import Access, Database, postgres_storage
from tocsin.adapters.postgres.jobs import PostgresJobs
from tocsin.adapters.postgres.ledger import PostgresLedger
from tocsin.adapters.postgres.statements import Statement
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import Attempt
from tocsin.ports.ledger import Progress

WORKER: Final = "node-1/boot"
UPDATES: Final = Statement(
    "updates",
    "SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = $1",
    ("table_name",),
)
FLUSH: Final = Statement("flush", "SELECT pg_stat_force_next_flush()", ())


@dataclass(frozen=True, slots=True)
class Updates:
    """How many rows of a table were updated, and how many of these on their page and without touching an index."""

    all: int
    hot: int

    def since(self, before: Updates) -> Updates:
        return Updates(self.all - before.all, self.hot - before.hot)


@pytest.fixture
async def alone(access: Access, clock: ManualClock, postgres_version: int) -> AsyncIterator[Database]:
    """A database of one connection: only a session itself can have its statistics told at once."""
    if postgres_version < 15:
        pytest.skip("PostgreSQL 14 tells its statistics when it likes")
    opened = Database(replace(access, connections=1), clock)
    await opened.open()
    yield opened
    await opened.close()


async def updates(database: Database, table: str) -> Updates:
    await database.rows(FLUSH)
    [row] = await database.rows(UPDATES, table_name=table)
    return Updates(row["updates"], row["hot"])


async def attempts_of(database: Database, count: int) -> list[Attempt]:
    jobs = PostgresJobs(database)
    job = await jobs.add(an_event_job(concurrency=count))
    changed = [await jobs.change(job.tenant_id, job.id, triggered()) for _ in range(count)]
    ids = [dispatch.execution_id for each in changed for dispatch in each.dispatches]
    return [*await PostgresLedger(database).claim(ids, worker_id=WORKER)]


async def test_a_heartbeat_touches_no_index(alone: Database) -> None:
    attempts = await attempts_of(alone, 200)
    ledger = PostgresLedger(alone)
    holds = dict.fromkeys([(each.execution_id, 1) for each in attempts], timedelta(hours=1))
    # What was claimed together lies together; the first few heartbeats make room for the next version beside each.
    for _ in range(6):
        await ledger.renew(holds, worker_id=WORKER)
    before = await updates(alone, "executions")

    for _ in range(5):
        assert await ledger.renew(holds, worker_id=WORKER) == []

    assert (await updates(alone, "executions")).since(before) == Updates(all=1000, hot=1000)


async def test_a_claim_and_an_end_touch_an_index_only_where_a_page_is_full(alone: Database) -> None:
    ledger, jobs = PostgresLedger(alone), PostgresJobs(alone)
    job = await jobs.add(an_event_job(concurrency=200))
    changed = [await jobs.change(job.tenant_id, job.id, triggered()) for _ in range(200)]
    ids = [dispatch.execution_id for each in changed for dispatch in each.dispatches]
    before = await updates(alone, "executions")

    for first in range(0, len(ids), 50):
        attempts = await ledger.claim(ids[first : first + 50], worker_id=WORKER)
        await ledger.finish([a_success(attempt) for attempt in attempts])

    done = (await updates(alone, "executions")).since(before)
    assert done.all == 400
    assert done.hot >= 0.9 * done.all


async def test_progress_touches_no_index(alone: Database) -> None:
    [attempt] = await attempts_of(alone, 1)
    before = await updates(alone, "executions")

    for percent in range(50):
        progress = Progress(execution_id=attempt.execution_id, attempt=1, percent=percent, message=None)
        await PostgresLedger(alone).report([progress])

    assert (await updates(alone, "executions")).since(before) == Updates(all=50, hot=50)


async def test_counting_touches_no_index(alone: Database) -> None:
    attempts = await attempts_of(alone, 50)
    before = await updates(alone, "job_counters")

    for attempt in attempts:
        await PostgresLedger(alone).finish([a_success(attempt)])

    assert (await updates(alone, "job_counters")).since(before) == Updates(all=50, hot=50)


async def test_counting_for_event_handlers_touches_no_index(alone: Database) -> None:
    storage = postgres_storage(alone)
    job = await storage.jobs.add(an_event_job(concurrency=50))
    handler = await a_runner(storage, job)
    before = await updates(alone, "event_handler_counters")

    for _ in range(20):
        event = await trigger_one(storage, running(handler, job))
        assert event.impact is not None
        [attempt] = await storage.ledger.claim(event.impact.execution_ids, worker_id=WORKER)
        await storage.ledger.finish([a_success(attempt)])

    assert (await updates(alone, "event_handler_counters")).since(before) == Updates(all=40, hot=40)
    counted = (await storage.event_handlers.get(handler.tenant_id, handler.id)).counters
    assert (counted.triggered, counted.matched, counted.succeeded, counted.failed) == (20, 20, 20, 0)
