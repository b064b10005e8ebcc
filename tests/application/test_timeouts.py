from __future__ import annotations

import asyncio
from dataclasses import replace
from threading import Event

from tests.application.rig import Rig
from tests.makers import decided
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.lifecycle import update
from tocsin.ports.handlers import HandlerContext
from tocsin.ports.reports import HealthStatus

SOON = 5
"""A time-out in ms: a real timer of the event loop, waited for by the bell that it rings."""


async def timed_out(rig: Rig) -> None:
    """Wait until the executor has something to write."""
    assert await rig.executor.finished.wait(None)


async def test_a_timeout_is_final_at_once_while_the_slot_waits_for_a_stubborn_handler(rig: Rig) -> None:
    let_go = Event()
    runs: list[str] = []

    def work(payload: str) -> None:
        runs.append(payload)
        if payload == "stubborn":
            let_go.wait()

    job = await rig.a_job(work, timeout_ms=SOON, max_retries=0, lock_timeout_seconds=30)
    first = (await rig.scheduler.trigger_job(job.id, payload="stubborn")).id
    second = (await rig.scheduler.trigger_job(job.id, payload="next")).id
    await rig.take()
    await timed_out(rig)
    await rig.executor.flush()

    row = await rig.execution(first)
    assert (row.status, row.error_type) == (ExecutionStatus.TIMEOUT, "EXECUTION_TIMEOUT")
    assert row.error == "the attempt ran longer than 5 ms"
    assert row.holds_slot
    assert (await rig.execution(second)).available_at is None

    for _ in range(100):
        rig.clock.advance(1)
        await rig.executor.heartbeat()
        await rig.sweeper.run_once()
    assert (await rig.execution(first)).holds_slot, "its lease is renewed while the handler is there"
    assert [held.attempt.execution_id for held in rig.executor.stuck] == [first]
    health = await rig.health()
    assert health.components["handlers"].status is HealthStatus.DEGRADED
    assert f"handlers: 1 told to end and still going on: {job.definition.handler_name}" in health.issues

    let_go.set()
    await rig.handlers_end()
    await rig.executor.flush()
    assert not (await rig.execution(first)).holds_slot
    assert (await rig.execution(second)).available_at is not None
    await rig.work()
    assert runs == ["stubborn", "next"]


async def test_a_task_that_ran_out_of_time_is_cancelled_and_frees_its_slot(rig: Rig) -> None:
    ended: list[str] = []

    async def work(context: HandlerContext) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(f"cancelled, and told so: {context.cancelled}")
            raise

    execution_id = await rig.start(work, timeout_ms=SOON, max_retries=0)
    await rig.work()

    row = await rig.execution(execution_id)
    assert ended == ["cancelled, and told so: True"]
    assert (row.status, row.holds_slot, row.lease_expires_at) == (ExecutionStatus.TIMEOUT, False, None)
    assert rig.notes.of("execution.lease_lost") == []


async def test_what_a_handler_does_after_its_timeout_changes_nothing(rig: Rig) -> None:
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "all the same"
        return "never"

    async def furious() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("how dare you") from None

    ids = [await rig.start(work, timeout_ms=SOON, max_retries=0) for work in (stubborn, furious)]
    await rig.work()

    rows = [await rig.execution(execution_id) for execution_id in ids]
    assert [(row.status, row.result, row.error_type) for row in rows] == [
        (ExecutionStatus.TIMEOUT, None, "EXECUTION_TIMEOUT")
    ] * 2


async def wakes(rig: Rig, seconds: int) -> None:
    """Let the loops that keep leases, write ends and recover go round once each second."""
    for _ in range(seconds):
        rig.clock.advance(1)
        await rig.executor.heartbeat()
        await rig.executor.flush()
        await rig.sweeper.run_once()


async def test_a_timeout_with_retries_left_keeps_the_slot_until_its_handler_is_gone(rig: Rig) -> None:
    let_go = Event()
    late = asyncio.Event()
    live: list[int] = []
    most = 0

    def work(context: HandlerContext) -> int:
        nonlocal most
        live.append(context.attempt)
        most = max(most, len(live))
        if context.attempt == 1:
            context.cancellation.wait(60)
            loop.call_soon_threadsafe(late.set)
            let_go.wait()
        live.remove(context.attempt)
        return context.attempt

    loop = asyncio.get_running_loop()
    execution_id = await rig.start(work, timeout_ms=SOON, max_retries=1, retry_delay_ms=0, lock_timeout_seconds=30)
    await late.wait()
    await wakes(rig, 29)

    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.holds_slot) == (ExecutionStatus.RUNNING, 1, True)

    let_go.set()
    await rig.handlers_end()
    job = await rig.scheduler.get_job(row.job_id)
    await rig.storage.jobs.change(job.tenant_id, job.id, decided(update, replace(job.definition, timeout_ms=60_000)))
    await wakes(rig, 1)
    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.result, row.failures) == (ExecutionStatus.SUCCESS, 2, 1)
    assert [(past.attempt, past.outcome) for past in row.past_attempts] == [(1, "timeout")]
    assert most == 1


async def test_a_timeout_with_retries_left_waits_a_lease_at_most_for_a_handler_that_will_not_go(rig: Rig) -> None:
    let_go = Event()
    late = asyncio.Event()

    async def work(context: HandlerContext) -> str:
        while context.attempt == 1 and not let_go.is_set():
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                late.set()
        if context.attempt == 1:
            return "too late"
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    execution_id = await rig.start(work, timeout_ms=SOON, max_retries=1, retry_delay_ms=0, lock_timeout_seconds=30)
    await late.wait()
    await wakes(rig, 29)
    assert (await rig.execution(execution_id)).status is ExecutionStatus.RUNNING
    await wakes(rig, 2)
    [old] = rig.executor.holds.values()
    await rig.executor.run_once()
    assert {held.attempt.attempt for held in rig.executor.holds.values()} == {1, 2}

    let_go.set()
    assert old.task is not None
    await asyncio.wait([old.task])

    # The second attempt must outlive the first for its hold to be worth protecting.
    assert [held.attempt.attempt for held in rig.executor.holds.values()] == [2]
    await rig.work()
    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.TIMEOUT, 2, 2)
    assert [(past.attempt, past.outcome) for past in row.past_attempts] == [(1, "timeout")]
    assert not row.holds_slot
    assert rig.executor.running == 0
    assert (await rig.scheduler.get_job(row.job_id)).counters.slots_taken == 0


async def test_a_cancel_while_a_timed_out_handler_lingers_stands_and_frees_the_slot_with_it(rig: Rig) -> None:
    let_go = Event()
    late = asyncio.Event()

    def work(context: HandlerContext) -> None:
        context.cancellation.wait(60)
        loop.call_soon_threadsafe(late.set)
        let_go.wait()

    loop = asyncio.get_running_loop()
    execution_id = await rig.start(work, timeout_ms=SOON, max_retries=1)
    await late.wait()
    await rig.scheduler.cancel_execution(execution_id)
    await wakes(rig, 3)
    assert (await rig.execution(execution_id)).holds_slot

    let_go.set()
    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.holds_slot) == (ExecutionStatus.CANCELLED, False)
