"""Which jobs a look of the watch goes through, and how often all that changed lately is gone through for them."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from tests.makers import START, a_job
from tocsin.adapters.sqlite.audit import Roll
from tocsin.adapters.sqlite.transaction import Transaction
from tocsin.adapters.system import ManualClock
from tocsin.ports.storage import Storage

SINCE = START - timedelta(days=1)


def walked(roll: Roll, transaction: Transaction, page: int) -> list[UUID]:
    """All jobs, in pages, each of which asks for the first job of the next one too."""
    found = roll.behind(transaction, None, SINCE, page + 1)
    ids = [*found[:page]]
    while len(found) > page:
        found = roll.behind(transaction, ids[-1], SINCE, page + 1)
        ids += found[:page]
    return ids


async def looked_at(storage: Storage, since: datetime) -> list[UUID]:
    page = await storage.ledger.recent_ledgers(since=since, limit=1, after=None)
    found = [each.job.id for each in page.ledgers]
    while page.next_after is not None:
        page = await storage.ledger.recent_ledgers(since=since, limit=1, after=page.next_after)
        found += [each.job.id for each in page.ledgers]
    return found


async def test_pages_that_follow_each_other_are_sought_once(
    storage: Storage, clock: ManualClock, stranger: sqlite3.Connection
) -> None:
    ids = [(await storage.jobs.add(a_job())).id for _ in range(7)]
    transaction = Transaction(connection=stranger, now=clock.now())
    roll, statements = Roll(), list[str]()
    stranger.set_trace_callback(statements.append)

    found = [*roll.behind(transaction, None, SINCE, 2)]
    for _ in range(2):
        found += roll.behind(transaction, found[-1], SINCE, 2)

    assert found == sorted(ids)[:6]
    assert len(statements) == 1


async def test_what_comes_before_a_roll_or_behind_it_is_read_afresh(
    storage: Storage, clock: ManualClock, stranger: sqlite3.Connection
) -> None:
    ids = sorted([(await storage.jobs.add(a_job())).id for _ in range(4)])
    transaction = Transaction(connection=stranger, now=clock.now())
    roll = Roll()
    assert roll.behind(transaction, ids[1], SINCE, 2) == ids[2:]

    late = (await storage.jobs.add(a_job())).id

    assert roll.behind(transaction, ids[0], SINCE, 2) == ids[1:3]
    assert roll.behind(transaction, ids[3], SINCE, 2) == [late]
    assert roll.behind(transaction, ids[2], SINCE + timedelta(seconds=1), 2) == [ids[3], late]


@pytest.mark.parametrize(("jobs", "page", "reads"), [(7, 1, 3), (7, 2, 3), (7, 3, 3), (7, 9, 1), (6, 1, 2), (6, 3, 2)])
async def test_all_pages_are_walked_and_none_is_sought_that_was_read_ahead(
    storage: Storage, clock: ManualClock, stranger: sqlite3.Connection, *, jobs: int, page: int, reads: int
) -> None:
    ids = [(await storage.jobs.add(a_job())).id for _ in range(jobs)]
    statements: list[str] = []
    stranger.set_trace_callback(statements.append)

    assert walked(Roll(ahead=3), Transaction(connection=stranger, now=clock.now()), page) == sorted(ids)
    assert len(statements) == reads


async def test_a_job_right_behind_a_roll_that_ended_is_found(
    storage: Storage, clock: ManualClock, stranger: sqlite3.Connection
) -> None:
    ids = sorted([(await storage.jobs.add(a_job())).id for _ in range(3)])
    transaction = Transaction(connection=stranger, now=clock.now())
    roll = Roll(ahead=3)
    assert walked(roll, transaction, 2) == ids

    late = (await storage.jobs.add(a_job())).id

    assert roll.behind(transaction, ids[-1], SINCE, 2) == [late]


async def test_a_roll_that_could_not_be_read_is_not_taken_for_the_one_before(
    storage: Storage, clock: ManualClock, stranger: sqlite3.Connection
) -> None:
    ids = sorted([(await storage.jobs.add(a_job())).id for _ in range(3)])
    transaction = Transaction(connection=stranger, now=clock.now())
    roll, later = Roll(), SINCE + timedelta(seconds=1)
    roll.behind(transaction, None, SINCE, 2)
    stranger.set_progress_handler(lambda: 1, 1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        roll.behind(transaction, None, later, 2)
    stranger.set_progress_handler(None, 0)

    late = (await storage.jobs.add(a_job())).id

    assert roll.behind(transaction, ids[0], later, 9) == [*ids[1:], late]


@pytest.mark.parametrize("status", ["active", "paused"])
async def test_an_id_that_is_none_hides_no_job(
    storage: Storage, clock: ManualClock, stranger: sqlite3.Connection, status: str
) -> None:
    ids = sorted([(await storage.jobs.add(a_job())).id for _ in range(3)])
    since = clock.now() - timedelta(days=1)
    stranger.execute("CREATE TEMP TABLE strange AS SELECT * FROM jobs LIMIT 1")
    for strange in ("", f"{ids[0]}x", "-" * 36, "zz"):
        stranger.execute("UPDATE strange SET id = ?, status = ?, next_run = NULL", (strange, status))
        stranger.execute("INSERT INTO jobs SELECT * FROM strange")

    assert [*await storage.ledger.recent_jobs(since=since, limit=9)] == ids
    assert await looked_at(storage, since) == ids
