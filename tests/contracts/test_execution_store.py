from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.contracts.steps import (
    TENANT,
    a_running_attempt,
    an_idle_job,
    claim,
    executions_of,
    trigger,
)
from tests.makers import START, a_failure, a_job, a_success, an_event_job, decided, new_id, planner, triggered
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import hand_back
from tocsin.domain.errors import ExecutionNotFound
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin
from tocsin.domain.job import HandlerType, MisfirePolicy, OverlapPolicy
from tocsin.domain.lifecycle import pause
from tocsin.ports.ledger import LogLine
from tocsin.ports.queries import ExecutionFilter
from tocsin.ports.storage import Storage
from tocsin.ports.stores import UNCLAIMED_AFTER

OTHER = "acme"
MINUTE = timedelta(minutes=1)


async def test_an_unknown_execution_is_not_found(storage: Storage) -> None:
    missing = new_id(START)

    for call in (
        storage.executions.get(TENANT, missing),
        storage.executions.cancel(TENANT, missing),
        storage.executions.logs(TENANT, missing, after=0, limit=1),
    ):
        with pytest.raises(ExecutionNotFound) as caught:
            await call
        assert caught.value.execution_id == missing


async def test_a_foreign_execution_is_not_found(storage: Storage) -> None:
    job = await an_idle_job(storage, tenant_id=OTHER)
    [row] = await trigger(storage, job, 1)

    for call in (
        storage.executions.get(TENANT, row.id),
        storage.executions.cancel(TENANT, row.id),
        storage.executions.logs(TENANT, row.id, after=0, limit=1),
    ):
        with pytest.raises(ExecutionNotFound):
            await call
    for query in (ExecutionFilter(), ExecutionFilter(job_id=job.id)):
        assert (await storage.executions.list(TENANT, query)).total == 0
    assert await storage.executions.get(OTHER, row.id) == row
    assert (await storage.executions.figures(TENANT, job_id=None, since=None)).by_status == {}
    assert (await storage.executions.figures(TENANT, job_id=job.id, since=None)).by_status == {}
    assert (await storage.executions.queue(TENANT)).ready == 0


async def test_an_execution_without_logs_has_an_empty_page(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)

    page = await storage.executions.logs(TENANT, attempt.execution_id, after=0, limit=5)

    assert (list(page.items), page.total) == ([], 0)


async def listed(storage: Storage, query: ExecutionFilter) -> list[JobExecution]:
    page = await storage.executions.list(TENANT, query)
    assert page.total == len(page.items)
    return list(page.items)


async def test_lists_are_narrowed_by_each_condition(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(concurrency=5))
    for _ in range(3):
        clock.advance(MINUTE)
        await storage.ledger.fire(planner, limit=10)
    first, second, third = await executions_of(storage, job)
    [by_hand] = await trigger(storage, await an_idle_job(storage), 1)
    await claim(storage, second)
    second = await storage.executions.get(TENANT, second.id)

    assert await listed(storage, ExecutionFilter()) == [by_hand, third, second, first]
    assert await listed(storage, ExecutionFilter(job_id=job.id)) == [third, second, first]
    assert await listed(storage, ExecutionFilter(status=(ExecutionStatus.RUNNING,))) == [second]
    assert await listed(storage, ExecutionFilter(origin=(Origin.MANUAL, Origin.RETRY))) == [by_hand]
    assert await listed(storage, ExecutionFilter(scheduled_after=second.scheduled_at, job_id=job.id)) == [third, second]
    assert await listed(storage, ExecutionFilter(scheduled_before=second.scheduled_at)) == [second, first]
    assert await listed(storage, ExecutionFilter(job_id=new_id(START))) == []


async def test_pages_come_newest_nominal_time_first_and_are_stable_under_inserts(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage, overlap_policy=OverlapPolicy.ALLOW_ALL)
    for _ in range(3):
        await trigger(storage, job, 2)
        clock.advance(1)
    everything = await listed(storage, ExecutionFilter())
    assert everything == sorted(everything, key=lambda row: (row.scheduled_at, row.id), reverse=True)

    query = ExecutionFilter(limit=2)
    page = await storage.executions.list(TENANT, query)
    paged = [*page.items]
    while page.next_cursor is not None:
        await trigger(storage, job, 1)
        page = await storage.executions.list(TENANT, replace(query, cursor=page.next_cursor))
        paged += page.items

    assert paged == everything
    assert page.total == 6 + 2
    third = await storage.executions.list(TENANT, replace(query, offset=7))
    assert (list(third.items), third.offset, third.next_cursor) == ([everything[-1]], 7, None)


async def test_figures_of_nothing_are_empty(storage: Storage) -> None:
    figures = await storage.executions.figures(TENANT, job_id=None, since=None)

    assert dict(figures.by_status) == {}
    assert (list(figures.durations_ms), list(figures.lateness_ms), list(figures.failures)) == ([], [], [])
    assert list(figures.by_hour) == [0] * 24
    assert figures.last_started_at is None


async def test_figures_add_up_what_is_stored(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=9, max_retries=0)
    clock.move_to("2026-01-01T05:59:00+00:00")
    attempts = list(await claim(storage, *await trigger(storage, job, 5)))
    await storage.ledger.finish([a_success(attempts[0], duration_ms=30), a_success(attempts[1], duration_ms=10)])
    await storage.ledger.finish([a_failure(attempts[2], error="first", duration_ms=1)])
    await storage.ledger.finish([a_failure(attempts[3], error="second", duration_ms=2)])
    await storage.ledger.finish(
        [a_failure(attempts[4], status=ExecutionStatus.TIMEOUT, error_type="EXECUTION_TIMEOUT", error=None)]
    )
    clock.advance(2 * MINUTE)
    await claim(storage, *await trigger(storage, job, 1))
    await trigger(storage, job, 1)

    figures = await storage.executions.figures(TENANT, job_id=job.id, since=None)

    assert figures.by_status == {"success": 2, "failed": 2, "timeout": 1, "running": 1, "pending": 1}
    assert list(figures.durations_ms) == [10, 30]
    assert list(figures.lateness_ms) == []
    value_errors, time_outs = figures.failures
    assert (value_errors.error_type, value_errors.count, value_errors.last_error) == ("ValueError", 2, "second")
    assert value_errors.last_seen == clock.now() - 2 * MINUTE + timedelta(milliseconds=2)
    assert (time_outs.error_type, time_outs.count, time_outs.last_error) == ("EXECUTION_TIMEOUT", 1, None)
    assert {hour: count for hour, count in enumerate(figures.by_hour) if count} == {5: 5, 6: 1}
    assert figures.last_started_at == clock.now()
    assert await storage.executions.figures(TENANT, job_id=None, since=None) == figures


async def test_figures_take_a_skipped_row_as_all_the_nominal_times_it_covers(
    storage: Storage, clock: ManualClock
) -> None:
    await storage.jobs.add(a_job(misfire_policy=MisfirePolicy.SKIP))
    clock.advance(10.5 * MINUTE)
    await storage.ledger.fire(planner, limit=1)

    figures = await storage.executions.figures(TENANT, job_id=None, since=None)

    assert figures.by_status == {"skipped": 9, "pending": 1}


async def test_lateness_is_measured_to_the_first_start_of_schedule_fires(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(retry_delay_ms=0, concurrency=2))
    clock.advance(60.25)
    await storage.ledger.fire(planner, limit=1)
    [row] = await executions_of(storage, job)
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([a_failure(attempt)])
    clock.advance(30)
    await claim(storage, row, *await trigger(storage, job, 1))

    figures = await storage.executions.figures(TENANT, job_id=None, since=None)

    assert list(figures.lateness_ms) == [250]


async def test_lateness_is_that_of_the_start_that_was_and_not_of_a_claim_handed_back_unbegun(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job(retry_delay_ms=0))
    clock.advance(60)
    await storage.ledger.fire(planner, limit=1)
    [row] = await executions_of(storage, job)
    [attempt] = await claim(storage, row)
    clock.advance(1)
    await storage.ledger.finish([hand_back(attempt, clock.now(), begun=False)])
    waiting = await storage.executions.figures(TENANT, job_id=None, since=None)
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([a_failure(attempt)])
    clock.advance(30)
    await claim(storage, row)

    of_tenant = await storage.executions.figures(TENANT, job_id=None, since=None)
    of_job = await storage.executions.figures(TENANT, job_id=job.id, since=None)

    assert list(waiting.lateness_ms) == []
    assert list(of_tenant.lateness_ms) == list(of_job.lateness_ms) == [1000]


async def test_figures_start_at_since(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage)
    await trigger(storage, job, 1)
    clock.advance(1)
    await trigger(storage, job, 1)

    at = await storage.executions.figures(TENANT, job_id=None, since=clock.now())
    after = await storage.executions.figures(TENANT, job_id=None, since=clock.now() + timedelta(microseconds=1))

    assert (at.by_status, after.by_status) == ({"pending": 1}, {})


async def test_the_queue_tells_what_waits_for_what(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=3, retry_delay_ms=600_000)
    running, retrying, _, _ = await trigger(storage, job, 4)
    [_, failing] = await claim(storage, running, retrying)
    await storage.ledger.finish([a_failure(failing)])
    await storage.jobs.add(a_job())
    paused = await storage.jobs.add(a_job())
    await storage.jobs.change(TENANT, paused.id, decided(pause))
    elsewhere = await storage.jobs.add(an_event_job(tenant_id=OTHER))
    clock.advance(2 * MINUTE)
    await storage.jobs.change(OTHER, elsewhere.id, triggered())

    queue = await storage.executions.queue(TENANT)

    assert queue.jobs_by_status == {"active": 2, "paused": 1}
    assert (queue.ready, queue.waiting, queue.retrying, queue.running) == (1, 1, 1, 1)
    assert (queue.due_jobs, queue.oldest_due, queue.oldest_ready) == (1, START + MINUTE, START)
    everyone = await storage.executions.queue(None)
    assert (everyone.jobs_by_status, everyone.ready) == ({"active": 3, "paused": 1}, 2)
    other = await storage.executions.queue(OTHER)
    assert (other.ready, other.due_jobs, other.oldest_due, other.oldest_ready) == (1, 0, None, clock.now())


async def test_the_queue_tells_what_nobody_has_taken_for_a_minute_and_what_it_takes(
    storage: Storage, clock: ManualClock
) -> None:
    report = await an_idle_job(storage, concurrency=3, handler_name="report")
    claimed, _, _, _ = await trigger(storage, report, 4)
    clean = await an_idle_job(storage, handler_name="clean")
    await trigger(storage, clean, 1)
    call = await storage.jobs.add(an_event_job(tenant_id=OTHER, handler_type=HandlerType.HTTP, handler_name="call"))
    await trigger(storage, call, 1)
    await claim(storage, claimed)
    clock.advance(UNCLAIMED_AFTER)
    assert (await storage.executions.queue(None)).unclaimed == {}
    young = await an_idle_job(storage, handler_name="young")
    await trigger(storage, young, 1)

    clock.advance(timedelta(microseconds=1))

    assert (await storage.executions.queue(TENANT)).unclaimed == {"function/report": 2, "function/clean": 1}
    assert (await storage.executions.queue(OTHER)).unclaimed == {"http": 1}
    assert (await storage.executions.queue(None)).unclaimed == {"function/report": 2, "function/clean": 1, "http": 1}


async def test_what_waits_for_a_retry_is_unclaimed_only_once_that_is_due(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage, retry_delay_ms=60_000, handler_name="report")
    await storage.ledger.finish([a_failure(attempt)])
    clock.advance(2 * UNCLAIMED_AFTER)
    assert (await storage.executions.queue(TENANT)).unclaimed == {}

    clock.advance(2)

    assert (await storage.executions.queue(TENANT)).unclaimed == {"function/report": 1}


async def test_logs_are_scoped_like_their_execution(storage: Storage) -> None:
    first, second = await a_running_attempt(storage), await a_running_attempt(storage)
    line = LogLine(
        execution_id=first.execution_id,
        attempt=1,
        sequence=1,
        logged_at=START,
        level="warning",
        message="ünï \n two lines",
        fields=None,
    )
    await storage.ledger.append_logs([line])

    assert list((await storage.executions.logs(TENANT, first.execution_id, after=0, limit=5)).items) == [line]
    assert list((await storage.executions.logs(TENANT, second.execution_id, after=0, limit=5)).items) == []
