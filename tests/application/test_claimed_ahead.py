from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from tests.application.rig import Rig
from tests.makers import START
from tocsin.application.claimed import AHEAD_SECONDS, MOST_AHEAD, PATIENCE_SECONDS, Pace
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import JobDefinition, JobType, ScheduledJob
from tocsin.ports.telemetry import Metric

SHORTLY = timedelta(milliseconds=300)
MILLISECOND = timedelta(milliseconds=1)


class Large:
    """Something that a handler works with."""


async def due_shortly(
    rig: Rig,
    function: Callable[..., Any] = lambda: "done",
    **fields: Any,  # noqa: ANN401 - a definition's
) -> ScheduledJob:
    """Store a job that is due within the window that the timer looks ahead, fire it, and claim its execution."""
    name = f"soon-{uuid4()}"
    rig.handle(name, function)
    due = rig.clock.now() + SHORTLY
    job = await rig.scheduler.schedule(
        JobDefinition(name=name, type=JobType.ONE_TIME, schedule=due.isoformat(), handler_name=name, **fields)
    )
    await rig.timer.run_once()
    await rig.take()
    return job


async def the_row(rig: Rig, job: ScheduledJob) -> JobExecution:
    [row] = await rig.history(job)
    return row


async def test_what_fired_ahead_of_its_time_begins_on_its_instant(rig: Rig) -> None:
    job = await due_shortly(rig)
    early = await the_row(rig, job)
    assert (early.status, early.created_at) == (ExecutionStatus.RUNNING, START)
    assert rig.executor.running == 0
    assert len(rig.executor.held) == 1, "its lease is kept meanwhile"

    rig.clock.advance(SHORTLY - MILLISECOND)
    await rig.take()
    assert rig.executor.running == 0
    rig.clock.advance(MILLISECOND)
    await rig.work()

    row = await the_row(rig, job)
    assert (row.status, row.scheduled_at, row.started_at) == (ExecutionStatus.SUCCESS, START + SHORTLY, START + SHORTLY)


async def test_a_start_that_had_to_wait_is_recorded_as_it_was(rig: Rig) -> None:
    job = await due_shortly(rig, timeout_ms=5000)

    rig.clock.advance(SHORTLY + timedelta(seconds=2))
    await rig.work()

    row = await the_row(rig, job)
    assert row.started_at == row.completed_at == START + SHORTLY + timedelta(seconds=2)
    assert row.duration_ms == 0


async def test_what_is_cancelled_before_its_instant_never_begins_and_gives_its_slot_back(rig: Rig) -> None:
    begun: list[str] = []
    job = await due_shortly(rig, lambda: begun.append("begun"))
    await rig.scheduler.cancel_execution((await the_row(rig, job)).id)

    await rig.executor.heartbeat()
    await rig.executor.flush()
    rig.clock.advance(SHORTLY)
    await rig.work()

    row = await the_row(rig, job)
    assert (row.status, row.holds_slot, begun) == (ExecutionStatus.CANCELLED, False, [])


async def test_a_drain_hands_back_what_has_not_begun_and_nobody_begins_it_before_its_time(rig: Rig) -> None:
    job = await due_shortly(rig)

    await rig.executor.drain(limit=0, grace=0)

    row = await the_row(rig, job)
    assert (row.status, row.available_at) == (ExecutionStatus.PENDING, START + SHORTLY)
    assert [(past.outcome, past.started_at) for past in row.past_attempts] == [("handed_back", None)]
    await rig.sweeper.run_once()
    await rig.take(other := rig.another_executor("node-2#b"))
    assert other.running == 0
    rig.clock.advance(SHORTLY)
    await rig.sweeper.run_once()
    await rig.work(other)
    row = await the_row(rig, job)
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.SUCCESS, 2, 0)


async def test_how_late_is_measured_where_it_begins_of_what_was_handed_back_unbegun(rig: Rig) -> None:
    await due_shortly(rig)
    await rig.executor.drain(limit=0, grace=0)

    rig.clock.advance(SHORTLY + timedelta(seconds=2))
    await rig.sweeper.run_once()
    await rig.work(rig.another_executor("node-2#b"))

    assert [value for each, value, _ in rig.notes.figures if each is Metric.FIRE_LATENESS] == [2.0]
    assert len([value for each, value, _ in rig.notes.figures if each is Metric.QUEUE_TIME]) == 1


async def test_a_lease_that_lapses_before_the_instant_is_given_up(rig: Rig) -> None:
    job = await due_shortly(rig, lock_timeout_seconds=30)

    rig.clock.advance(31)
    await rig.take()

    assert rig.executor.running == 0
    assert [fields["attempt"] for fields in rig.notes.of("execution.fenced")] == [1]
    assert (await the_row(rig, job)).status is ExecutionStatus.RUNNING, "until a sweeper finds it"


async def full(rig: Rig) -> tuple[ScheduledJob, asyncio.Event]:
    """Fill a node of two places with handlers that wait, once it has lately written as many ends."""
    gate = asyncio.Event()
    quick = await rig.a_job(lambda: None, concurrency=10)
    rig.executor.attempts.capacity = 2
    for _ in range(2):
        await rig.trigger(quick)
    await rig.work()
    slow = await rig.a_job(gate.wait, concurrency=10)
    for _ in range(6):
        await rig.trigger(slow)
    await rig.take()
    return slow, gate


async def test_a_node_claims_ahead_as_many_as_it_has_lately_ended(rig: Rig) -> None:
    slow, gate = await full(rig)

    assert (rig.executor.running, len(rig.executor.held)) == (2, 4)

    gate.set()
    await rig.work()
    assert {row.status for row in await rig.history(slow)} == {ExecutionStatus.SUCCESS}
    assert {row.attempt for row in await rig.history(slow)} == {1}


async def test_what_waits_for_a_place_for_too_long_goes_to_another_node(rig: Rig) -> None:
    slow, gate = await full(rig)

    rig.clock.advance(PATIENCE_SECONDS)
    await rig.executor.heartbeat()
    await rig.executor.flush()

    assert (rig.executor.running, len(rig.executor.held)) == (2, 2)
    gate.set()
    await rig.work(rig.another_executor("node-2#b"))
    await rig.work()
    rows = await rig.history(slow)
    assert {row.status for row in rows} == {ExecutionStatus.SUCCESS}
    assert sorted(row.attempt for row in rows) == [1, 1, 1, 1, 2, 2]
    assert {row.failures for row in rows} == {0}


async def test_a_start_that_waited_for_a_place_counts_its_time_from_then(rig: Rig) -> None:
    slow, gate = await full(rig)
    rig.clock.advance(0.5)
    gate.set()
    await rig.work()

    starts = sorted(row.started_at - START for row in await rig.history(slow) if row.started_at)
    assert starts == [timedelta()] * 2 + [timedelta(seconds=0.5)] * 4


async def test_what_was_handed_back_is_no_reason_to_claim_as_many_again(rig: Rig) -> None:
    slow, gate = await full(rig)
    rig.clock.advance(PATIENCE_SECONDS)
    await rig.executor.heartbeat()
    await rig.executor.flush()

    await rig.take()

    assert (rig.executor.running, len(rig.executor.held)) == (2, 2)
    gate.set()
    await rig.work()
    assert {row.status for row in await rig.history(slow)} == {ExecutionStatus.SUCCESS}


async def test_what_waits_for_its_instant_keeps_nobody_from_a_place(rig: Rig) -> None:
    rig.executor.attempts.capacity = 1
    early = await due_shortly(rig)
    now = await rig.trigger(await rig.a_job(lambda: None))

    await rig.work()

    assert (await rig.execution(now)).status is ExecutionStatus.SUCCESS
    assert (await the_row(rig, early)).status is ExecutionStatus.RUNNING
    rig.clock.advance(SHORTLY)
    await rig.work()
    assert (await the_row(rig, early)).status is ExecutionStatus.SUCCESS


async def test_what_a_failed_handler_held_is_free_without_the_garbage_collector(rig: Rig) -> None:
    held: list[weakref.ref[Large]] = []

    async def fail() -> None:
        large = Large()
        held.append(weakref.ref(large))
        raise ValueError(large)

    gc.disable()
    try:
        await rig.start(fail, max_retries=0)
        await rig.work()
        await asyncio.sleep(0)
        assert [each() for each in held] == [None]
    finally:
        gc.enable()


def test_the_pace_is_what_ended_within_the_last_moments() -> None:
    pace = Pace()

    assert pace.ahead(0.0, 0) == 0
    assert pace.ahead(AHEAD_SECONDS / 2, 40) == 40
    assert pace.ahead(AHEAD_SECONDS, 60) == 60
    assert pace.ahead(AHEAD_SECONDS * 1.4, 70) == 30
    assert pace.ahead(AHEAD_SECONDS * 9, 70) == 0
    assert pace.ahead(AHEAD_SECONDS * 9.5, 70 + 2 * MOST_AHEAD) == MOST_AHEAD
