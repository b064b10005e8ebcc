"""Which jobs a look of the watch goes through, and how often all that changed lately is gone through for them."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

from tests.makers import START, a_job
from tocsin.adapters.sqlite.audit import Roll
from tocsin.adapters.sqlite.transaction import Transaction
from tocsin.adapters.system import ManualClock
from tocsin.ports.storage import Storage

SINCE = START - timedelta(days=1)


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
