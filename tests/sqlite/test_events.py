from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.contracts.event_steps import a_runner, a_stored_handler, doing, heard, running, told_by, trigger
from tests.contracts.steps import TENANT, an_idle_job, claim
from tests.makers import a_job, a_success, an_event, fanned_out, triggered
from tocsin.adapters.sqlite.database import Database
from tocsin.adapters.sqlite.event_handlers import SqliteEventHandlers
from tocsin.adapters.sqlite.events import SqliteEvents
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import InvalidEvent
from tocsin.domain.event import Publish
from tocsin.domain.impact import Touch
from tocsin.domain.job import OverlapPolicy
from tocsin.domain.resolution import Announce, Cancel
from tocsin.ports.storage import Storage

LEASE = timedelta(hours=1)
HALF_A_CHARACTER = "\ud800"
WRITES = re.compile("^(INSERT|UPDATE) ", re.MULTILINE)


@pytest.fixture
async def database(path: Path, clock: ManualClock) -> AsyncIterator[Database]:
    database = Database(path, clock, busy_timeout=5)
    await database.open()
    yield database
    await database.close()


async def test_a_handler_that_cannot_be_read_hinders_no_other(storage: Storage, stranger: sqlite3.Connection) -> None:
    damaged = await a_stored_handler(storage)
    sound = await a_stored_handler(storage)
    stranger.execute(
        "UPDATE event_handlers SET definition = json_set(definition, '$.action.type', 'dance') WHERE id = ?",
        (str(damaged.id),),
    )

    registry = await storage.event_handlers.registry(None)

    assert registry is not None
    assert [handler.id for handler in registry.handlers] == [sound.id]


async def test_no_position_is_given_twice_though_all_before_it_was_removed(storage: Storage) -> None:
    publisher = await a_stored_handler(storage, action=Publish(name="order.seen"))
    announcement = Announce(name="order.seen", data=None, subject=None)

    async def publish() -> str:
        await trigger(storage, heard(an_event(), doing(publisher, announcement)))
        return (await storage.outbox.read(after=None, limit=10)).position

    first = await publish()
    assert await storage.outbox.trim(keep=-LEASE, limit=10, consumers=()) == 1
    second = await publish()

    assert (await storage.outbox.read(after=first, limit=10)).positions == [second]
    with pytest.raises(InvalidEvent, match="not kept any more"):
        await storage.outbox.read(after="0", limit=10)


async def test_what_the_file_refuses_of_an_attempt_is_a_fact_as_it_was_recorded(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage, overlap_policy=OverlapPolicy.ALLOW_ALL)
    made = [(await storage.jobs.change(TENANT, job.id, triggered())).execution for _ in range(3)]
    attempts = await claim(storage, *(execution for execution in made if execution is not None))
    position = await storage.outbox.listen("test", tenant_id=TENANT, pattern="tocsin.execution.*", lease=LEASE)
    clock.advance(1)

    results = ("done", HALF_A_CHARACTER, "done")
    await storage.ledger.finish(
        [a_success(attempt, result=result) for attempt, result in zip(attempts, results, strict=True)]
    )

    facts = (await storage.outbox.read(after=position, limit=10)).events
    told = {event.name: event.data for event in facts}
    assert sorted(event.name for event in facts) == [
        "tocsin.execution.failed",
        "tocsin.execution.succeeded",
        "tocsin.execution.succeeded",
    ]
    failure = told["tocsin.execution.failed"]
    assert isinstance(failure, dict)
    assert failure["error_type"] == "STORE_REFUSED"


async def test_what_is_undone_is_no_fact(storage: Storage, stranger: sqlite3.Connection, clock: ManualClock) -> None:
    job = await an_idle_job(storage)
    position = await storage.outbox.listen("test", tenant_id=None, pattern="tocsin.**", lease=LEASE)
    stranger.execute(
        "CREATE TRIGGER refusal BEFORE UPDATE ON job_counters BEGIN SELECT raise(ABORT, 'not now'); END",
    )
    clock.advance(60)

    with pytest.raises(sqlite3.IntegrityError, match="not now"):
        await storage.jobs.change(TENANT, job.id, triggered())

    assert (await storage.outbox.read(after=position, limit=10)).events == []


async def test_a_batch_of_any_size_is_read_for_with_the_same_statements(database: Database, storage: Storage) -> None:
    job = await an_idle_job(storage, overlap_policy=OverlapPolicy.ALLOW_ALL)
    handlers = [await a_runner(storage, job) for _ in range(20)]
    await storage.outbox.listen("test", tenant_id=None, pattern="tocsin.**", lease=LEASE)
    events = SqliteEvents(database)
    registry = await SqliteEventHandlers(database).registry(None)
    assert registry is not None
    statements: list[str] = []
    await database.write(lambda transaction: transaction.connection.set_trace_callback(statements.append))

    async def reads(size: int) -> int:
        statements.clear()
        matches = [running(handler, job, flow_key="7") for handler in handlers[:size]]
        batch = [heard(an_event(), *matches) for _ in range(size)]
        await events.trigger(batch, fanned_out, revision=registry.revision)
        return sum(not WRITES.search(statement) for statement in statements)

    assert await reads(1) == await reads(20)
    assert len(statements) > 20 * 20


async def test_a_job_that_cannot_be_read_hinders_no_other_handler(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    damaged, sound = await storage.jobs.add(a_job(key="order 7")), await an_idle_job(storage)
    stranger.execute(
        "UPDATE jobs SET definition = json_set(definition, '$.misfire_grace_seconds', 'x') WHERE id = ?",
        (str(damaged.id),),
    )
    canceller, runner = await a_stored_handler(storage), await a_runner(storage, sound)
    clock.advance(90)

    cancel = Cancel(tenant_id=TENANT, key="order 7")
    fanned = await trigger(storage, heard(an_event(), doing(canceller, cancel), running(runner, sound)))

    assert told_by(runner, fanned.events[0].event).touch is Touch.ACTED
    assert [each.execution_id for each in fanned.dispatches] == list(
        told_by(runner, fanned.events[0].event).execution_ids
    )
