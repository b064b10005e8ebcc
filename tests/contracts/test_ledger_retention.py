from __future__ import annotations

from datetime import timedelta

import pytest

from tests.contracts.steps import (
    TENANT,
    a_running_attempt,
    an_idle_job,
    claim,
    counters,
    execution,
    executions_of,
    trigger,
    versions_of,
)
from tests.makers import START, a_success, decided
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import ExecutionNotFound, JobNotFound
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.lifecycle import delete
from tocsin.ports.ledger import LogLine
from tocsin.ports.storage import Storage

DAY = timedelta(days=1)


async def test_retention_keeps_the_young_and_the_newest_of_each_job(storage: Storage, clock: ManualClock) -> None:
    jobs = [await an_idle_job(storage, concurrency=9) for _ in range(2)]
    for job in jobs:
        await storage.ledger.finish([a_success(each) for each in await claim(storage, *await trigger(storage, job, 5))])
    clock.advance(31 * DAY)
    [young] = await claim(storage, *await trigger(storage, jobs[0], 1))
    await storage.ledger.finish([a_success(young)])
    before = {job.id: await executions_of(storage, job) for job in jobs}

    purged = await storage.ledger.purge(keep=30 * DAY, newest=2, limit=100)

    assert (purged.executions, purged.jobs) == (4 + 3, 0)
    for job in jobs:
        assert await executions_of(storage, job) == before[job.id][-2:]
    assert (await counters(storage, jobs[0])).executions_count == 6


async def test_retention_goes_oldest_first_within_its_limit(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=9)
    rows = await trigger(storage, job, 5)
    await storage.ledger.finish([a_success(each) for each in await claim(storage, *rows)])
    clock.advance(31 * DAY)

    purged = await storage.ledger.purge(keep=30 * DAY, newest=0, limit=2)

    assert purged.executions == 2
    assert [row.id for row in await executions_of(storage, job)] == [row.id for row in rows[2:]]


async def test_retention_goes_on_behind_what_it_keeps(storage: Storage, clock: ManualClock) -> None:
    kept, other = [await an_idle_job(storage, concurrency=9) for _ in range(2)]
    for job in (kept, other):
        await storage.ledger.finish([a_success(each) for each in await claim(storage, *await trigger(storage, job, 3))])
    clock.advance(31 * DAY)
    await storage.ledger.finish([a_success(each) for each in await claim(storage, *await trigger(storage, other, 3))])

    removed, after = [], None
    for _ in range(4):
        purged = await storage.ledger.purge(keep=30 * DAY, newest=3, limit=2, after=after)
        removed.append(purged.executions)
        after = purged.next

    assert removed == [0, 1, 2, 0]
    assert after is None
    assert len(await executions_of(storage, kept)) == len(await executions_of(storage, other)) == 3


async def test_retention_takes_the_logs_along(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage)
    await storage.ledger.append_logs(
        [LogLine(execution_id=attempt.execution_id, attempt=1, sequence=1, logged_at=START, level="info", message="m")]
    )
    await storage.ledger.finish([a_success(attempt)])
    clock.advance(31 * DAY)

    await storage.ledger.purge(keep=30 * DAY, newest=0, limit=10)

    with pytest.raises(ExecutionNotFound):
        await storage.executions.get(TENANT, attempt.execution_id)
    with pytest.raises(ExecutionNotFound):
        await storage.executions.logs(TENANT, attempt.execution_id, after=0, limit=1)


async def test_retention_leaves_what_is_live_or_holds_a_slot(storage: Storage, clock: ManualClock) -> None:
    running, cancelled = await a_running_attempt(storage), await a_running_attempt(storage)
    job = await an_idle_job(storage)
    await trigger(storage, job, 2)
    await storage.executions.cancel(TENANT, cancelled.execution_id)
    clock.advance(31 * DAY)

    assert (await storage.ledger.purge(keep=30 * DAY, newest=0, limit=10)).executions == 0

    await storage.ledger.release([(cancelled.execution_id, 1)])
    assert (await storage.ledger.purge(keep=30 * DAY, newest=0, limit=10)).executions == 1
    assert (await execution(storage, running.execution_id)).status is ExecutionStatus.RUNNING


async def test_a_deleted_job_goes_when_its_ledger_is_gone(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage)
    kept = await an_idle_job(storage)
    await storage.ledger.finish([a_success(attempt)])
    clock.advance(20 * DAY)
    await storage.jobs.change(TENANT, attempt.job_id, decided(delete))
    clock.advance(15 * DAY)

    first = await storage.ledger.purge(keep=30 * DAY, newest=0, limit=10)
    assert (first.executions, first.jobs) == (1, 0)
    assert len(await versions_of(storage, TENANT, attempt.job_id)) == 2
    clock.advance(20 * DAY)
    second = await storage.ledger.purge(keep=30 * DAY, newest=0, limit=10)

    assert (second.executions, second.jobs) == (0, 1)
    with pytest.raises(JobNotFound):
        await versions_of(storage, TENANT, attempt.job_id)
    assert await storage.jobs.get(TENANT, kept.id) == kept


async def test_the_newest_are_kept_only_until_their_job_was_deleted_long_ago(
    storage: Storage, clock: ManualClock
) -> None:
    deleted, kept = [await a_running_attempt(storage) for _ in range(2)]
    await storage.ledger.finish([a_success(deleted), a_success(kept)])
    clock.advance(31 * DAY)
    await storage.jobs.change(TENANT, deleted.job_id, decided(delete))

    clock.advance(30 * DAY)
    early = await storage.ledger.purge(keep=30 * DAY, newest=100, limit=10)
    assert (early.executions, early.jobs) == (0, 0)
    clock.advance(1)
    late = await storage.ledger.purge(keep=30 * DAY, newest=100, limit=10)

    assert (late.executions, late.jobs) == (1, 1)
    with pytest.raises(ExecutionNotFound):
        await storage.executions.get(TENANT, deleted.execution_id)
    assert (await execution(storage, kept.execution_id)).status is ExecutionStatus.SUCCESS


async def test_a_deleted_job_stays_while_it_has_executions(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage)
    await storage.jobs.change(TENANT, attempt.job_id, decided(delete))
    clock.advance(31 * DAY)

    assert (await storage.ledger.purge(keep=30 * DAY, newest=100, limit=10)).jobs == 0
    assert (await execution(storage, attempt.execution_id)).status is ExecutionStatus.CANCELLED

    await storage.ledger.release([(attempt.execution_id, 1)])
    assert (await storage.ledger.purge(keep=30 * DAY, newest=100, limit=10)).jobs == 1
