from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest

from tests.application.rig import Rig
from tocsin.application.ends import FINISH_BATCH
from tocsin.application.executor import CLAIM_BATCH
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.handlers import HandlerContext


async def ended(rig: Rig, count: int) -> list[UUID]:
    """Run executions of one job up to the ends of their handlers; nothing is written yet."""
    job = await rig.a_job(lambda context: context.logger.info("here"), concurrency=1000)
    ids = [await rig.trigger(job) for _ in range(count)]
    rig.executor.attempts.capacity = 2 * FINISH_BATCH
    for _ in range(count // CLAIM_BATCH + 1):
        await rig.take()
    await asyncio.wait(
        [held.task for held in rig.executor.holds.values() if held.task and held.attempt.job_id == job.id]
    )
    return ids


async def statuses(rig: Rig, ids: Sequence[UUID]) -> list[ExecutionStatus]:
    return [(await rig.execution(execution_id)).status for execution_id in ids]


async def test_all_that_has_ended_is_written_in_one_transaction(rig: Rig) -> None:
    ids = await ended(rig, 40)

    await rig.executor.flush()

    assert rig.ledger.calls["finish"] == 1
    assert await statuses(rig, ids) == [ExecutionStatus.SUCCESS] * 40


async def test_more_ends_than_a_batch_are_several_transactions(rig: Rig) -> None:
    ids = await ended(rig, FINISH_BATCH + 1)

    await rig.executor.flush()

    assert rig.ledger.calls["finish"] == 2
    assert set(await statuses(rig, ids)) == {ExecutionStatus.SUCCESS}


@pytest.mark.parametrize("call", ["append_logs", "finish"])
async def test_what_a_failing_store_refuses_is_kept_and_written_later(rig: Rig, call: str) -> None:
    ids = await ended(rig, 3)
    rig.ledger.down = {call}
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await rig.executor.flush()
    assert await statuses(rig, ids) == [ExecutionStatus.RUNNING] * 3

    rig.ledger.down = set()
    await rig.executor.flush()

    assert await statuses(rig, ids) == [ExecutionStatus.SUCCESS] * 3
    assert [len(await rig.logs(execution_id)) for execution_id in ids] == [1, 1, 1]
    assert rig.executor.ends.unwritten == 0


async def test_ends_whose_commit_was_not_answered_are_written_once(rig: Rig) -> None:
    ids = await ended(rig, 3)
    rig.ledger.deaf = {"finish", "append_logs"}
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await rig.executor.flush()
    rig.ledger.deaf = set()

    while rig.executor.ends.unwritten:
        await rig.executor.flush()

    rows = [await rig.execution(execution_id) for execution_id in ids]
    assert {(row.status, row.attempt, row.holds_slot) for row in rows} == {(ExecutionStatus.SUCCESS, 1, False)}
    counters = (await rig.scheduler.get_job(rows[0].job_id)).counters
    assert (counters.success_count, counters.slots_taken) == (3, 0)
    assert [len(await rig.logs(row.id)) for row in rows] == [1, 1, 1]


async def test_work_that_an_unanswered_commit_admitted_is_handed_on_by_a_sweeper(rig: Rig) -> None:
    job = await rig.a_job(lambda: None)
    first, second = await rig.trigger(job), await rig.trigger(job)
    await rig.take()
    await rig.handlers_end()
    rig.ledger.deaf = {"finish"}
    with pytest.raises(StoreUnavailable):
        await rig.executor.flush()
    rig.ledger.deaf = set()

    rig.clock.advance(2)
    await rig.sweeper.run_once()
    await rig.work()

    assert await statuses(rig, [first, second]) == [ExecutionStatus.SUCCESS] * 2


async def test_a_broken_pipe_keeps_no_end_from_being_written(rig: Rig) -> None:
    job = await rig.a_job(lambda: None)
    first, second = await rig.trigger(job), await rig.trigger(job)
    others = await ended(rig, FINISH_BATCH)
    rig.pipe.down = {"dispatch"}

    await rig.executor.flush()

    assert await statuses(rig, [first, *others]) == [ExecutionStatus.SUCCESS] * (FINISH_BATCH + 1)
    assert [fields["executions"] for fields in rig.notes.of("dispatch.failed")] == [1]
    rig.pipe.down = set()
    rig.clock.advance(2)
    await rig.sweeper.run_once()
    await rig.work()
    assert await statuses(rig, [second]) == [ExecutionStatus.SUCCESS]


async def test_flushes_at_once_write_each_end_once_and_drop_none(rig: Rig) -> None:
    ids = await ended(rig, 4)
    second: list[asyncio.Task[None]] = []

    async def meanwhile() -> None:
        second.append(asyncio.create_task(rig.executor.flush()))
        ids.extend(await ended(rig, 3))
        await asyncio.sleep(0)

    rig.ledger.during["finish"] = meanwhile
    await rig.executor.flush()
    await asyncio.gather(*second)

    assert await statuses(rig, ids) == [ExecutionStatus.SUCCESS] * 7
    assert rig.notes.of("execution.lease_lost") == []
    assert rig.executor.ends.unwritten == 0


async def test_whoever_sees_an_execution_ended_sees_all_that_it_said(rig: Rig) -> None:
    gate = asyncio.Event()

    async def work(context: HandlerContext) -> None:
        await gate.wait()
        context.logger.info("the last word")

    job = await rig.a_job(work, concurrency=2)
    late = await rig.trigger(job)
    await rig.take()
    [first] = await ended(rig, 1)

    async def let_go() -> None:
        gate.set()
        await rig.handlers_end()

    rig.ledger.during["append_logs"] = let_go
    await rig.executor.flush()
    assert await statuses(rig, [first, late]) == [ExecutionStatus.SUCCESS, ExecutionStatus.RUNNING]

    await rig.executor.flush()
    assert await statuses(rig, [late]) == [ExecutionStatus.SUCCESS]
    assert [line.message for line in await rig.logs(late)] == ["the last word"]


async def test_slots_that_could_not_be_freed_are_freed_later(rig: Rig) -> None:
    async def for_ever() -> None:
        await asyncio.Event().wait()

    execution_id = await rig.start(for_ever)
    await rig.scheduler.cancel_execution(execution_id)
    await rig.executor.heartbeat()
    await rig.handlers_end()
    rig.ledger.down = {"release"}
    with pytest.raises(StoreUnavailable):
        await rig.executor.flush()
    assert (await rig.execution(execution_id)).holds_slot

    rig.ledger.down = set()
    await rig.executor.flush()
    assert not (await rig.execution(execution_id)).holds_slot


async def test_an_end_rings_the_bell_of_whoever_writes_it(rig: Rig) -> None:
    await ended(rig, 1)

    assert await rig.executor.finished.wait(0) is True


async def test_what_has_ended_is_renewed_until_it_is_written_so_that_no_sweeper_takes_it_for_lost(rig: Rig) -> None:
    [execution_id] = await ended(rig, 1)
    rig.ledger.down = {"finish", "append_logs"}
    for _ in range(200):
        rig.clock.advance(1)
        await rig.executor.heartbeat()
        await rig.sweeper.run_once()
    rig.ledger.down = set()

    await rig.executor.flush()

    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.SUCCESS, 1, 0)
    assert rig.notes.of("lease.expired") == []


async def test_what_has_ended_fills_its_place_until_it_is_written(rig: Rig) -> None:
    job = await rig.a_job(lambda: None, concurrency=3)
    ids = [await rig.trigger(job) for _ in range(3)]
    rig.executor.attempts.capacity = 2
    rig.ledger.down = {"finish"}
    for _ in range(3):
        await rig.take()
        await rig.handlers_end()
        with pytest.raises(StoreUnavailable):
            await rig.executor.flush()
    assert rig.executor.running == 0
    assert [(await rig.execution(execution_id)).attempt for execution_id in ids] == [1, 1, 0]

    rig.ledger.down = set()
    await rig.executor.flush()
    await rig.work()

    assert await statuses(rig, ids) == [ExecutionStatus.SUCCESS] * 3
