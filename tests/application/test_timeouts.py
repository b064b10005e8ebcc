from __future__ import annotations

import asyncio
from threading import Event

from tests.application.rig import Rig
from tocsin.domain.execution import ExecutionStatus
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
    assert [hold.attempt.execution_id for hold in rig.executor.stuck] == [first]
    health = await rig.health()
    assert health.components["handlers"].status is HealthStatus.DEGRADED
    assert health.issues == [f"handlers: 1 handlers go on after they were told to end: {job.definition.handler_name}"]

    let_go.set()
    await rig.handlers_end()
    await rig.executor.flush()
    assert not (await rig.execution(first)).holds_slot
    assert (await rig.execution(second)).available_at is not None
    await rig.work()
    assert runs == ["stubborn", "next"]
    assert (await rig.execution(second)).status is ExecutionStatus.SUCCESS


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


async def test_a_timeout_with_retries_left_is_tried_again_beside_the_handler_that_will_not_go(rig: Rig) -> None:
    let_go = Event()
    second_runs = asyncio.Event()

    async def work(context: HandlerContext) -> str:
        if context.attempt == 1:
            while not let_go.is_set():
                try:
                    await second_runs.wait()
                except asyncio.CancelledError:
                    continue
            return "too late"
        second_runs.set()
        await asyncio.sleep(0)
        await asyncio.Event().wait()
        return "never"

    execution_id = await rig.start(work, timeout_ms=SOON, max_retries=1, retry_delay_ms=0)
    await timed_out(rig)
    await rig.executor.flush()
    rig.clock.advance(1)
    await rig.sweeper.run_once()
    rig.clock.advance(1)
    # The second attempt must outlive the first for its hold to be worth protecting.
    [old] = rig.executor.holds.values()
    await rig.executor.run_once()
    assert {hold.attempt.attempt for hold in rig.executor.holds.values()} == {1, 2}

    let_go.set()
    second_runs.set()
    assert old.task is not None
    await asyncio.wait([old.task])

    assert [hold.attempt.attempt for hold in rig.executor.holds.values()] == [2]
    await rig.work()
    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.TIMEOUT, 2, 2)
    assert [(past.attempt, past.outcome) for past in row.past_attempts] == [(1, "timeout")]
    assert not row.holds_slot
    assert rig.executor.running == 0
    assert (await rig.scheduler.get_job(row.job_id)).counters.slots_taken == 0
