from __future__ import annotations

import asyncio
import math
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from tests.contracts.steps import expired, versions_of
from tests.http.nodes import node_on
from tests.makers import a_definition, a_job, a_success, decided, planner, triggered
from tocsin.adapters.memory import LocalBells
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import Conflict
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus, ScheduledJob
from tocsin.domain.lifecycle import cancel, delete, pause, update
from tocsin.domain.plan import Decision, Plan
from tocsin.engines import Engines
from tocsin.ports.conflicts import OnConflict
from tocsin.ports.queries import ExecutionFilter, JobFilter
from tocsin.ports.storage import Storage

DAMAGES = {
    "a word that is none": "json_set(definition, '$.overlap_policy', 'sometimes')",
    "a type that is none": "json_set(definition, '$.type', 7)",
    "a field that is missing": "json_remove(definition, '$.handler_name')",
    "an instant that is none": "json_set(definition, '$.end_date', 'tomorrow')",
    "no object": "'[]'",
    "a number that is none": "json_set(definition, '$.concurrency', NULL)",
    "a word for a number": "json_set(definition, '$.misfire_grace_seconds', 'x')",
    "a truth for a number": "json_set(definition, '$.priority', json('true'))",
    "a number that no lease can last": "json_set(definition, '$.lock_timeout_seconds', 1e300)",
    "a share beyond the whole": "json_set(definition, '$.retry_jitter', 7)",
    "a number for a word": "json_set(definition, '$.name', 7)",
    "a number for a tag": "json_set(definition, '$.tags', json('[7]'))",
    "an instant of no zone": "json_set(definition, '$.end_date', '2030-01-01T00:00:00')",
    "metadata that is no object": "json_set(definition, '$.metadata', 'x')",
}


def damage(stranger: sqlite3.Connection, job: ScheduledJob, expression: str) -> None:
    stranger.execute(f"UPDATE jobs SET definition = {expression} WHERE id = ?", (str(job.id),))  # noqa: S608 - ours


@pytest.mark.parametrize("expression", DAMAGES.values(), ids=DAMAGES)
async def test_a_job_that_cannot_be_read_is_set_aside_and_hinders_nobody(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, expression: str
) -> None:
    broken, sound = [await storage.jobs.add(a_job()) for _ in range(2)]
    damage(stranger, broken, expression)
    clock.advance(60)

    fired = await storage.ledger.fire(planner, limit=10)

    assert (fired.jobs, fired.executions) == (2, 1)
    found = await storage.jobs.get(broken.tenant_id, broken.id)
    assert (found.status, found.next_run, found.version) == (JobStatus.FAILED, None, 2)
    assert "cannot be read" in (found.definition.description or "")
    _, failed = await versions_of(storage, broken.tenant_id, broken.id)
    assert "cannot be read" in failed.reason
    assert (await storage.jobs.get(sound.tenant_id, sound.id)).status is JobStatus.ACTIVE


async def test_what_could_not_be_read_stays_in_the_file(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    damage(stranger, job, DAMAGES["a word that is none"])
    [before] = stranger.execute("SELECT definition FROM jobs")
    clock.advance(60)

    await storage.ledger.fire(planner, limit=10)

    assert stranger.execute("SELECT definition FROM jobs").fetchall() == [before]


async def test_a_job_that_cannot_be_read_is_listed_and_can_be_deleted(
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    jobs = [await storage.jobs.add(a_job()) for _ in range(2)]
    damage(stranger, jobs[0], DAMAGES["no object"])

    listed = await storage.jobs.list(jobs[0].tenant_id, JobFilter())
    await storage.jobs.change(jobs[0].tenant_id, jobs[0].id, decided(delete))

    assert {job.id for job in listed.items} == {job.id for job in jobs}
    assert (await storage.jobs.list(jobs[0].tenant_id, JobFilter())).items == [jobs[1]]


async def test_work_of_a_job_that_cannot_be_read_any_more_is_still_settled(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(60)
    fired = await storage.ledger.fire(planner, limit=10)
    attempts = await storage.ledger.claim([each.execution_id for each in fired.dispatches], worker_id="node")
    damage(stranger, job, DAMAGES["a type that is none"])

    await storage.ledger.renew({(attempts[0].execution_id, 1): timedelta(minutes=1)}, worker_id="node")
    finished = await storage.ledger.finish([a_success(attempt) for attempt in attempts])

    assert finished.rejected == []
    [row] = (await storage.executions.list(job.tenant_id, ExecutionFilter())).items
    assert row.status is ExecutionStatus.SUCCESS


@pytest.mark.parametrize("expression", DAMAGES.values(), ids=DAMAGES)
async def test_work_of_a_job_that_cannot_be_read_is_claimed_for_a_while(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, expression: str
) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(60)
    fired = await storage.ledger.fire(planner, limit=10)
    damage(stranger, job, expression)

    [attempt] = await storage.ledger.claim([each.execution_id for each in fired.dispatches], worker_id="node")

    assert attempt.definition.handler_name == "unreadable"
    assert await expired(storage, limit=1) == []
    clock.advance(attempt.definition.lock_timeout_seconds)
    [lease] = await expired(storage, limit=1)
    assert lease.attempt.execution_id == attempt.execution_id


async def test_what_callers_may_not_ask_for_still_runs_if_it_is_in_the_file(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    damage(stranger, job, "json_set(definition, '$.lock_timeout_seconds', 2, '$.timeout_ms', 50)")
    clock.advance(60)

    fired = await storage.ledger.fire(planner, limit=10)
    [attempt] = await storage.ledger.claim([each.execution_id for each in fired.dispatches], worker_id="node")

    definition = attempt.definition
    assert (definition.handler_name, definition.lock_timeout_seconds, definition.timeout_ms) == ("report", 2, 50)
    clock.advance(2)
    assert len(await expired(storage, limit=1)) == 1


@pytest.mark.parametrize("decide", [decided(pause), decided(update, a_definition()), triggered()])
async def test_a_job_that_cannot_be_read_is_changed_by_nobody(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, decide: Decision
) -> None:
    job = await storage.jobs.add(a_job())
    damage(stranger, job, DAMAGES["a field that is missing"])
    [before] = stranger.execute("SELECT * FROM jobs")
    clock.advance(90)

    with pytest.raises(Conflict, match=r"cannot be read .*; such a job can only be cancelled or deleted"):
        await storage.jobs.change(job.tenant_id, job.id, decide)

    assert stranger.execute("SELECT * FROM jobs").fetchall() == [before]


@pytest.mark.parametrize("step", [cancel, delete])
async def test_the_end_of_a_job_that_cannot_be_read_leaves_its_definition_as_it_is(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, step: Callable[..., Plan]
) -> None:
    job = await storage.jobs.add(a_job())
    damage(stranger, job, DAMAGES["a field that is missing"])
    [before] = stranger.execute("SELECT definition FROM jobs")
    clock.advance(90)

    await storage.jobs.change(job.tenant_id, job.id, decided(step))

    assert stranger.execute("SELECT definition FROM jobs").fetchall() == [before]
    assert stranger.execute("SELECT status FROM jobs").fetchall() == [("cancelled",)]


async def test_the_file_takes_no_definition_that_is_no_json(storage: Storage, stranger: sqlite3.Connection) -> None:
    job = await storage.jobs.add(a_job())

    with pytest.raises(sqlite3.Error, match=r"(?i)json"):
        damage(stranger, job, "'{'")


async def test_a_key_of_a_job_that_cannot_be_read_is_not_replaced(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job(key="k"))
    damage(stranger, job, DAMAGES["a word that is none"])
    engines = Engines(storage=storage, pipe=None, bells=LocalBells(), wake_seconds=1)

    async with node_on(engines, clock) as node, asyncio.timeout(10):
        with pytest.raises(Conflict, match="cannot be read"):
            await node.scheduler.schedule(a_definition(key="k"), on_conflict=OnConflict.REPLACE)
        with pytest.raises(Conflict, match="cannot be read"):
            await node.scheduler.schedule_many([a_definition(key="k")], on_conflict=OnConflict.REPLACE)


async def test_a_job_that_cannot_be_read_keeps_its_key(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job(key="k"))
    damage(stranger, job, DAMAGES["a word that is none"])
    before = stranger.execute("SELECT * FROM jobs").fetchall()
    engines = Engines(storage=storage, pipe=None, bells=LocalBells(), wake_seconds=1)

    async with node_on(engines, clock) as node:
        alone = await node.scheduler.schedule(a_definition(key="k"), on_conflict=OnConflict.KEEP)
        kept, new = await node.scheduler.schedule_many(
            [a_definition(key="k"), a_definition()], on_conflict=OnConflict.KEEP
        )

    assert (alone.id, kept) == (job.id, alone)
    assert stranger.execute("SELECT * FROM jobs WHERE id <> ?", (str(new.id),)).fetchall() == before


async def fired(storage: Storage, clock: ManualClock, amount: int) -> list[UUID]:
    """Fire that many jobs, and tell their executions."""
    for _ in range(amount):
        await storage.jobs.add(a_job())
    clock.advance(60)
    return [each.execution_id for each in (await storage.ledger.fire(planner, limit=amount)).dispatches]


SPOILT = {
    "bytes for a text": "correlation_id = x'ff'",
    "a text of no characters": "tracestate = CAST(x'ff' AS TEXT)",
    "an id that is none": "event_id = 'x'",
    "an instant that is none": "available_at = 'soon'",
    "bytes for a name that every statement asks for": "tenant_id = x'ff'",
    "a number without an end": "max_retries = 9e999",
}


@pytest.mark.parametrize("spoilt", SPOILT.values(), ids=SPOILT)
async def test_an_execution_that_cannot_be_read_keeps_no_other_from_being_claimed(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, spoilt: str
) -> None:
    ids = await fired(storage, clock, 5)
    stranger.execute(f"UPDATE executions SET {spoilt} WHERE id = ?", (str(ids[2]),))  # noqa: S608 - ours

    attempts = await storage.ledger.claim(ids, worker_id="node")

    assert [attempt.execution_id for attempt in attempts] == [*ids[:2], *ids[3:]]
    rows = dict(stranger.execute("SELECT id, status FROM executions"))
    assert [rows[str(each)] for each in ids] == ["running", "running", "pending", "running", "running"]


@pytest.mark.parametrize("spoilt", [b"\xff", math.inf])
async def test_what_a_claim_writes_anew_may_have_been_anything_before(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, spoilt: bytes | float
) -> None:
    ids = await fired(storage, clock, 1)
    stranger.execute("UPDATE executions SET started_at = ?", (spoilt,))

    [attempt] = await storage.ledger.claim(ids, worker_id="node")

    assert attempt.started_at == clock.now()


@pytest.mark.parametrize("spoilt", [b"\xff", "high", math.inf])
async def test_a_priority_that_is_none_keeps_nothing_lost_from_being_repeated(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, spoilt: bytes | str | float
) -> None:
    ids = set(await fired(storage, clock, 3))
    stranger.execute("UPDATE executions SET priority = ? WHERE id = ?", (spoilt, str(min(ids))))
    clock.advance(60)

    seen = await storage.ledger.undelivered(capabilities=None, grace=timedelta(seconds=5), limit=10)
    repeated = await storage.ledger.redispatch([(each.execution_id, at) for each, at in seen])

    assert {each.execution_id for each in repeated} == ids
    assert {type(each.priority) for each in repeated} == {int}


@pytest.mark.parametrize("spoilt", ["worker_id = x'ff'", "tenant_id = CAST(x'ff' AS TEXT)"])
async def test_an_execution_that_cannot_be_read_keeps_no_other_from_its_end(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, spoilt: str
) -> None:
    ids = await fired(storage, clock, 5)
    attempts = await storage.ledger.claim(ids, worker_id="node")
    stranger.execute(f"UPDATE executions SET {spoilt} WHERE id = ?", (str(ids[2]),))  # noqa: S608 - ours

    finished = await storage.ledger.finish([a_success(attempt) for attempt in attempts])

    assert finished.rejected == [(ids[2], 1)]
    rows = dict(stranger.execute("SELECT id, status FROM executions"))
    assert [rows[str(each)] for each in ids] == ["success", "success", "running", "success", "success"]


@pytest.mark.parametrize("spoilt", ["event_id = 'x'", "created_at = 'soon'"])
async def test_an_attempt_that_cannot_be_read_keeps_no_other_from_being_recovered(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, spoilt: str
) -> None:
    for _ in range(2):
        await storage.jobs.add(a_job())
    clock.advance(60)
    ids = [each.execution_id for each in (await storage.ledger.fire(planner, limit=10)).dispatches]
    attempts = await storage.ledger.claim(ids, worker_id="node")
    stranger.execute(f"UPDATE executions SET {spoilt} WHERE id = ?", (str(ids[0]),))  # noqa: S608 - ours

    assert [each.execution_id for each in await storage.ledger.claimed(ids, worker_id="node")] == [ids[1]]
    clock.advance(attempts[0].definition.lock_timeout_seconds)
    assert [lease.attempt.execution_id for lease in await expired(storage, limit=10)] == [ids[1]]
