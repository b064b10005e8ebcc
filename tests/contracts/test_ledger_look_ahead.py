"""Fires ahead of their time: what of them each store must get right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import pytest

from tests.contracts.steps import TENANT, claim, counters, execution, executions_of, expired, trigger
from tests.makers import START, a_job, a_success, decided, new_id, occurrences_of, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.execution import ExecutionStatus, SkipReason
from tocsin.domain.firing import LOOK_AHEAD, fire
from tocsin.domain.job import JobStatus, JobType, OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import cancel, delete, pause, reschedule, resume
from tocsin.domain.plan import Plan
from tocsin.ports.ledger import Fired
from tocsin.ports.storage import Storage

MINUTE: Final = timedelta(minutes=1)
DUE: Final = START + MINUTE
JUST_BEFORE: Final = timedelta(milliseconds=400)


def early_planner(job: ScheduledJob, now: datetime) -> Plan:
    return fire(job, now, occurrences_of(job), new_id, ahead=LOOK_AHEAD)


async def look(storage: Storage, limit: int = 10) -> Fired:
    return await storage.ledger.fire(early_planner, limit=limit, ahead=LOOK_AHEAD)


@pytest.fixture
def clock() -> ManualClock:
    """Shortly before the first nominal time of a job that runs each minute."""
    clock = ManualClock()
    clock.move_to(DUE - JUST_BEFORE)
    return clock


async def test_a_job_that_is_about_to_be_due_fires_early_for_its_instant(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())

    fired = await look(storage)

    [row] = await executions_of(storage, job)
    assert (row.status, row.scheduled_at, row.available_at) == (ExecutionStatus.PENDING, DUE, DUE)
    assert row.created_at == row.dispatched_at == fired.now == clock.now()
    assert row.holds_slot
    assert [dispatch.execution_id for dispatch in fired.dispatches] == [row.id]
    assert (fired.jobs, fired.executions, fired.skips, fired.postponed) == (1, 1, 0, 0)
    after = await storage.jobs.get(TENANT, job.id)
    assert (after.next_run, after.last_run, after.last_nominal) == (DUE + MINUTE, DUE, DUE)
    assert fired.next_due == DUE + MINUTE
    assert (after.counters.scheduled_count, after.counters.slots_taken, after.counters.live) == (1, 1, 1)


async def test_what_was_fired_early_is_not_fired_again_at_its_instant(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.ALLOW_ALL))
    await look(storage)
    clock.move_to(DUE)

    again = await look(storage)

    assert (again.jobs, again.postponed) == (0, 0)
    assert [row.scheduled_at for row in await executions_of(storage, job)] == [DUE]


async def test_without_a_look_ahead_nothing_fires_before_its_time(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())

    fired = await storage.ledger.fire(early_planner, limit=10)

    assert (fired.jobs, fired.postponed, fired.next_due) == (0, 0, DUE)
    assert await executions_of(storage, job) == []


async def test_what_lies_beyond_the_look_ahead_is_left_alone(storage: Storage, clock: ManualClock) -> None:
    beyond = clock.now() + LOOK_AHEAD + timedelta(microseconds=1)
    job = await storage.jobs.add(a_job(next_run=beyond))

    fired = await look(storage)

    assert (fired.jobs, fired.postponed, fired.next_due) == (0, 0, beyond)
    assert await executions_of(storage, job) == []


async def test_a_job_without_a_free_slot_waits_for_its_instant_and_is_skipped_only_then(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    await trigger(storage, job, 1)
    before = await storage.jobs.get(TENANT, job.id)

    early = await look(storage)

    assert (early.jobs, early.executions, early.skips, early.postponed) == (0, 0, 0, 1)
    assert (early.next_due, list(early.dispatches)) == (DUE, [])
    assert await storage.jobs.get(TENANT, job.id) == before
    clock.move_to(DUE)
    assert (await look(storage)).skips == 1
    [_, skipped] = await executions_of(storage, job)
    assert (skipped.scheduled_at, skipped.skip_reason) == (DUE, SkipReason.OVERLAP)


async def test_a_slot_that_comes_free_within_the_look_ahead_is_taken(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    [attempt] = await claim(storage, *await trigger(storage, job, 1))
    assert (await look(storage)).postponed == 1
    clock.advance(timedelta(milliseconds=100))
    await storage.ledger.finish([a_success(attempt, duration_ms=100)])

    fired = await look(storage)

    assert (fired.executions, fired.postponed) == (1, 0)
    assert (await executions_of(storage, job))[-1].available_at == DUE


async def test_nobody_who_waits_is_overtaken(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.QUEUE_ALL))
    await trigger(storage, job, 2)

    assert (await look(storage)).postponed == 1

    clock.move_to(DUE)
    assert (await look(storage)).executions == 1
    assert (await counters(storage, job)).waiting == 2


async def test_what_is_due_goes_before_what_is_about_to_be(storage: Storage) -> None:
    soon, due = a_job(), a_job(next_run=START + timedelta(seconds=30))
    await storage.jobs.add(soon)
    await storage.jobs.add(due)

    await look(storage, limit=1)

    assert await executions_of(storage, soon) == []
    assert len(await executions_of(storage, due)) == 1


async def test_an_early_fire_is_claimed_ahead_and_starts_at_its_instant(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(lock_timeout_seconds=60))
    await look(storage)
    clock.advance(timedelta(milliseconds=100))

    [attempt] = await claim(storage, *await executions_of(storage, job))

    assert (attempt.claimed_at, attempt.started_at, attempt.scheduled_at) == (clock.now(), DUE, DUE)
    row = await execution(storage, attempt.execution_id)
    assert (row.status, row.started_at) == (ExecutionStatus.RUNNING, DUE)
    assert row.lease_expires_at == DUE + timedelta(seconds=60)


async def test_a_claim_after_the_instant_starts_now(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    await look(storage)
    clock.move_to(DUE + timedelta(milliseconds=3))

    [attempt] = await claim(storage, *await executions_of(storage, job))

    assert attempt.claimed_at == attempt.started_at == clock.now()


@pytest.mark.parametrize("back", [timedelta(milliseconds=10), timedelta(hours=1)], ids=str)
async def test_what_fired_ahead_begins_no_sooner_and_hardly_later_if_the_clock_is_set_back(
    storage: Storage, clock: ManualClock, back: timedelta
) -> None:
    job = await storage.jobs.add(a_job())
    await look(storage)
    before = (await executions_of(storage, job))[0].scheduled_at - clock.now()
    clock.jump_wall(-back)

    [attempt] = await claim(storage, *await executions_of(storage, job))

    assert attempt.claimed_at == clock.now()
    assert before <= attempt.started_at - clock.now() <= LOOK_AHEAD


async def test_a_lease_that_begins_within_the_look_ahead_has_not_lapsed(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    await look(storage)
    [attempt] = await claim(storage, *await executions_of(storage, job))

    assert await expired(storage, limit=10) == []

    clock.jump_wall(-timedelta(milliseconds=101))
    assert [lease.attempt.execution_id for lease in await expired(storage, limit=10)] == [attempt.execution_id]


async def test_the_real_start_is_kept_with_the_finish(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    await look(storage)
    [attempt] = await claim(storage, *await executions_of(storage, job))
    clock.move_to(DUE + timedelta(seconds=1))
    begun_at = DUE + timedelta(milliseconds=2)

    await storage.ledger.finish([replace(a_success(attempt), started_at=begun_at)])

    assert (await execution(storage, attempt.execution_id)).started_at == begun_at


async def test_a_one_time_job_that_fired_early_ends_with_its_execution(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(type=JobType.ONE_TIME, schedule=DUE.isoformat()))
    await look(storage)
    early = await storage.jobs.get(TENANT, job.id)
    assert (early.status, early.next_run, early.exhausted) == (JobStatus.ACTIVE, None, True)
    [attempt] = await claim(storage, *await executions_of(storage, job))
    clock.move_to(DUE + timedelta(seconds=1))

    await storage.ledger.finish([a_success(attempt)])

    assert (await storage.jobs.get(TENANT, job.id)).status is JobStatus.COMPLETED


async def test_a_limit_and_an_end_hold_for_early_fires(storage: Storage, clock: ManualClock) -> None:
    bounds = {"type": JobType.RECURRING, "overlap_policy": OverlapPolicy.ALLOW_ALL}
    limited = await storage.jobs.add(a_job(**bounds, max_executions=1))
    ending = await storage.jobs.add(a_job(**bounds, end_date=DUE))
    await look(storage)
    clock.move_to(DUE + MINUTE - JUST_BEFORE)
    await look(storage)

    for job in (limited, ending):
        assert [row.scheduled_at for row in await executions_of(storage, job)] == [DUE]
        assert (await storage.jobs.get(TENANT, job.id)).next_run is None


async def test_a_job_that_was_paused_after_an_early_fire_resumes_behind_it(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.ALLOW_ALL))
    await look(storage)
    await storage.jobs.change(TENANT, job.id, decided(pause))
    clock.advance(timedelta(milliseconds=100))
    await storage.jobs.change(TENANT, job.id, decided(resume))

    assert (await storage.jobs.get(TENANT, job.id)).next_run == DUE + MINUTE
    clock.move_to(DUE)
    assert (await look(storage)).jobs == 0
    assert [row.scheduled_at for row in await executions_of(storage, job)] == [DUE]


async def test_a_reschedule_after_an_early_fire_neither_doubles_nor_loses_a_nominal_time(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.ALLOW_ALL))
    await look(storage)
    each_second = a_job(schedule="every 1s", overlap_policy=OverlapPolicy.ALLOW_ALL).definition
    await storage.jobs.change(TENANT, job.id, decided(reschedule, each_second))
    for _ in range(3):
        clock.advance(1)
        await look(storage)

    nominal = [row.scheduled_at for row in await executions_of(storage, job)]
    assert nominal == [DUE + timedelta(seconds=second) for second in range(4)]


@pytest.mark.parametrize("step", [cancel, delete])
async def test_an_early_fire_that_nobody_claimed_ends_with_its_job(
    storage: Storage, clock: ManualClock, step: Callable[..., Plan]
) -> None:
    job = await storage.jobs.add(a_job())
    await look(storage)
    clock.advance(timedelta(milliseconds=100))

    await storage.jobs.change(TENANT, job.id, decided(step))

    [row] = await executions_of(storage, job)
    assert (row.status, row.completed_at) == (ExecutionStatus.CANCELLED, clock.now())
    assert await claim(storage, row) == []


async def test_a_planner_that_looks_no_further_than_now_postpones_everything(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())

    fired = await storage.ledger.fire(planner, limit=10, ahead=LOOK_AHEAD)

    assert (fired.jobs, fired.postponed, fired.next_due) == (0, 1, DUE)
    assert await executions_of(storage, job) == []
