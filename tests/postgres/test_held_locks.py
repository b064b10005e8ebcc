"""Locks that a process holds which froze in mid-transaction, or was cut off: who has to wait for them, and who not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.makers import a_job, a_success, an_event_job, planner, triggered
from tests.postgres.sessions import until_calls_wait_for_a_lock
from tocsin.adapters.postgres import Access, open_postgres
from tocsin.adapters.system import ManualClock
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

HOLD = "SELECT 1 FROM job_counters WHERE job_id = $1 FOR NO KEY UPDATE"


async def test_a_job_whose_counters_are_held_delays_the_fire_of_no_other(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    held, *others = [await storage.jobs.add(a_job()) for _ in range(3)]
    clock.advance(60)

    async with stranger.transaction():
        await stranger.execute(HOLD, held.id)
        fired = await storage.ledger.fire(planner, limit=10)
        assert (fired.jobs, fired.next_due) == (2, held.next_run)
        assert {(await storage.jobs.get(job.tenant_id, job.id)).last_run for job in others} == {held.next_run}

    assert (await storage.ledger.fire(planner, limit=10)).jobs == 1


async def test_a_timer_waits_for_the_only_job_that_is_due_and_others_meanwhile_do_not(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    held = await storage.jobs.add(a_job())
    clock.advance(60)

    async with stranger.transaction():
        await stranger.execute(HOLD, held.id)
        waiting = asyncio.create_task(storage.ledger.fire(planner, limit=10))
        await until_calls_wait_for_a_lock(stranger, 1)
        other = await storage.jobs.add(a_job(next_run=clock.now()))
        fired = await storage.ledger.fire(planner, limit=10)
        assert [(fired.jobs, (await storage.jobs.get(other.tenant_id, other.id)).last_run)] == [(1, clock.now())]

    assert (await waiting).jobs == 1


async def test_what_was_fired_is_handed_on_though_a_job_that_is_late_stays_held(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    held = await storage.jobs.add(a_job())
    clock.advance(59)
    await storage.jobs.add(a_job(next_run=held.next_run))
    clock.advance(5)

    async with stranger.transaction():
        await stranger.execute(HOLD, held.id)
        fired = await storage.ledger.fire(planner, limit=10)

    assert (fired.jobs, len(fired.dispatches)) == (1, 1)
    assert (await storage.ledger.fire(planner, limit=10)).jobs == 1


async def test_requests_that_wait_for_one_job_leave_connections_for_the_leases_of_others(
    postgres_url: str, clock: ManualClock, stranger: Stranger
) -> None:
    async with open_postgres(Access(url=postgres_url, connections=4, deadline=60), clock) as storage:
        busy, held = [await storage.jobs.add(an_event_job()) for _ in range(2)]
        running = await storage.jobs.change(busy.tenant_id, busy.id, triggered())
        [attempt] = await storage.ledger.claim([each.execution_id for each in running.dispatches], worker_id="node")

        async with stranger.transaction():
            await stranger.execute("SELECT 1 FROM jobs WHERE id = $1 FOR NO KEY UPDATE", held.id)
            requests = [
                asyncio.create_task(storage.jobs.change(held.tenant_id, held.id, triggered())) for _ in range(20)
            ]
            await until_calls_wait_for_a_lock(stranger, 2)
            finished = await storage.ledger.finish([a_success(attempt)])
            assert not finished.rejected

        await asyncio.gather(*requests)


async def test_the_server_ends_a_transaction_that_froze_before_those_who_wait_for_it_give_up(
    postgres_url: str, clock: ManualClock
) -> None:
    access = Access(url=postgres_url, deadline=4)
    async with open_postgres(access, clock) as storage:
        job = await storage.jobs.add(a_job())
        frozen = await access.connect()
        try:
            await frozen.execute("BEGIN")
            await frozen.execute(HOLD, job.id)

            assert (await storage.jobs.change(job.tenant_id, job.id, triggered())).execution is not None
        finally:
            frozen.terminate()
