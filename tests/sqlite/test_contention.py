from __future__ import annotations

import asyncio
import sqlite3
from datetime import datetime
from pathlib import Path

import pytest

from tests.makers import a_job, planner
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.sqlite.database import Database
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import JobNotFound, StoreUnavailable
from tocsin.domain.job import ScheduledJob
from tocsin.domain.plan import Plan
from tocsin.ports.queries import JobFilter
from tocsin.ports.storage import Storage


async def test_a_writer_elsewhere_is_waited_for_and_then_given_up(
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    stranger.execute("BEGIN IMMEDIATE")
    job = a_job()

    with pytest.raises(StoreUnavailable, match="locked") as refusal:
        await storage.jobs.add(job)

    assert isinstance(refusal.value.__cause__, sqlite3.OperationalError)
    stranger.execute("ROLLBACK")
    with pytest.raises(JobNotFound):
        await storage.jobs.get(job.tenant_id, job.id)
    assert await storage.jobs.add(job) == job


async def test_readers_do_not_wait_for_a_writer(storage: Storage, stranger: sqlite3.Connection) -> None:
    job = await storage.jobs.add(a_job())
    stranger.execute("BEGIN IMMEDIATE")
    stranger.execute("DELETE FROM job_versions")

    assert (await storage.jobs.list(job.tenant_id, JobFilter())).items == [job]
    assert len(await storage.jobs.versions(job.tenant_id, job.id)) == 1


async def test_what_a_decision_raises_undoes_the_transaction(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())

    def decide(job: ScheduledJob, now: datetime) -> Plan:
        raise LookupError(job.id, now)

    with pytest.raises(LookupError):
        await storage.jobs.change(job.tenant_id, job.id, decide)
    assert await storage.jobs.get(job.tenant_id, job.id) == job


async def test_a_call_that_is_cancelled_before_its_turn_changes_nothing(
    path: Path, clock: ManualClock, stranger: sqlite3.Connection
) -> None:
    first, second = a_job(), a_job()
    async with open_sqlite(path, clock, busy_timeout=60) as storage:
        stranger.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(storage.jobs.add(first))
        behind = asyncio.ensure_future(storage.jobs.add(second))
        await asyncio.wait([behind], timeout=0)
        behind.cancel()
        stranger.execute("ROLLBACK")
        await waiting

        assert (await storage.jobs.list(first.tenant_id, JobFilter())).items == [first]


async def test_a_query_that_takes_for_ever_is_given_up(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.adapters.sqlite.database._DEADLINE_SECONDS", 0.1)
    database = Database(path, clock, busy_timeout=5)
    await database.open()
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

    with pytest.raises(StoreUnavailable, match="interrupted"):
        await database.read(lambda transaction: transaction.rows(endless))
    await database.close()


async def test_callers_at_once_in_one_process_wait_for_each_other(storage: Storage, clock: ManualClock) -> None:
    jobs = [await storage.jobs.add(a_job()) for _ in range(20)]
    clock.advance(60)

    fired = await asyncio.gather(*(storage.ledger.fire(planner, limit=7) for _ in range(6)))

    assert sum(each.executions for each in fired) == len(jobs)
    assert sum(each.jobs for each in fired) == len(jobs)
