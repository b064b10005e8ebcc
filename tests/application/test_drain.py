from __future__ import annotations

import asyncio
from threading import Event
from uuid import UUID

import pytest

from tests.application.rig import Rig
from tocsin.application.held_attempt import Disposition
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus, JobExecution

LONG = 3600.0
"""A limit that no test waits for."""


async def handed_back(rig: Rig, execution_id: UUID) -> JobExecution:
    """Read an execution that must be as if it had never been started, but for its record."""
    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.failures, row.holds_slot) == (ExecutionStatus.PENDING, 1, 0, True)
    assert (row.available_at, row.worker_id, row.lease_expires_at) == (rig.clock.now(), None, None)
    assert [past.outcome for past in row.past_attempts] == ["handed_back"]
    return row


async def test_running_work_finishes_within_the_limit(rig: Rig) -> None:
    gate = asyncio.Event()

    async def work() -> str:
        await gate.wait()
        return "done"

    execution_id = await rig.start(work)
    draining = asyncio.create_task(rig.executor.drain(limit=LONG, grace=LONG))
    await asyncio.sleep(0)
    gate.set()
    await draining

    row = await rig.execution(execution_id)
    assert (row.status, row.result) == (ExecutionStatus.SUCCESS, "done")


async def test_the_rest_is_handed_back_without_counting_a_failure(rig: Rig) -> None:
    execution_id = await rig.start(asyncio.Event().wait, max_retries=0)

    await rig.executor.drain(limit=0, grace=LONG)

    await handed_back(rig, execution_id)
    [item] = rig.pipe.sent[-1]
    assert item.execution_id == execution_id


async def test_handed_back_work_runs_elsewhere_as_the_next_attempt(rig: Rig) -> None:
    first = True

    async def work() -> str:
        if first:
            await asyncio.Event().wait()
        return "done"

    execution_id = await rig.start(work, max_retries=0)
    await rig.executor.drain(limit=0, grace=LONG)
    first = False

    await rig.work(rig.another_executor("node-2#b"))

    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.failures, row.worker_id) == (ExecutionStatus.SUCCESS, 2, 0, "node-2#b")


async def test_a_success_during_the_grace_is_kept_and_a_failure_there_is_handed_back(rig: Rig) -> None:
    async def finishing() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "just in time"
        return "never"

    async def failing() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("torn away") from None

    succeeded, failed = await rig.start(finishing), await rig.start(failing, max_retries=0)
    await rig.executor.drain(limit=0, grace=LONG)

    row = await rig.execution(succeeded)
    assert (row.status, row.result) == (ExecutionStatus.SUCCESS, "just in time")
    await handed_back(rig, failed)


async def test_what_ignores_the_drain_is_handed_back_too_and_may_end_as_it_likes(rig: Rig) -> None:
    let_go = Event()

    def stubborn() -> str:
        let_go.wait()
        return "too late"

    execution_id = await rig.start(stubborn, max_retries=0)
    await rig.executor.drain(limit=0, grace=0)
    before = await handed_back(rig, execution_id)

    let_go.set()
    await rig.handlers_end()
    await rig.executor.flush()
    assert await rig.execution(execution_id) == before


async def test_a_handler_that_ignores_its_timeout_does_not_delay_the_exit(rig: Rig) -> None:
    let_go = Event()
    execution_id = await rig.start(let_go.wait, timeout_ms=1, max_retries=0)

    await rig.executor.drain(limit=LONG, grace=LONG)

    row = await rig.execution(execution_id)
    assert (row.status, row.holds_slot) == (ExecutionStatus.TIMEOUT, True)
    let_go.set()
    await rig.handlers_end()


async def test_a_drain_writes_what_ended_before_it(rig: Rig) -> None:
    execution_id = await rig.start(lambda: "done")
    await rig.handlers_end()

    await rig.executor.drain(limit=LONG, grace=LONG)

    assert (await rig.execution(execution_id)).status is ExecutionStatus.SUCCESS


async def test_a_broken_pipe_keeps_nothing_from_being_handed_back(rig: Rig) -> None:
    ids = [await rig.start(asyncio.Event().wait) for _ in range(3)]
    rig.pipe.down = {"dispatch"}

    await rig.executor.drain(limit=0, grace=LONG)

    for execution_id in ids:
        await handed_back(rig, execution_id)


async def test_a_store_that_is_gone_is_told_to_whoever_drains(rig: Rig) -> None:
    await rig.start(asyncio.Event().wait)
    rig.ledger.everything_down()

    with pytest.raises(StoreUnavailable):
        await rig.executor.drain(limit=0, grace=LONG)

    assert rig.executor.ends.unwritten == 1


async def test_a_time_out_that_another_attempt_follows_is_written_though_its_handler_stays(rig: Rig) -> None:
    let_go = Event()
    execution_id = await rig.start(let_go.wait, timeout_ms=1, max_retries=1)

    await rig.executor.drain(limit=LONG, grace=0)

    row = await rig.execution(execution_id)
    assert (row.status, row.failures) == (ExecutionStatus.PENDING, 1)
    assert [past.outcome for past in row.past_attempts] == ["timeout"]
    let_go.set()
    await rig.handlers_end()


async def test_a_drain_that_was_cancelled_hands_back_when_it_is_begun_again(rig: Rig) -> None:
    let_go = Event()
    execution_id = await rig.start(let_go.wait, max_retries=0)
    draining = asyncio.create_task(rig.executor.drain(limit=0, grace=LONG))
    [held] = rig.executor.holds.values()
    while held.disposition is Disposition.RUNNING:
        await rig.executor.attempts.decided.wait(None)
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining

    await rig.executor.drain(limit=0, grace=0)

    await handed_back(rig, execution_id)
    let_go.set()
    await rig.handlers_end()
