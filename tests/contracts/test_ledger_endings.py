from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from tests.contracts.steps import (
    TENANT,
    an_idle_job,
    claim,
    counters,
    execution,
    executions_of,
    recount,
    trigger,
    versions_of,
)
from tests.makers import a_failure, a_job, a_success, decided, new_id, occurrences_of, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.firing import fire
from tocsin.domain.job import JobStatus, JobType, ScheduledJob
from tocsin.domain.lifecycle import pause, resume
from tocsin.domain.plan import Plan, recorded
from tocsin.domain.runs import retry
from tocsin.ports.storage import Storage

MINUTE = timedelta(minutes=1)


def one_time_in_a_minute(clock: ManualClock, **fields: object) -> ScheduledJob:
    return a_job(type=JobType.ONE_TIME, schedule=(clock.now() + MINUTE).isoformat(), **fields)


async def a_fired_one_time_job(storage: Storage, clock: ManualClock, **fields: object) -> ScheduledJob:
    job = await storage.jobs.add(one_time_in_a_minute(clock, **fields))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    return job


async def status_of(storage: Storage, job: ScheduledJob) -> JobStatus:
    return (await storage.jobs.get(TENANT, job.id)).status


async def test_a_one_time_job_that_failed_for_good_is_failed_and_a_retry_makes_it_active_again(
    storage: Storage, clock: ManualClock
) -> None:
    job = await a_fired_one_time_job(storage, clock, max_retries=1, retry_delay_ms=0)
    [row] = await executions_of(storage, job)
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([a_failure(attempt)])
    assert await status_of(storage, job) is JobStatus.ACTIVE
    clock.advance(5)
    await storage.ledger.ready(limit=10)
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([a_failure(attempt)])
    assert await status_of(storage, job) is JobStatus.FAILED

    failed = await execution(storage, row.id)
    changed = await storage.jobs.change(TENANT, job.id, decided(retry, failed))
    assert changed.execution is not None
    assert (changed.job.status, changed.execution.retry_of) == (JobStatus.ACTIVE, row.id)

    [attempt] = await claim(storage, changed.execution)
    await storage.ledger.finish([a_success(attempt)])
    assert await status_of(storage, job) is JobStatus.COMPLETED
    reasons = [change.reason for change in await versions_of(storage, TENANT, job.id)]
    assert reasons == ["created", "nothing left to fire", "retried", "nothing left to fire"]


async def test_a_one_time_job_whose_execution_is_cancelled_is_failed(storage: Storage, clock: ManualClock) -> None:
    job = await a_fired_one_time_job(storage, clock)
    [row] = await executions_of(storage, job)

    changed = await storage.executions.cancel(TENANT, row.id)

    assert (changed.job.status, changed.job.completed_at) == (JobStatus.FAILED, clock.now())


async def test_a_running_cancel_concludes_the_job_before_the_slot_is_free(storage: Storage, clock: ManualClock) -> None:
    job = await a_fired_one_time_job(storage, clock)
    [row] = await executions_of(storage, job)
    await claim(storage, row)

    changed = await storage.executions.cancel(TENANT, row.id)

    assert (changed.job.status, changed.job.counters.slots_taken) == (JobStatus.FAILED, 1)
    await storage.ledger.release([(row.id, 1)])
    assert (await counters(storage, job)).slots_taken == 0


async def test_a_recurring_job_completes_after_its_last_execution_however_that_ended(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job(type=JobType.RECURRING, max_executions=2, max_retries=0, concurrency=2))
    for _ in range(2):
        clock.advance(MINUTE)
        await storage.ledger.fire(planner, limit=10)
    first, second = await claim(storage, *await executions_of(storage, job))

    await storage.ledger.finish([a_success(first)])
    assert await status_of(storage, job) is JobStatus.ACTIVE
    await storage.ledger.finish([a_failure(second)])

    assert await status_of(storage, job) is JobStatus.COMPLETED
    clock.advance(10 * MINUTE)
    assert (await storage.ledger.fire(planner, limit=10)).jobs == 0


async def test_a_paused_job_completes_the_same_way(storage: Storage, clock: ManualClock) -> None:
    job = await a_fired_one_time_job(storage, clock)
    await storage.jobs.change(TENANT, job.id, decided(pause))
    [attempt] = await claim(storage, *await executions_of(storage, job))

    await storage.ledger.finish([a_success(attempt)])

    assert await status_of(storage, job) is JobStatus.COMPLETED


async def test_a_paused_one_time_job_without_success_fails_when_it_is_resumed(
    storage: Storage, clock: ManualClock
) -> None:
    job = await a_fired_one_time_job(storage, clock, max_retries=0)
    await storage.jobs.change(TENANT, job.id, decided(pause))
    [attempt] = await claim(storage, *await executions_of(storage, job))
    await storage.ledger.finish([a_failure(attempt)])
    assert await status_of(storage, job) is JobStatus.PAUSED

    changed = await storage.jobs.change(TENANT, job.id, decided(resume))

    assert changed.job.status is JobStatus.FAILED


async def test_a_manual_run_of_a_completed_job_leaves_it_completed(storage: Storage, clock: ManualClock) -> None:
    job = await a_fired_one_time_job(storage, clock)
    [attempt] = await claim(storage, *await executions_of(storage, job))
    await storage.ledger.finish([a_success(attempt)])

    [row] = await trigger(storage, job, 1)
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([a_failure(attempt)])

    assert await status_of(storage, job) is JobStatus.COMPLETED


async def test_a_one_time_job_that_ends_well_is_completed_in_a_version_that_says_all(
    storage: Storage, clock: ManualClock
) -> None:
    job = await a_fired_one_time_job(storage, clock, payload={"n": 1}, tags=("nightly",))
    [attempt] = await claim(storage, *await executions_of(storage, job))
    clock.advance(2)

    finished = await storage.ledger.finish([a_success(attempt, duration_ms=1500)])

    assert (finished.rejected, finished.dispatches) == ([], [])
    ended = await storage.jobs.get(TENANT, job.id)
    assert (ended.status, ended.outcome) == (JobStatus.COMPLETED, ExecutionStatus.SUCCESS)
    assert (ended.completed_at, ended.updated_at, ended.version) == (clock.now(), clock.now(), 2)
    assert (ended.counters.executions_count, ended.counters.duration_total_ms) == (1, 1500)
    assert ended.counters == recount(await executions_of(storage, job))
    created, completed = await versions_of(storage, TENANT, job.id)
    assert completed.before == created.after == recorded(job)
    assert completed.after == recorded(ended)
    assert (completed.version, completed.changed_at, completed.changed_by) == (2, clock.now(), None)


async def test_of_one_time_jobs_that_end_together_each_is_judged_for_itself(
    storage: Storage, clock: ManualClock
) -> None:
    jobs = [await storage.jobs.add(one_time_in_a_minute(clock, concurrency=2)) for _ in range(5)]
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    plain, paused, busy, stale, failed = jobs
    await storage.jobs.change(TENANT, paused.id, decided(pause))
    attempts = await claim(storage, *[row for job in jobs for row in await executions_of(storage, job)])
    of_job = {attempt.job_id: attempt for attempt in attempts}
    [by_hand] = await claim(storage, *await trigger(storage, busy, 1))

    ends = [a_success(of_job[job.id]) for job in (plain, paused, busy)]
    lost = replace(a_success(of_job[stale.id]), attempt=7)
    finished = await storage.ledger.finish([*ends, lost, a_failure(of_job[failed.id])])

    assert finished.rejected == [(lost.execution_id, 7)]
    states = {job.id: await status_of(storage, job) for job in jobs}
    assert [states[job.id] for job in (plain, paused)] == [JobStatus.COMPLETED] * 2
    assert [states[job.id] for job in (busy, stale, failed)] == [JobStatus.ACTIVE] * 3
    await storage.ledger.finish([a_success(by_hand), a_success(of_job[stale.id])])
    assert [await status_of(storage, job) for job in (busy, stale)] == [JobStatus.COMPLETED] * 2
    for job in jobs:
        assert await counters(storage, job) == recount(await executions_of(storage, job))


async def test_an_event_job_never_runs_out(storage: Storage) -> None:
    job = await an_idle_job(storage)
    [attempt] = await claim(storage, *await trigger(storage, job, 1))

    await storage.ledger.finish([a_success(attempt)])

    assert await status_of(storage, job) is JobStatus.ACTIVE


async def test_a_run_by_hand_has_no_say_in_how_a_one_time_job_ends(storage: Storage, clock: ManualClock) -> None:
    succeeded = await a_fired_one_time_job(storage, clock)
    [attempt] = await claim(storage, *await executions_of(storage, succeeded))
    [row] = await trigger(storage, succeeded, 1)
    await storage.ledger.finish([a_success(attempt)])
    changed = await storage.executions.cancel(TENANT, row.id)

    failed = await a_fired_one_time_job(storage, clock, max_retries=0, concurrency=2)
    [attempt] = await claim(storage, *await executions_of(storage, failed))
    [by_hand] = await claim(storage, *await trigger(storage, failed, 1))
    await storage.ledger.finish([a_failure(attempt), a_success(by_hand)])

    assert (changed.job.status, changed.job.outcome) == (JobStatus.COMPLETED, ExecutionStatus.SUCCESS)
    ended = await storage.jobs.get(TENANT, failed.id)
    assert (ended.status, ended.outcome) == (JobStatus.FAILED, ExecutionStatus.FAILED)


async def test_a_one_time_job_that_was_skipped_is_failed_however_the_run_before_it_ends(
    storage: Storage, clock: ManualClock
) -> None:
    at = clock.now() + MINUTE
    job = await storage.jobs.add(a_job(type=JobType.ONE_TIME, schedule=at.isoformat()))
    [attempt] = await claim(storage, *await trigger(storage, job, 1))
    clock.move_to(at)
    assert (await storage.ledger.fire(planner, limit=10)).skips == 1

    await storage.ledger.finish([a_success(attempt)])

    assert await status_of(storage, job) is JobStatus.FAILED


async def test_an_outcome_is_that_of_the_schedule_and_of_its_retries(storage: Storage, clock: ManualClock) -> None:
    at = clock.now() + MINUTE
    job = await storage.jobs.add(a_job(type=JobType.ONE_TIME, schedule=at.isoformat(), concurrency=2, max_retries=0))
    clock.move_to(at)
    await storage.ledger.fire(planner, limit=10)
    [attempt] = await claim(storage, *await executions_of(storage, job))
    await storage.ledger.finish([a_failure(attempt)])
    seen = [(await storage.jobs.get(TENANT, job.id)).outcome]

    failed = await execution(storage, attempt.execution_id)
    changed = await storage.jobs.change(TENANT, job.id, decided(retry, failed))
    assert changed.execution is not None
    seen.append((await storage.executions.cancel(TENANT, changed.execution.id)).job.outcome)

    assert seen == [ExecutionStatus.FAILED, ExecutionStatus.CANCELLED]


async def test_a_job_that_fires_again_is_not_judged_by_one_execution(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(max_retries=0))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    [attempt] = await claim(storage, *await executions_of(storage, job))

    await storage.ledger.finish([a_failure(attempt)])

    assert (await storage.jobs.get(TENANT, job.id)).outcome is None


async def test_a_nominal_time_that_is_on_record_already_keeps_its_outcome(storage: Storage, clock: ManualClock) -> None:
    job = await a_fired_one_time_job(storage, clock)
    [attempt] = await claim(storage, *await executions_of(storage, job))
    await trigger(storage, job, 1)
    await storage.ledger.finish([a_success(attempt)])

    def again(job: ScheduledJob, now: datetime) -> Plan:
        repeated = fire(replace(job, next_run=now, last_nominal=None), now, occurrences_of(job), new_id)
        return replace(repeated, job=replace(repeated.job, outcome=None))

    changed = await storage.jobs.change(TENANT, job.id, again)

    assert len(await executions_of(storage, job)) == 2
    assert changed.job.outcome is ExecutionStatus.SUCCESS
