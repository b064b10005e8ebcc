from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from tests.contracts.steps import (
    TENANT,
    WORKER,
    an_idle_job,
    claim,
    counters,
    execution,
    executions_of,
    expired,
    recount,
    trigger,
)
from tests.makers import a_failure, a_job, a_success, decided, planner, triggered
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import lose
from tocsin.domain.job import OverlapPolicy
from tocsin.domain.lifecycle import update
from tocsin.ports.storage import Storage

MINUTE = timedelta(minutes=1)


async def test_fifty_triggers_run_one_after_the_other_in_the_order_given(storage: Storage) -> None:
    job = await an_idle_job(storage)
    await asyncio.gather(*(storage.jobs.change(TENANT, job.id, triggered()) for _ in range(50)))
    ids = [row.id for row in await executions_of(storage, job)]

    ran = []
    while claimed := await storage.ledger.claim(ids, worker_id=WORKER):
        [attempt] = claimed
        ran.append(attempt.execution_id)
        finished = await storage.ledger.finish([a_success(attempt)])
        assert [dispatch.execution_id for dispatch in finished.dispatches] == ids[len(ran) : len(ran) + 1]

    assert ran == ids
    assert (await counters(storage, job)).success_count == 50


async def test_a_lost_lease_in_between_neither_loses_nor_overlaps_anything(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage, max_retries=1)
    first, second = await trigger(storage, job, 2)
    await claim(storage, first)
    clock.advance(61)

    [lease] = await expired(storage, limit=10)
    await storage.ledger.finish([lose(lease.attempt, lease.lease_expires_at, chance=0)])

    assert not await claim(storage, second)
    [again] = await claim(storage, first)
    await storage.ledger.finish([a_success(again)])
    assert len(await claim(storage, second)) == 1


async def test_an_admitted_execution_is_available_dispatched_and_holds_its_slot(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage, priority=70)
    first, second = await trigger(storage, job, 2)
    [attempt] = await claim(storage, first)
    clock.advance(7)

    finished = await storage.ledger.finish([a_success(attempt)])

    row = await execution(storage, second.id)
    assert row.available_at == row.dispatched_at == clock.now()
    assert row.holds_slot
    [dispatch] = finished.dispatches
    assert (dispatch.execution_id, dispatch.capability, dispatch.priority) == (row.id, "function/report", 70)


async def test_slots_are_held_by_pending_retrying_and_running_executions_of_every_origin(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job(concurrency=3, overlap_policy=OverlapPolicy.QUEUE_ALL))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=1)
    retrying, running = await trigger(storage, job, 2)
    [failing, _] = await claim(storage, retrying, running)
    await storage.ledger.finish([a_failure(failing)])

    [waiting] = await trigger(storage, job, 1)

    assert waiting.available_at is None
    totals = await counters(storage, job)
    assert (totals.slots_taken, totals.waiting, totals.live) == (3, 1, 4)


async def test_allow_all_gives_everyone_a_slot(storage: Storage) -> None:
    job = await an_idle_job(storage, overlap_policy=OverlapPolicy.ALLOW_ALL)
    rows = await trigger(storage, job, 5)

    attempts = await claim(storage, *rows)

    assert len(attempts) == 5
    totals = await counters(storage, job)
    assert (totals.slots_taken, totals.waiting, totals.live) == (5, 0, 5)
    await storage.ledger.finish([a_success(attempt) for attempt in attempts])
    assert (await counters(storage, job)) == replace(recount(await executions_of(storage, job)), consecutive_failures=0)


async def test_raising_the_concurrency_admits_what_waits_oldest_first(storage: Storage) -> None:
    job = await an_idle_job(storage)
    rows = await trigger(storage, job, 5)

    changed = await storage.jobs.change(TENANT, job.id, decided(update, replace(job.definition, concurrency=3)))

    assert [dispatch.execution_id for dispatch in changed.dispatches] == [rows[1].id, rows[2].id]
    assert changed.job.counters.slots_taken == 3
    assert [row.holds_slot for row in await executions_of(storage, job)] == [True, True, True, False, False]


async def test_lowering_the_concurrency_admits_nothing_until_slots_are_really_free(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=3)
    rows = await trigger(storage, job, 4)
    attempts = await claim(storage, *rows[:3])
    await storage.jobs.change(TENANT, job.id, decided(update, replace(job.definition, concurrency=1)))

    first = await storage.ledger.finish([a_success(attempts[0]), a_success(attempts[1])])
    second = await storage.ledger.finish([a_success(attempts[2])])

    assert list(first.dispatches) == []
    assert [dispatch.execution_id for dispatch in second.dispatches] == [rows[3].id]


async def test_nobody_overtakes_what_waits(storage: Storage) -> None:
    job = await an_idle_job(storage)
    first, _ = await trigger(storage, job, 2)
    await storage.executions.cancel(TENANT, first.id)

    [third] = await trigger(storage, job, 1)

    assert third.available_at is None
