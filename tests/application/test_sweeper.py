from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from tests.application.rig import Rig
from tests.makers import a_job, a_worker, an_event_job
from tocsin.application.sweeper import PAGES
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus


async def a_dead_nodes_execution(rig: Rig, **fields: object) -> UUID:
    """Claim an execution as a node that then falls silent; answer its id."""
    job = await rig.a_job(lambda: "done", lock_timeout_seconds=30, **fields)
    execution_id = await rig.trigger(job)
    await rig.ledger.claim([execution_id], worker_id="node-0#dead")
    return execution_id


async def sweeps(rig: Rig, seconds: float) -> None:
    """Sweep each second."""
    for _ in range(int(seconds)):
        rig.clock.advance(1)
        await rig.sweeper.run_once()


async def test_a_lease_is_expired_only_when_seen_so_twice_a_heartbeat_apart(rig: Rig) -> None:
    execution_id = await a_dead_nodes_execution(rig)
    rig.clock.advance(30)
    await rig.sweeper.run_once()
    await sweeps(rig, 12)
    assert (await rig.execution(execution_id)).status is ExecutionStatus.RUNNING

    await sweeps(rig, 1)

    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.PENDING, 1, 1)
    assert [(past.outcome, past.error_type, past.worker_id) for past in row.past_attempts] == [
        ("lease_lost", "LEASE_LOST", "node-0#dead")
    ]


async def test_a_dead_nodes_work_runs_as_the_next_attempt_at_once(rig: Rig) -> None:
    execution_id = await a_dead_nodes_execution(rig, max_retries=1, retry_delay_ms=3_600_000)
    await sweeps(rig, 44)

    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.failures, row.result) == (ExecutionStatus.SUCCESS, 2, 1, "done")


async def test_a_dead_nodes_work_fails_when_no_retry_is_left_and_its_slot_goes_to_the_next(rig: Rig) -> None:
    execution_id = await a_dead_nodes_execution(rig, max_retries=0)
    waiting = await rig.trigger(await rig.scheduler.get_job((await rig.execution(execution_id)).job_id))
    await sweeps(rig, 44)

    row = await rig.execution(execution_id)
    assert (row.status, row.error_type, row.holds_slot) == (ExecutionStatus.FAILED, "LEASE_LOST", False)
    await rig.work()
    assert (await rig.execution(waiting)).status is ExecutionStatus.SUCCESS


async def test_a_slot_that_a_dead_node_never_released_is_freed(rig: Rig) -> None:
    execution_id = await a_dead_nodes_execution(rig)
    waiting = await rig.trigger(await rig.scheduler.get_job((await rig.execution(execution_id)).job_id))
    await rig.scheduler.cancel_execution(execution_id)
    await sweeps(rig, 40)
    assert (await rig.execution(execution_id)).holds_slot

    await sweeps(rig, 4)

    row = await rig.execution(execution_id)
    assert (row.status, row.holds_slot) == (ExecutionStatus.CANCELLED, False)
    await rig.work()
    assert (await rig.execution(waiting)).status is ExecutionStatus.SUCCESS


@pytest.mark.parametrize("jump", [3600, -3600])
@pytest.mark.parametrize("lease", [30, 60, 7200])
async def test_a_jump_of_the_wall_clock_ends_no_live_attempt(rig: Rig, jump: int, lease: int) -> None:
    execution_id = await rig.start(asyncio.Event().wait, lock_timeout_seconds=lease)
    sweepers = [rig.sweeper, rig.another_sweeper()]

    for second in range(60):
        if second == 25:
            rig.clock.jump_wall(jump)
        rig.clock.advance(1)
        await asyncio.gather(*(sweeper.run_once() for sweeper in sweepers))
        await rig.executor.heartbeat()

    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.RUNNING, 1, 0)
    assert rig.executor.running == 1


async def test_a_wall_clock_that_jumps_again_and_again_ends_no_live_attempt(rig: Rig) -> None:
    execution_id = await rig.start(asyncio.Event().wait, lock_timeout_seconds=30)

    for _ in range(60):
        rig.clock.advance(1)
        await rig.executor.heartbeat()
        rig.clock.jump_wall(3600)
        await rig.sweeper.run_once()

    assert ((await rig.execution(execution_id)).status, rig.executor.running) == (ExecutionStatus.RUNNING, 1)


async def test_of_ten_sweepers_one_recovers_a_dead_nodes_work(rig: Rig) -> None:
    execution_id = await a_dead_nodes_execution(rig)
    sweepers = [rig.another_sweeper() for _ in range(10)]

    for _ in range(60):
        rig.clock.advance(1)
        await asyncio.gather(*(sweeper.run_once() for sweeper in sweepers))

    row = await rig.execution(execution_id)
    assert (row.status, row.failures, len(row.past_attempts)) == (ExecutionStatus.PENDING, 1, 1)


async def test_a_lost_dispatch_is_repeated_once_by_ten_sweepers(rig: Rig) -> None:
    rig.pipe.down = {"dispatch"}
    job = await rig.a_job(lambda: None)
    await rig.trigger(job)
    rig.pipe.down = set()
    sweepers = [rig.another_sweeper() for _ in range(10)]

    rig.clock.advance(2)
    await asyncio.gather(*(sweeper.run_once() for sweeper in sweepers))

    assert [len(batch) for batch in rig.pipe.sent] == [1]


async def test_a_dispatch_that_is_lost_again_and_again_is_repeated_ever_more_rarely(rig: Rig) -> None:
    job = await rig.a_job(lambda: None)
    await rig.trigger(job)
    repeats = []
    for second in range(64):
        rig.clock.advance(1)
        known = len(rig.pipe.sent)
        received = await rig.pipe.receive(capabilities=[job.definition.capability], limit=10, wait=0)
        await rig.pipe.acknowledge(received)
        await rig.sweeper.run_once()
        if len(rig.pipe.sent) > known:
            repeats.append(second + 1)

    assert repeats == [1, 3, 7, 15, 31, 63]


async def test_a_backlog_is_no_loss(rig: Rig) -> None:
    job = await rig.a_job(lambda: None, concurrency=20)
    for _ in range(20):
        await rig.trigger(job)
    sent = len(rig.pipe.sent)

    await sweeps(rig, 120)

    assert len(rig.pipe.sent) == sent
    assert rig.notes.of("dispatch.repeated") == []


async def test_a_lost_dispatch_is_found_behind_any_backlog(rig: Rig) -> None:
    rig.sweeper.batch = 2
    backlog = await rig.a_job(lambda: None, concurrency=100)
    for _ in range(2 * PAGES + 3):
        await rig.trigger(backlog)
    rig.clock.advance(1)
    lost = await rig.a_job(lambda: "found")
    rig.pipe.down = {"dispatch"}
    await rig.trigger(lost)
    rig.pipe.down = set()
    sent = len(rig.pipe.sent)
    rig.clock.advance(2)

    before = rig.ledger.calls.get("undelivered", 0)
    assert await rig.sweeper.run_once() is None
    assert (rig.ledger.calls["undelivered"] - before, len(rig.pipe.sent)) == (PAGES, sent)
    await rig.sweeper.run_once()

    assert [dispatch.capability for batch in rig.pipe.sent[sent:] for dispatch in batch] == [lost.definition.capability]


async def test_a_sweep_that_found_more_than_it_may_look_through_is_followed_by_another_at_once(rig: Rig) -> None:
    rig.sweeper.batch = 2
    job = await rig.a_job(lambda: None, concurrency=100)
    for _ in range(2 * PAGES + 1):
        await rig.trigger(job)
    await rig.pipe.acknowledge(await rig.pipe.receive(capabilities=[job.definition.capability], limit=100, wait=0))
    rig.clock.advance(2)

    assert await rig.sweeper.run_once() == 0
    assert await rig.sweeper.run_once() is None

    assert [fields["executions"] for fields in rig.notes.of("dispatch.repeated")] == [2] * PAGES + [1]


async def test_an_execution_whose_job_moved_to_another_handler_is_dispatched_to_that(rig: Rig) -> None:
    rig.handle("report", lambda: "done")
    job = await rig.storage.jobs.add(an_event_job(handler_name="reprot"))
    execution_id = await rig.trigger(job)
    await rig.scheduler.update_job(job.id, handler_name="report")

    await sweeps(rig, 2)
    await rig.work()

    assert (await rig.execution(execution_id)).result == "done"


async def test_a_node_that_runs_nothing_repeats_nothing(rig: Rig) -> None:
    rig.pipe.down = {"dispatch"}
    job = await rig.a_job(lambda: None)
    await rig.trigger(job)
    rig.pipe.down = set()
    rig.sweeper.capabilities = frozenset

    await sweeps(rig, 60)

    assert rig.pipe.sent == []


@pytest.mark.parametrize("jump", [61, 3600, 3 * 86_400])
async def test_a_jump_of_the_wall_clock_buries_no_living_node(rig: Rig, jump: int) -> None:
    for second in range(40):
        if second % 10 == 0:
            await rig.storage.workers.beat(a_worker(id="node-1#live"))
        if second == 15:
            rig.clock.jump_wall(jump)
        await rig.sweeper.run_once()
        rig.clock.advance(1)

    assert rig.notes.of("worker.dead") == []
    assert [worker.status for worker in await rig.storage.workers.list()] == ["live"]


async def test_a_node_is_buried_only_when_seen_silent_twice_a_heartbeat_apart(rig: Rig) -> None:
    await rig.storage.workers.beat(a_worker(id="node-0#dead"))
    rig.clock.advance(3600)
    await rig.sweeper.run_once()
    await sweeps(rig, 12)
    assert rig.notes.of("worker.dead") == []

    await sweeps(rig, 1)

    assert [fields["worker_id"] for fields in rig.notes.of("worker.dead")] == ["node-0#dead"]


async def test_a_dead_node_is_buried_once_its_leases_are_gone(rig: Rig) -> None:
    await a_dead_nodes_execution(rig, max_retries=3)
    await rig.storage.workers.beat(a_worker(id="node-0#dead"))
    await rig.storage.workers.beat(a_worker(id="node-1#live"))
    buried_at = None
    for second in range(120):
        rig.clock.advance(1)
        if second % 10 == 0:
            await rig.storage.workers.beat(a_worker(id="node-1#live"))
        await rig.sweeper.run_once()
        if buried_at is None and rig.notes.of("worker.dead"):
            buried_at = second + 1

    assert buried_at == 74
    assert {worker.id: worker.status for worker in await rig.storage.workers.list()} == {
        "node-0#dead": "dead",
        "node-1#live": "live",
    }


async def test_a_silent_node_that_still_holds_leases_is_not_buried(rig: Rig) -> None:
    job = await rig.a_job(lambda: None, lock_timeout_seconds=300)
    execution_id = await rig.trigger(job)
    await rig.ledger.claim([execution_id], worker_id="node-0#dead")
    await rig.storage.workers.beat(a_worker(id="node-0#dead"))

    await sweeps(rig, 290)
    assert [worker.status for worker in await rig.storage.workers.list()] == ["live"]
    await sweeps(rig, 40)
    assert [worker.status for worker in await rig.storage.workers.list()] == ["dead"]


async def test_what_becomes_available_is_handed_on_and_the_next_is_announced(rig: Rig) -> None:
    def fail() -> None:
        raise ValueError

    for delay in (5_000, 8_000):
        await rig.start(fail, retry_delay_ms=delay)
    await rig.work()
    rig.clock.advance(5)
    sent = len(rig.pipe.sent)

    assert await rig.sweeper.run_once() == 3
    assert len(rig.pipe.sent) == sent + 1
    rig.clock.advance(3)
    assert await rig.sweeper.run_once() is None
    assert len(rig.pipe.sent) == sent + 2


@pytest.mark.parametrize("step", ["undelivered", "lapsed", "ready"])
async def test_a_step_that_fails_keeps_no_other_from_its_work(rig: Rig, step: str) -> None:
    def fail() -> None:
        raise ValueError

    retrying = await rig.start(fail, retry_delay_ms=1000)
    await rig.work()
    dead = await a_dead_nodes_execution(rig)
    await rig.storage.workers.beat(a_worker(id="node-7"))
    rig.ledger.down = {step}
    for _ in range(80):
        rig.clock.advance(1)
        with pytest.raises(StoreUnavailable, match=step):
            await rig.sweeper.run_once()

    assert ((await rig.execution(dead)).status is ExecutionStatus.PENDING) == (step != "lapsed")
    assert ((await rig.execution(retrying)).dispatched_at is not None) == (step != "ready")
    assert [worker.status for worker in await rig.storage.workers.list()] == ["dead"]


async def test_a_pipe_that_is_down_keeps_a_sweep_from_nothing(rig: Rig) -> None:
    dead = [await a_dead_nodes_execution(rig) for _ in range(3)]
    rig.clock.advance(30)
    await rig.sweeper.run_once()
    rig.sweeper.batch = 1
    rig.pipe.down = {"dispatch"}

    rig.clock.advance(13)
    await rig.sweeper.run_once()

    assert [(await rig.execution(each)).status for each in dead] == [ExecutionStatus.PENDING] * 3
    assert len(rig.notes.of("dispatch.failed")) == 3


async def test_what_a_pipe_did_not_take_is_dispatched_again_once_it_does(rig: Rig) -> None:
    def fail() -> None:
        raise ValueError

    await rig.start(fail, retry_delay_ms=1000)
    await rig.work()
    rig.pipe.down = {"dispatch"}
    await sweeps(rig, 10)
    rig.pipe.down = set()
    sent = len(rig.pipe.sent)

    await sweeps(rig, 10)

    assert [len(batch) for batch in rig.pipe.sent[sent:]] == [1]


async def test_an_execution_whose_node_died_before_its_end_was_written_accounts_for_its_fire_once(rig: Rig) -> None:
    rig.handle("report", lambda: "done")
    job = await rig.storage.jobs.add(a_job(schedule="every 1h", lock_timeout_seconds=30))
    rig.clock.advance(timedelta(hours=1))
    await rig.timer.run_once()
    crashing = rig.another_executor("node-0#dead")
    await rig.take(crashing)
    await rig.handlers_end(crashing)

    await sweeps(rig, 50)
    await rig.work()

    [row] = await rig.history(job)
    assert (row.status, row.attempt) == (ExecutionStatus.SUCCESS, 2)
