from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from threading import Event

import pytest

from tests.application.rig import Rig
from tests.makers import decided
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.lifecycle import update
from tocsin.ports.handlers import HandlerContext


async def for_ever() -> None:
    await asyncio.Event().wait()


async def beats(rig: Rig, seconds: int) -> list[float]:
    """Beat each second; answer when leases were renewed."""
    renewed = []
    for _ in range(seconds):
        rig.clock.advance(1)
        before = rig.ledger.calls.get("renew", 0)
        await rig.executor.heartbeat()
        if rig.ledger.calls.get("renew", 0) > before:
            renewed.append(rig.clock.monotonic())
    return renewed


@pytest.mark.parametrize(("lease", "renewals"), [(60, [10, 20, 30]), (30, [10, 20, 30]), (15, [5, 10, 15, 20, 25, 30])])
async def test_a_lease_is_renewed_each_ten_seconds_or_a_third_of_it(
    rig: Rig, lease: int, renewals: list[float]
) -> None:
    execution_id = await rig.start(for_ever, lock_timeout_seconds=lease)

    assert await beats(rig, 30) == renewals

    row = await rig.execution(execution_id)
    assert row.lease_expires_at is not None
    assert (row.lease_expires_at - rig.clock.now()).total_seconds() == lease


async def test_one_statement_renews_all_leases_of_a_node(rig: Rig) -> None:
    await rig.start(for_ever)
    rig.clock.advance(5)
    late = await rig.start(for_ever)
    rig.clock.advance(5)
    await rig.executor.heartbeat()

    row = await rig.execution(late)
    assert row.lease_expires_at is not None
    assert (row.lease_expires_at - rig.clock.now()).total_seconds() == 60
    assert rig.ledger.calls["renew"] == 1


async def test_an_idle_node_asks_the_store_nothing(rig: Rig) -> None:
    await beats(rig, 20)

    assert rig.ledger.calls == {}


async def test_a_cancel_reaches_the_handler_with_the_next_beat_and_stays(rig: Rig) -> None:
    ends: list[str] = []

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
        return "finished all the same"

    execution_id = await rig.start(work)
    waiting = await rig.trigger(await rig.scheduler.get_job((await rig.execution(execution_id)).job_id))
    await rig.scheduler.cancel_execution(execution_id)
    assert (await rig.execution(execution_id)).holds_slot
    assert (await rig.execution(waiting)).available_at is None

    rig.clock.advance(1)
    await rig.executor.heartbeat()
    await rig.handlers_end()
    await rig.executor.flush()

    row = await rig.execution(execution_id)
    assert ends == ["cancelled"]
    assert (row.status, row.result, row.holds_slot) == (ExecutionStatus.CANCELLED, None, False)
    assert (await rig.execution(waiting)).available_at is not None
    assert rig.notes.lines == []


async def test_a_cancel_that_crosses_the_end_wins_and_frees_the_slot_without_waiting_for_the_lease(rig: Rig) -> None:
    job = await rig.a_job(lambda: "done")
    first, second = await rig.trigger(job), await rig.trigger(job)
    await rig.take()
    await rig.handlers_end()
    await rig.scheduler.cancel_execution(first)

    await rig.executor.flush()
    await rig.executor.flush()

    row = await rig.execution(first)
    assert (row.status, row.result, row.holds_slot) == (ExecutionStatus.CANCELLED, None, False)
    await rig.work()
    assert (await rig.execution(second)).status is ExecutionStatus.SUCCESS


async def test_a_thread_sees_that_it_is_cancelled_and_wakes(rig: Rig) -> None:
    answers: list[bool] = []

    def work(context: HandlerContext) -> None:
        answers.append(context.cancellation.wait(60))

    execution_id = await rig.start(work)
    await rig.scheduler.cancel_execution(execution_id)
    await rig.executor.heartbeat()
    await rig.work()

    assert answers == [True]
    assert (await rig.execution(execution_id)).status is ExecutionStatus.CANCELLED


async def test_a_node_that_cannot_reach_the_store_gives_its_attempts_up_in_time(rig: Rig) -> None:
    ends: list[float] = []

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append(rig.clock.monotonic())
        return "a result that nobody may see"

    execution_id = await rig.start(work, lock_timeout_seconds=30)
    await beats(rig, 10)
    rig.ledger.everything_down()
    for _ in range(60):
        rig.clock.advance(0.5)
        rig.executor.fence()
        with suppress(StoreUnavailable):
            await rig.executor.heartbeat()
        await asyncio.sleep(0)
    assert ends == [40.0], "30 s after the last renewal was sent"

    rig.ledger.down = set()
    await rig.executor.flush()
    row = await rig.execution(execution_id)
    assert (row.status, row.result) == (ExecutionStatus.RUNNING, None)
    assert rig.notes.of("execution.fenced") == [{"execution_id": str(execution_id), "attempt": 1}]

    for _ in range(15):
        rig.clock.advance(1)
        await rig.sweeper.run_once()
    row = await rig.execution(execution_id)
    assert (row.status, row.failures) == (ExecutionStatus.PENDING, 1)


async def test_an_attempt_given_up_lapses_though_its_thread_goes_on_and_the_store_is_back(rig: Rig) -> None:
    let_go = Event()
    execution_id = await rig.start(let_go.wait, lock_timeout_seconds=30, max_retries=0)
    rig.ledger.everything_down()
    rig.clock.advance(30)
    await rig.executor.heartbeat()
    rig.ledger.down = set()

    for _ in range(60):
        rig.clock.advance(1)
        await rig.executor.heartbeat()
        await rig.sweeper.run_once()

    row = await rig.execution(execution_id)
    assert (row.status, row.error_type) == (ExecutionStatus.FAILED, "LEASE_LOST")
    let_go.set()
    await rig.handlers_end()
    await rig.executor.flush()
    assert (await rig.execution(execution_id)) == row


async def test_the_wall_clock_fences_nobody(rig: Rig) -> None:
    execution_id = await rig.start(for_ever, lock_timeout_seconds=30)
    for jump in (3600, -7200):
        rig.clock.jump_wall(jump)
        await beats(rig, 12)

    assert rig.notes.lines == []
    assert (await rig.execution(execution_id)).status is ExecutionStatus.RUNNING
    assert rig.executor.running == 1


async def test_a_zombies_late_end_changes_nothing_and_is_told_of(rig: Rig) -> None:
    gate = asyncio.Event()

    async def work(context: HandlerContext) -> int:
        if context.attempt == 1:
            await gate.wait()
        return context.attempt

    execution_id = await rig.start(work, lock_timeout_seconds=30)
    successor = rig.another_executor("node-2#b")
    for _ in range(50):
        rig.clock.advance(1)
        await rig.sweeper.run_once()
    await rig.work(successor)
    before = await rig.execution(execution_id)

    gate.set()
    await rig.handlers_end()
    await rig.executor.flush()

    after = await rig.execution(execution_id)
    assert after == before
    assert (after.status, after.result, after.worker_id) == (ExecutionStatus.SUCCESS, 2, "node-2#b")
    assert rig.notes.of("execution.lease_lost") == [{"execution_id": str(execution_id), "attempt": 1}]


async def test_an_attempt_that_another_node_took_over_is_stopped(rig: Rig) -> None:
    execution_id = await rig.start(for_ever, lock_timeout_seconds=30, concurrency=2)
    for _ in range(50):
        rig.clock.advance(1)
        await rig.sweeper.run_once()
    successor = rig.another_executor("node-2#b")
    await rig.take(successor)

    # A node that was stopped for a while does not know by its own clock how long that was.
    for held in rig.executor.holds.values():
        held.renewed_at = rig.clock.monotonic()
    await rig.executor.heartbeat()
    await rig.handlers_end()
    await rig.executor.flush()

    assert rig.executor.running == 0
    assert ((await rig.execution(execution_id)).status, successor.running) == (ExecutionStatus.RUNNING, 1)


async def test_a_lease_is_renewed_for_what_its_node_reckons_with_though_the_job_says_less_by_now(rig: Rig) -> None:
    execution_id = await rig.start(for_ever, lock_timeout_seconds=7200)
    job = await rig.scheduler.get_job((await rig.execution(execution_id)).job_id)
    shorter = replace(job.definition, lock_timeout_seconds=30)
    await rig.storage.jobs.change(job.tenant_id, job.id, decided(update, shorter))
    await beats(rig, 11)

    [held] = rig.executor.holds.values()
    row = await rig.execution(execution_id)
    assert row.lease_expires_at is not None
    lasts = (row.lease_expires_at - rig.clock.now()).total_seconds()
    assert lasts == held.lease_until - rig.clock.monotonic() == 7199
