from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

import pytest

from tests.contracts.steps import versions_of
from tests.makers import a_job, planner
from tocsin.adapters.sqlite import UnusableDatabase, open_sqlite
from tocsin.adapters.sqlite.database import Database
from tocsin.adapters.sqlite.jobs import SqliteJobs
from tocsin.adapters.sqlite.ledger import SqliteLedger
from tocsin.adapters.sqlite.transaction import Transaction
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import JobNotFound, StoreUnavailable
from tocsin.domain.job import ScheduledJob
from tocsin.domain.plan import Plan
from tocsin.ports.queries import JobFilter
from tocsin.ports.storage import Storage

READING = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
WRITING = """
INSERT INTO schema_migrations (version, name, checksum, applied_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT -i, i, i, i FROM n"""


@pytest.fixture
async def database(path: Path, clock: ManualClock) -> AsyncIterator[Database]:
    database = Database(path, clock, busy_timeout=5)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_PATIENCE", "_PATIENCE_OF_REQUESTS"):
        monkeypatch.setattr(f"tocsin.adapters.sqlite.database.{name}", 0.1)


async def test_a_writer_elsewhere_is_waited_for_and_then_given_up(
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    stranger.execute("BEGIN IMMEDIATE")
    job = a_job()

    with pytest.raises(StoreUnavailable) as refusal:
        await storage.jobs.add(job)

    assert str(refusal.value) == "the database stayed locked by somebody else"
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
    assert len(await versions_of(storage, job.tenant_id, job.id)) == 1


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


@pytest.mark.usefixtures("hasty")
async def test_a_query_that_takes_for_ever_is_given_up(database: Database) -> None:
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        await database.read(lambda transaction: transaction.rows(READING))


@pytest.mark.usefixtures("hasty")
async def test_a_writing_that_takes_for_ever_is_undone_and_the_next_goes_on(database: Database) -> None:
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        await database.write(lambda transaction: transaction.run(WRITING))

    versions = await database.write(lambda transaction: transaction.column("SELECT version FROM schema_migrations"))
    assert min(versions) == 1


@pytest.mark.usefixtures("hasty")
async def test_what_waited_for_its_turn_too_long_is_refused_and_not_begun(database: Database) -> None:
    release = Event()
    begun: list[Transaction] = []
    first = asyncio.ensure_future(database.write(lambda _: release.wait()))
    second = asyncio.ensure_future(database.write(begun.append))
    # Both are in line from here on, so that the second's deadline is over once that of the next call is.
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await database.watch(lambda transaction: transaction.rows(READING))
    release.set()

    await first
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        await second
    assert begun == []


async def test_a_heartbeat_waits_neither_for_reports_nor_for_retention(database: Database) -> None:
    release = Event()

    def report(transaction: Transaction) -> None:
        del transaction
        release.wait()

    slow = [asyncio.ensure_future(call(report)) for call in (database.read, database.search) for _ in range(8)]
    ledger = SqliteLedger(database)

    assert await ledger.stopped([]) == []
    assert await ledger.lapsed(limit=1) == []
    assert await ledger.undelivered(capabilities=(), grace=timedelta(), limit=1) == []
    assert not any(each.done() for each in slow)
    release.set()
    await asyncio.gather(*slow)


async def test_a_full_disk_is_named_and_the_store_goes_on_when_there_is_room(database: Database) -> None:
    jobs = SqliteJobs(database)
    kept = await jobs.add(a_job())
    [pages] = await database.write(lambda transaction: transaction.column("PRAGMA page_count"))
    await database.write(lambda transaction: transaction.rows(f"PRAGMA max_page_count = {pages + 3}"))

    with pytest.raises(StoreUnavailable) as refusal:
        await jobs.add(a_job(payload="x" * 50_000))

    assert str(refusal.value) == "the disk is full"
    await database.write(lambda transaction: transaction.rows("PRAGMA max_page_count = 100000"))
    added = await jobs.add(a_job(payload="x" * 50_000))
    assert {job.id for job in (await jobs.list(kept.tenant_id, JobFilter())).items} == {kept.id, added.id}


async def test_a_thread_outlives_its_connection(database: Database) -> None:
    with pytest.raises(sqlite3.ProgrammingError):
        await database.write(lambda transaction: transaction.connection.close())

    job = a_job()
    assert await SqliteJobs(database).add(job) == job


@pytest.fixture
def gone(database: Database, path: Path) -> Path:  # noqa: ARG001 - it makes the file
    path.unlink()
    path.mkdir()
    return path


async def test_callers_are_not_told_which_file_it_is(database: Database, gone: Path) -> None:
    with pytest.raises(StoreUnavailable) as refusal:
        await SqliteJobs(database).add(a_job())

    assert str(refusal.value) == "the database file cannot be used"
    assert isinstance(refusal.value.__cause__, UnusableDatabase)
    assert refusal.value.__cause__.path == gone


async def test_callers_at_once_in_one_process_wait_for_each_other(storage: Storage, clock: ManualClock) -> None:
    jobs = [await storage.jobs.add(a_job()) for _ in range(20)]
    clock.advance(60)

    fired = await asyncio.gather(*(storage.ledger.fire(planner, limit=7) for _ in range(6)))

    assert sum(each.executions for each in fired) == len(jobs)
    assert sum(each.jobs for each in fired) == len(jobs)
