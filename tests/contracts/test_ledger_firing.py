from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.contracts.steps import TENANT, claim, counters, execution, executions_of, trigger, versions_of
from tests.makers import START, a_job, a_success, an_event_job, decided, new_id, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.execution import ExecutionStatus, SkipReason
from tocsin.domain.job import JobStatus, JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import cancel, delete, pause
from tocsin.domain.new_execution import new_execution
from tocsin.domain.plan import ROWS_AT_ONCE, Plan
from tocsin.ports.queries import JobFilter
from tocsin.ports.storage import Storage

MINUTE = timedelta(minutes=1)


async def nominal_times(storage: Storage, job: ScheduledJob) -> list[datetime]:
    return [row.scheduled_at for row in await executions_of(storage, job)]


async def test_a_due_job_gets_an_execution_for_its_nominal_time_and_moves_on(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(61.5)

    fired = await storage.ledger.fire(planner, limit=10)

    [row] = await executions_of(storage, job)
    assert (row.scheduled_at, row.status) == (START + MINUTE, ExecutionStatus.PENDING)
    assert row.available_at == row.dispatched_at == row.created_at == fired.now == clock.now()
    assert row.holds_slot
    assert row.job_version == job.version
    after = await storage.jobs.get(TENANT, job.id)
    assert (after.next_run, after.last_run, after.last_nominal) == (
        START + 2 * MINUTE,
        row.scheduled_at,
        row.scheduled_at,
    )
    assert (after.version, after.updated_at) == (job.version, job.updated_at)


async def test_a_fire_says_what_it_came_to(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(priority=80))
    clock.advance(MINUTE)

    fired = await storage.ledger.fire(planner, limit=10)

    [row] = await executions_of(storage, job)
    [dispatch] = fired.dispatches
    assert (dispatch.execution_id, dispatch.capability, dispatch.priority) == (row.id, "function/report", 80)
    assert (fired.jobs, fired.executions, fired.skips) == (1, 1, 0)
    assert fired.next_due == START + 2 * MINUTE


async def test_nothing_due_changes_nothing_and_tells_when_something_will_be(
    storage: Storage, clock: ManualClock
) -> None:
    await storage.jobs.add(a_job())
    await storage.jobs.add(an_event_job())

    fired = await storage.ledger.fire(planner, limit=10)

    assert (fired.jobs, fired.executions, list(fired.dispatches), fired.next_due) == (0, 0, [], START + MINUTE)
    assert fired.now == clock.now()


async def test_an_empty_store_has_nothing_due_ever(storage: Storage) -> None:
    assert (await storage.ledger.fire(planner, limit=10)).next_due is None


async def test_the_earliest_due_jobs_are_fired_first_and_the_limit_holds(storage: Storage, clock: ManualClock) -> None:
    late, early = a_job(next_run=START + 2 * MINUTE), a_job(next_run=START + MINUTE)
    await storage.jobs.add(late)
    await storage.jobs.add(early)
    clock.advance(2 * MINUTE)
    planned = []

    def remembering(job: ScheduledJob, now: datetime) -> Plan:
        planned.append(job.id)
        return planner(job, now)

    fired = await storage.ledger.fire(remembering, limit=1)

    assert planned == [early.id]
    assert fired.next_due == START + 2 * MINUTE
    assert not await executions_of(storage, late)


async def test_a_job_that_is_behind_stays_due(storage: Storage, clock: ManualClock) -> None:
    def one_step(job: ScheduledJob, _: datetime) -> Plan:
        assert job.next_run is not None
        return replace(planner(job, job.next_run), change=None)

    job = await storage.jobs.add(a_job())
    clock.advance(2 * MINUTE)

    fired = await storage.ledger.fire(one_step, limit=10)

    assert fired.next_due == clock.now()
    assert (await storage.ledger.fire(one_step, limit=10)).jobs == 1
    assert await nominal_times(storage, job) == [START + MINUTE, START + 2 * MINUTE]


async def test_what_many_jobs_owe_is_written_in_parts_and_the_rest_stays_due(
    storage: Storage, clock: ManualClock
) -> None:
    due = {"schedule": "every 1s", "overlap_policy": OverlapPolicy.ALLOW_ALL, "misfire_grace_seconds": 3600}
    jobs = [await storage.jobs.add(a_job(**due)) for _ in range(3)]
    clock.advance(ROWS_AT_ONCE // 2)

    fired = [await storage.ledger.fire(planner, limit=10) for _ in range(3)]

    assert [each.jobs for each in fired] == [2, 1, 0]
    assert fired[0].next_due == START + timedelta(seconds=1)
    assert [each.executions for each in fired] == [ROWS_AT_ONCE, ROWS_AT_ONCE // 2, 0]
    assert {(await storage.jobs.get(TENANT, job.id)).counters.scheduled_count for job in jobs} == {ROWS_AT_ONCE // 2}


@pytest.mark.parametrize("step", [pause, cancel, delete])
async def test_only_active_jobs_fire(storage: Storage, clock: ManualClock, step: Callable[..., Plan]) -> None:
    job = await storage.jobs.add(a_job())
    await storage.jobs.change(TENANT, job.id, decided(step))
    clock.advance(MINUTE)

    assert (await storage.ledger.fire(planner, limit=10)).jobs == 0


async def test_timers_that_fire_at_once_never_fire_the_same_minute_twice(storage: Storage, clock: ManualClock) -> None:
    jobs = [await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.QUEUE_ALL)) for _ in range(5)]
    for _ in range(3):
        clock.advance(MINUTE)
        await asyncio.gather(*(storage.ledger.fire(planner, limit=2) for _ in range(10)))

    for job in jobs:
        assert await nominal_times(storage, job) == [START + MINUTE, START + 2 * MINUTE, START + 3 * MINUTE]


async def test_a_nominal_time_that_is_accounted_for_is_not_written_again_and_the_job_still_advances(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.QUEUE_ALL, concurrency=2))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)

    def once_more(job: ScheduledJob, now: datetime) -> Plan:
        return planner(replace(job, next_run=START + MINUTE, last_nominal=None), now)

    def rewound(job: ScheduledJob, _: datetime) -> Plan:
        return Plan(job=replace(job, next_run=START + MINUTE))

    await storage.jobs.change(TENANT, job.id, rewound)
    before = await counters(storage, job)
    fired = await storage.ledger.fire(once_more, limit=10)

    assert (fired.jobs, fired.executions, list(fired.dispatches)) == (1, 0, [])
    assert await nominal_times(storage, job) == [START + MINUTE]
    assert await counters(storage, job) == before
    assert (await storage.jobs.get(TENANT, job.id)).next_run == START + 2 * MINUTE


async def test_a_waiting_double_is_not_counted_either(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.QUEUE_ALL))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    before = await counters(storage, job)

    def again(job: ScheduledJob, now: datetime) -> Plan:
        return planner(replace(job, next_run=START + MINUTE, last_nominal=None), now)

    await storage.jobs.change(TENANT, job.id, again)

    assert await counters(storage, job) == before


async def test_only_fires_of_the_schedule_consume_a_nominal_time(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(concurrency=3))
    clock.advance(MINUTE)
    first, second = await trigger(storage, job, 2)

    assert (first.scheduled_at, second.scheduled_at) == (START + MINUTE, START + MINUTE)
    assert [row.origin for row in await executions_of(storage, job)] == ["schedule", "manual", "manual"]


async def test_skips_are_rows_that_say_why_and_hold_nothing(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(misfire_policy=MisfirePolicy.SKIP, misfire_grace_seconds=0))
    clock.advance(timedelta(minutes=5, seconds=30))

    fired = await storage.ledger.fire(planner, limit=10)

    [row] = await executions_of(storage, job)
    assert (row.status, row.skip_reason) == (ExecutionStatus.SKIPPED, SkipReason.MISFIRE)
    assert (row.scheduled_at, row.covers_until, row.covers_count) == (START + MINUTE, START + 5 * MINUTE, 5)
    assert row.completed_at == clock.now()
    assert (fired.executions, fired.skips, list(fired.dispatches)) == (0, 1, [])
    assert (await counters(storage, job)).live == 0


async def test_a_fire_that_finds_no_slot_waits_and_is_not_dispatched(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.QUEUE_ALL))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    clock.advance(MINUTE)

    fired = await storage.ledger.fire(planner, limit=10)

    _, waiting = await executions_of(storage, job)
    assert (waiting.available_at, waiting.dispatched_at, waiting.holds_slot) == (None, None, False)
    assert (fired.executions, list(fired.dispatches)) == (1, [])


async def test_a_one_time_job_stays_active_until_its_execution_has_ended(storage: Storage, clock: ManualClock) -> None:
    at = START + MINUTE
    job = await storage.jobs.add(a_job(type=JobType.ONE_TIME, schedule=at.isoformat()))
    clock.move_to(at)
    await storage.ledger.fire(planner, limit=10)

    fired = await storage.jobs.get(TENANT, job.id)
    assert (fired.status, fired.next_run, fired.exhausted) == (JobStatus.ACTIVE, None, True)

    [attempt] = await claim(storage, *await executions_of(storage, job))
    await storage.ledger.finish([a_success(attempt)])

    ended = await storage.jobs.get(TENANT, job.id)
    assert (ended.status, ended.completed_at) == (JobStatus.COMPLETED, clock.now())
    assert ended.version == job.version + 1
    assert [change.reason for change in await versions_of(storage, TENANT, job.id)] == [
        "created",
        "nothing left to fire",
    ]


async def test_a_plan_that_changes_the_job_is_recorded_with_its_version(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(
        a_job(type=JobType.RECURRING, max_executions=1, end_date=START + MINUTE, misfire_policy=MisfirePolicy.SKIP)
    )
    clock.advance(timedelta(hours=1))

    await storage.ledger.fire(planner, limit=10)

    after = await storage.jobs.get(TENANT, job.id)
    assert (after.status, after.version) == (JobStatus.COMPLETED, 2)
    created, ended = await versions_of(storage, TENANT, job.id)
    assert (ended.version, ended.before, ended.changed_by) == (2, created.after, None)


async def test_a_doubled_execution_of_an_exhausted_job_does_not_keep_it_alive(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    [attempt] = await claim(storage, *await executions_of(storage, job))
    await storage.ledger.finish([a_success(attempt)])

    def the_same_once_more(job: ScheduledJob, now: datetime) -> Plan:
        row = replace(
            new_execution(job, START + MINUTE, now=now, execution_id=new_id(now)), available_at=now, holds_slot=True
        )
        counted = replace(job.counters, live=1, slots_taken=1, scheduled_count=2)
        return Plan(job=replace(job, counters=counted, next_run=None, exhausted=True), executions=(row,))

    await storage.jobs.change(TENANT, job.id, the_same_once_more)

    assert (await storage.jobs.get(TENANT, job.id)).status is JobStatus.COMPLETED
    assert (await counters(storage, job)).scheduled_count == 1


async def test_every_field_of_a_planned_execution_is_kept(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())
    row = replace(
        new_execution(job, START + MINUTE, now=START, execution_id=new_id(START)),
        payload={"lines": [1, 2.5, None, True, "ünï"]},
        idempotency_key="once",
        available_at=START + timedelta(hours=1, microseconds=7),
        holds_slot=True,
        max_retries=7,
        retry_of=new_id(START),
        event_id=new_id(START),
        event_handler_id=new_id(START),
        depth=3,
        correlation_id="c",
        trace_id="t",
        span_id="s",
        parent_span_id="p",
        trace_flags=2,
        tracestate="vendor=word",
        metadata={"from": "test"},
    )

    def add(job: ScheduledJob, _: datetime) -> Plan:
        return Plan(job=replace(job, counters=replace(job.counters, live=1, slots_taken=1)), executions=(row,))

    changed = await storage.jobs.change(TENANT, job.id, add)

    assert changed.execution == row
    assert list(changed.dispatches) == []
    assert await execution(storage, row.id) == row
    assert (await storage.executions.queue(None)).retrying == 1


async def test_what_a_reader_does_to_a_document_stays_with_the_reader(storage: Storage) -> None:
    job = await storage.jobs.add(an_event_job(payload={"to": ["a"]}))
    before = await storage.jobs.get(TENANT, job.id)
    payload = before.definition.payload
    assert isinstance(payload, dict)
    payload["to"].append("b")

    assert (await storage.jobs.get(TENANT, job.id)).definition.payload == {"to": ["a"]}
    assert (await storage.jobs.list(TENANT, JobFilter())).items[0].definition.payload == {"to": ["a"]}
