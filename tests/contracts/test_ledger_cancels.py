from __future__ import annotations

import asyncio
from collections.abc import Callable
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
    recount,
    trigger,
)
from tests.makers import START, a_failure, a_job, a_success, decided
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import InvalidTransition
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.lifecycle import cancel, delete, pause, resume
from tocsin.domain.plan import Plan
from tocsin.ports.storage import Storage

MINUTE = timedelta(minutes=1)


async def test_cancelling_a_pending_execution_frees_its_slot_for_the_next(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage)
    first, second = await trigger(storage, job, 2)
    clock.advance(1)

    changed = await storage.executions.cancel(TENANT, first.id)

    row = await execution(storage, first.id)
    assert changed.execution == row
    assert (row.status, row.completed_at, row.holds_slot) == (ExecutionStatus.CANCELLED, clock.now(), False)
    assert [dispatch.execution_id for dispatch in changed.dispatches] == [second.id]
    assert list(changed.stopped) == []
    assert (changed.job.counters.live, changed.job.counters.slots_taken, changed.job.counters.waiting) == (1, 1, 0)
    assert not await claim(storage, first)


async def test_cancelling_what_waits_frees_no_slot(storage: Storage) -> None:
    job = await an_idle_job(storage)
    _, second, _ = await trigger(storage, job, 3)

    changed = await storage.executions.cancel(TENANT, second.id)

    assert list(changed.dispatches) == []
    assert (changed.job.counters.live, changed.job.counters.slots_taken, changed.job.counters.waiting) == (2, 1, 1)


async def test_a_cancelled_retry_waits_for_nothing_any_more(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)
    await storage.ledger.finish([a_failure(attempt)])

    await storage.executions.cancel(TENANT, attempt.execution_id)

    row = await execution(storage, attempt.execution_id)
    assert (row.next_retry_at, row.holds_slot, row.error_type) == (None, False, "ValueError")


async def test_a_cancelled_running_execution_keeps_its_slot_until_it_is_released(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage)
    first, second = await trigger(storage, job, 2)
    await claim(storage, first)
    clock.advance(1)

    changed = await storage.executions.cancel(TENANT, first.id)

    row = await execution(storage, first.id)
    assert list(changed.stopped) == [first.id]
    assert list(changed.dispatches) == []
    assert (row.status, row.completed_at, row.holds_slot) == (ExecutionStatus.CANCELLED, clock.now(), True)
    assert row.lease_expires_at == START + timedelta(seconds=60)
    assert (changed.job.counters.live, changed.job.counters.slots_taken) == (1, 1)

    admitted = await storage.ledger.release([(first.id, 1)])

    assert [dispatch.execution_id for dispatch in admitted] == [second.id]
    row = await execution(storage, first.id)
    assert (row.holds_slot, row.lease_expires_at) == (False, None)


async def test_a_time_out_keeps_its_slot_until_the_handler_is_gone(storage: Storage) -> None:
    job = await an_idle_job(storage, max_retries=0)
    first, second = await trigger(storage, job, 2)
    [attempt] = await claim(storage, first)

    finished = await storage.ledger.finish([a_failure(attempt, status=ExecutionStatus.TIMEOUT)])

    assert list(finished.dispatches) == []
    totals = await counters(storage, job)
    assert (totals.failure_count, totals.slots_taken, totals.live) == (1, 1, 1)
    assert [dispatch.execution_id for dispatch in await storage.ledger.release([(first.id, 1)])] == [second.id]


async def test_a_slot_is_released_once(storage: Storage) -> None:
    job = await an_idle_job(storage)
    first, _, _ = await trigger(storage, job, 3)
    await claim(storage, first)
    await storage.executions.cancel(TENANT, first.id)

    answers = await asyncio.gather(*(storage.ledger.release([(first.id, 1), (first.id, 1)]) for _ in range(5)))

    assert sum(len(answer) for answer in answers) == 1
    totals = await counters(storage, job)
    assert (totals.slots_taken, totals.waiting) == (1, 1)


async def test_nothing_is_released_that_runs_or_was_another_attempt(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, max_retries=1, retry_delay_ms=0)
    first, _ = await trigger(storage, job, 2)
    [attempt] = await claim(storage, first)
    assert not await storage.ledger.release([(first.id, 1)])
    await storage.ledger.finish([a_failure(attempt)])
    assert not await storage.ledger.release([(first.id, 1)])
    clock.advance(5)
    await storage.ledger.ready(limit=10)
    await claim(storage, first)
    await storage.executions.cancel(TENANT, first.id)

    assert not await storage.ledger.release([(first.id, 1)])
    assert (await execution(storage, first.id)).holds_slot
    assert len(await storage.ledger.release([(first.id, 2)])) == 1


@pytest.mark.parametrize("ended", ["success", "failed", "cancelled"])
async def test_what_has_ended_cannot_be_cancelled(storage: Storage, ended: str) -> None:
    attempt = await a_running_attempt(storage, max_retries=0)
    if ended == "cancelled":
        await storage.executions.cancel(TENANT, attempt.execution_id)
    else:
        await storage.ledger.finish([a_success(attempt) if ended == "success" else a_failure(attempt)])
    before = await execution(storage, attempt.execution_id)

    with pytest.raises(InvalidTransition) as caught:
        await storage.executions.cancel(TENANT, attempt.execution_id)

    assert (caught.value.current, caught.value.wanted) == (ended, "cancelled")
    assert await execution(storage, attempt.execution_id) == before


@pytest.mark.parametrize("step", [cancel, delete])
async def test_cancelling_a_job_ends_what_is_pending_and_running(
    storage: Storage, clock: ManualClock, step: Callable[..., Plan]
) -> None:
    job = await an_idle_job(storage, concurrency=2)
    running, admitted, waiting = await trigger(storage, job, 3)
    await claim(storage, running)
    clock.advance(1)

    changed = await storage.jobs.change(TENANT, job.id, decided(step))

    assert list(changed.stopped) == [running.id]
    assert list(changed.dispatches) == []
    rows = await executions_of(storage, job)
    assert {row.status for row in rows} == {ExecutionStatus.CANCELLED}
    assert {row.completed_at for row in rows} == {clock.now()}
    assert [row.holds_slot for row in rows] == [True, False, False]
    totals = changed.job.counters
    assert (totals.live, totals.waiting, totals.slots_taken) == (0, 0, 1)
    assert not await claim(storage, admitted, waiting)
    assert not await storage.ledger.release([(running.id, 1)])
    assert (await executions_of(storage, job))[0].lease_expires_at is None


async def test_cancelling_accounts_first_for_what_was_due(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(61)

    changed = await storage.jobs.change(TENANT, job.id, decided(cancel))

    [row] = await executions_of(storage, job)
    assert (row.scheduled_at, row.status) == (START + MINUTE, ExecutionStatus.CANCELLED)
    assert (list(changed.dispatches), list(changed.stopped)) == ([], [])
    assert changed.job.counters == recount([row])


async def test_a_pause_in_the_second_after_a_due_time_swallows_nothing(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(61)

    changed = await storage.jobs.change(TENANT, job.id, decided(pause))

    [row] = await executions_of(storage, job)
    assert row.scheduled_at == START + MINUTE
    assert [dispatch.execution_id for dispatch in changed.dispatches] == [row.id]
    assert len(await claim(storage, row)) == 1
    clock.advance(600)
    await storage.jobs.change(TENANT, job.id, decided(resume))
    assert len(await executions_of(storage, job)) == 1
