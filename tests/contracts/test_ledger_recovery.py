from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.contracts.steps import TENANT, WORKER, a_running_attempt, an_idle_job, claim, execution, expired, trigger
from tests.makers import START, a_success, new_id
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import hand_back, lose
from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.storage import Storage

LEASE = timedelta(seconds=60)


async def test_renewing_extends_each_lease_by_what_its_holder_says_whatever_the_job_says_by_now(
    storage: Storage, clock: ManualClock
) -> None:
    first, second = [await a_running_attempt(storage, lock_timeout_seconds=7200) for _ in range(2)]
    clock.advance(20)

    leases = {
        (first.execution_id, 1): timedelta(seconds=30),
        (second.execution_id, 1): timedelta(seconds=45, microseconds=1),
    }
    gone = await storage.ledger.renew(leases, worker_id=WORKER)

    assert list(gone) == []
    for (execution_id, _), lease in leases.items():
        assert (await execution(storage, execution_id)).lease_expires_at == clock.now() + lease


async def test_renewing_tells_which_holds_are_no_longer_this_workers_to_run(
    storage: Storage, clock: ManualClock
) -> None:
    kept, cancelled, taken_over = [await a_running_attempt(storage, max_retries=1) for _ in range(3)]
    await storage.executions.cancel(TENANT, cancelled.execution_id)
    await storage.ledger.finish([hand_back(taken_over, clock.now())])
    await storage.ledger.claim([taken_over.execution_id], worker_id="node-2/boot-1")
    missing = new_id(START)
    holds = [(missing, 1), (taken_over.execution_id, 1), (kept.execution_id, 1), (cancelled.execution_id, 1)]

    gone = await storage.ledger.renew(dict.fromkeys(holds, LEASE), worker_id=WORKER)

    assert list(gone) == [(missing, 1), (taken_over.execution_id, 1), (cancelled.execution_id, 1)]
    again = await storage.ledger.renew({(kept.execution_id, 1): LEASE}, worker_id="node-2/boot-1")
    assert list(again) == [(kept.execution_id, 1)]


async def test_another_worker_cannot_extend_a_lease(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage)
    before = await execution(storage, attempt.execution_id)
    clock.advance(5)

    await storage.ledger.renew({(attempt.execution_id, 1): LEASE}, worker_id="node-2/boot-1")

    assert await execution(storage, attempt.execution_id) == before


async def test_an_ended_attempt_that_still_holds_its_slot_keeps_its_lease_alive(
    storage: Storage, clock: ManualClock
) -> None:
    attempt = await a_running_attempt(storage)
    await storage.executions.cancel(TENANT, attempt.execution_id)
    clock.advance(50)

    gone = await storage.ledger.renew({(attempt.execution_id, 1): LEASE}, worker_id=WORKER)

    assert list(gone) == [(attempt.execution_id, 1)]
    assert (await execution(storage, attempt.execution_id)).lease_expires_at == clock.now() + LEASE


async def test_a_released_lease_is_not_renewed(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)
    await storage.ledger.finish([a_success(attempt)])

    assert len(await storage.ledger.renew({(attempt.execution_id, 1): LEASE}, worker_id=WORKER)) == 1
    assert (await execution(storage, attempt.execution_id)).lease_expires_at is None


async def test_stopped_tells_without_renewing(storage: Storage, clock: ManualClock) -> None:
    running, cancelled = await a_running_attempt(storage), await a_running_attempt(storage)
    await storage.executions.cancel(TENANT, cancelled.execution_id)
    before = await execution(storage, running.execution_id)
    clock.advance(5)

    stopped = await storage.ledger.stopped(
        [(running.execution_id, 1), (running.execution_id, 2), (cancelled.execution_id, 1), (new_id(START), 1)]
    )

    assert [hold[1] for hold in stopped] == [2, 1, 1]
    assert await execution(storage, running.execution_id) == before


async def test_expired_leases_are_listed_oldest_first_and_left_alone(storage: Storage, clock: ManualClock) -> None:
    late = await a_running_attempt(storage, lock_timeout_seconds=60)
    early = await a_running_attempt(storage, lock_timeout_seconds=30)
    cancelled = await a_running_attempt(storage, lock_timeout_seconds=45)
    await a_running_attempt(storage, lock_timeout_seconds=7200)
    await storage.executions.cancel(TENANT, cancelled.execution_id)
    clock.advance(60)

    leases = await expired(storage, limit=10)

    assert [lease.attempt.execution_id for lease in leases] == [
        early.execution_id,
        cancelled.execution_id,
        late.execution_id,
    ]
    assert [lease.status for lease in leases] == ["running", "cancelled", "running"]
    assert [lease.lease_expires_at for lease in leases] == [
        START + timedelta(seconds=30),
        START + timedelta(seconds=45),
        START + timedelta(seconds=60),
    ]
    assert leases[0].attempt == replace(early, claimed_at=None)
    assert list(await expired(storage, limit=10)) == list(leases)
    assert len(await expired(storage, limit=1)) == 1


async def test_a_lease_is_not_expired_before_its_time(storage: Storage, clock: ManualClock) -> None:
    await a_running_attempt(storage)
    clock.advance(59.999999)

    assert not await expired(storage, limit=10)


async def test_a_lost_attempt_with_retries_left_is_available_at_once(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage, max_retries=1)
    clock.advance(61)
    [lease] = await expired(storage, limit=10)

    finished = await storage.ledger.finish([lose(lease.attempt, lease.lease_expires_at, chance=0)])

    row = await execution(storage, attempt.execution_id)
    assert [dispatch.execution_id for dispatch in finished.dispatches] == [row.id]
    assert (row.status, row.failures, row.dispatched_at) == (ExecutionStatus.PENDING, 1, clock.now())
    assert (row.past_attempts[0].outcome, row.past_attempts[0].worker_id) == ("lease_lost", WORKER)
    assert not await expired(storage, limit=10)


async def test_a_clock_that_was_set_back_hides_neither_a_lost_dispatch_nor_a_dead_lease(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage, concurrency=2)
    first, second = await trigger(storage, job, 2)
    await claim(storage, first)

    clock.jump_wall(timedelta(hours=-1))

    [(lost, _)] = await storage.ledger.undelivered(
        capabilities={"function/report"}, grace=timedelta(seconds=1), limit=10
    )
    [lease] = await expired(storage, limit=10)
    assert (lost.execution_id, lease.attempt.execution_id) == (second.id, first.id)
