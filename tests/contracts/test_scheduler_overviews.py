"""What `IScheduler` shows at a glance, on all engines, in process and over HTTP against a listening server."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest

from tests.http.nodes import StillNode
from tests.makers import START, a_definition, planner
from tocsin.domain.errors import InvalidInput, InvalidJob, InvalidSchedule, JobNotFound
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobType, OverlapPolicy, ScheduledJob
from tocsin.ports.overviews import Outcome
from tocsin.ports.reports import Period
from tocsin.ports.scheduler import IScheduler

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
NOBODY = UUID(int=7)


async def a_job(scheduler: IScheduler, **fields: object) -> ScheduledJob:
    return await scheduler.schedule(a_definition(**fields))


async def a_run(node: StillNode, job: ScheduledJob, *, succeeds: bool = True) -> UUID:
    """Run a job by hand to its end, a second later."""
    execution = await node.scheduler.trigger_job(job.id)
    await node.finish(str(execution.id), succeeds=succeeds)
    return execution.id


async def fire(node: StillNode) -> None:
    await node.storage.ledger.fire(planner, limit=100)


async def test_the_newest_outcomes_of_several_jobs_come_in_the_order_of_the_ids(
    scheduler: IScheduler, node: StillNode
) -> None:
    first, second, idle = [await a_job(scheduler, type=JobType.EVENT, schedule=None, concurrency=5) for _ in range(3)]
    ids = []
    for _ in range(3):
        node.clock.advance(MINUTE)
        ids.append(await a_run(node, first))
    failed = await a_run(node, await a_job(scheduler, name="other", max_retries=0), succeeds=False)
    waiting = await scheduler.trigger_job(second.id)
    other = (await scheduler.get_execution(failed)).job_id

    found = await scheduler.get_job_outcomes([second.id, idle.id, first.id, other, second.id], limit=2)

    assert [(each.job_id, [one.execution_id for one in each.outcomes]) for each in found] == [
        (second.id, [waiting.id]),
        (idle.id, []),
        (first.id, ids[:0:-1]),
        (other, [failed]),
    ]
    assert [one.status for each in found for one in each.outcomes] == ["pending", "success", "success", "failed"]


async def test_an_outcome_of_a_fire_tells_how_late_it_began_and_how_long_it_took(
    scheduler: IScheduler, node: StillNode
) -> None:
    job = await a_job(scheduler)
    node.clock.advance(MINUTE + timedelta(milliseconds=250))
    await fire(node)
    [row] = (await scheduler.get_job_history(job.id)).items
    await node.finish(str(row.id))

    [[outcome]] = [each.outcomes for each in await scheduler.get_job_outcomes([job.id])]

    ended = await scheduler.get_execution(row.id)
    assert outcome == Outcome(
        execution_id=row.id,
        scheduled_at=START + MINUTE,
        status=ExecutionStatus.SUCCESS,
        started_at=ended.started_at,
        duration_ms=ended.duration_ms,
        lateness_ms=250,
    )
    assert ended.duration_ms is not None


async def test_a_skip_is_an_outcome(scheduler: IScheduler, node: StillNode) -> None:
    job = await a_job(scheduler, overlap_policy=OverlapPolicy.SKIP)
    for _ in range(2):
        node.clock.advance(MINUTE)
        await fire(node)

    [found] = await scheduler.get_job_outcomes([job.id])

    assert [(each.scheduled_at - START, each.status) for each in found.outcomes] == [
        (2 * MINUTE, "skipped"),
        (MINUTE, "pending"),
    ]


async def test_outcomes_of_jobs_that_are_not_there_are_left_out(scheduler: IScheduler, node: StillNode) -> None:
    foreign = await node.scheduler.for_tenant("acme").schedule(a_definition())
    deleted = await a_job(scheduler)
    await scheduler.unschedule(deleted.id)

    assert list(await scheduler.get_job_outcomes([NOBODY, foreign.id, deleted.id])) == []


@pytest.mark.parametrize(("jobs", "limit", "field"), [(0, 50, "job_id"), (151, 50, "job_id"), (1, 0, "limit")])
async def test_outcomes_are_asked_for_within_bounds(scheduler: IScheduler, jobs: int, limit: int, field: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        await scheduler.get_job_outcomes([UUID(int=n) for n in range(jobs)], limit=limit)

    assert [error.field for error in refused.value.errors] == [field]


@pytest.mark.parametrize(
    ("period", "width", "count"),
    [
        (Period.HOUR, MINUTE, 60),
        (Period.DAY, 30 * MINUTE, 48),
        (Period.WEEK, 3 * HOUR, 56),
        (Period.MONTH, 12 * HOUR, 60),
    ],
)
async def test_a_series_has_every_bucket_of_its_period(
    scheduler: IScheduler, period: Period, width: timedelta, count: int
) -> None:
    series = await scheduler.get_series(period)

    assert (series.period, series.bucket, series.share) == (period, width, 1)
    assert [point.at for point in series.points] == [START - n * width for n in range(count - 1, -1, -1)]
    assert all(point.started == point.completed == point.skipped == 0 for point in series.points)
    assert {point.lateness_p50_ms for point in series.points} == {None}


async def test_a_series_counts_what_began_and_what_ended_where_it_did(scheduler: IScheduler, node: StillNode) -> None:
    job = await a_job(scheduler, type=JobType.EVENT, schedule=None, max_retries=0, concurrency=10)
    node.clock.advance(timedelta(seconds=90))
    await a_run(node, job)
    await a_run(node, job, succeeds=False)
    await scheduler.cancel_execution((await scheduler.trigger_job(job.id)).id)
    await node.scheduler.for_tenant("acme").schedule(a_definition())
    node.clock.advance(MINUTE)
    await a_run(node, job)

    points = {point.at: point for point in (await scheduler.get_series(Period.HOUR)).points}

    before, last = points[START + MINUTE], points[START + 2 * MINUTE]
    assert (before.started, before.completed, before.failed, before.cancelled) == (2, 1, 1, 1)
    assert (last.started, last.completed, last.failed, last.cancelled) == (1, 1, 0, 0)
    assert sum(point.started for point in points.values()) == 3
    assert before.lateness_p50_ms is None


async def test_a_series_counts_skips_in_nominal_times_and_tells_how_late_fires_were(
    scheduler: IScheduler, node: StillNode
) -> None:
    job = await a_job(scheduler, schedule="every 10s", misfire_grace_seconds=5)
    await node.scheduler.for_tenant("acme").schedule(a_definition(schedule="every 1s"))
    node.clock.advance(timedelta(seconds=62))
    await fire(node)
    ran = [row for row in (await scheduler.get_job_history(job.id)).items if row.status is ExecutionStatus.PENDING]
    for row in ran:
        await node.finish(str(row.id))

    series = await scheduler.get_series(Period.HOUR)

    last = series.points[-1]
    assert (last.at, last.skipped, last.started, last.completed) == (START + MINUTE, 5, 1, 1)
    assert (last.lateness_p50_ms, last.lateness_p99_ms) == (2000, 2000)


async def test_fires_to_come_are_told_in_order_over_all_active_jobs(scheduler: IScheduler) -> None:
    fast = await a_job(scheduler, name="fast", schedule="every 20m")
    slow = await a_job(scheduler, name="slow", schedule="every 45m")
    paused = await a_job(scheduler, name="paused")
    await scheduler.pause_job(paused.id)

    upcoming = await scheduler.list_upcoming(within=HOUR)

    assert [(fire.job_id, fire.name, (fire.scheduled_at - START) // MINUTE) for fire in upcoming.fires] == [
        (fast.id, "fast", 20),
        (fast.id, "fast", 40),
        (slow.id, "slow", 45),
        (fast.id, "fast", 60),
    ]
    assert not upcoming.truncated


async def test_fires_to_come_are_no_more_than_asked_for_and_say_so(scheduler: IScheduler) -> None:
    await a_job(scheduler, schedule="every 10m")
    await a_job(scheduler, schedule="every 10m")

    some = await scheduler.list_upcoming(within=HOUR, limit=11)
    every = await scheduler.list_upcoming(within=HOUR, limit=12)

    assert (len(some.fires), some.truncated) == (11, True)
    assert (len(every.fires), every.truncated) == (12, False)


async def test_a_job_fires_no_more_than_it_may(scheduler: IScheduler) -> None:
    await a_job(scheduler, type=JobType.RECURRING, schedule="every 10m", max_executions=2)
    await a_job(scheduler, type=JobType.RECURRING, schedule="every 15m", end_date=START + timedelta(minutes=30))

    upcoming = await scheduler.list_upcoming(within=HOUR)

    assert [(fire.scheduled_at - START) // MINUTE for fire in upcoming.fires] == [10, 15, 20, 30]


async def test_a_job_that_is_due_shows_its_next_fire_and_what_follows_now(
    scheduler: IScheduler, node: StillNode
) -> None:
    await a_job(scheduler, schedule="every 10m")
    node.clock.advance(timedelta(minutes=35))

    upcoming = await scheduler.list_upcoming(within=timedelta(minutes=20))

    assert [(fire.scheduled_at - START) // MINUTE for fire in upcoming.fires] == [10, 40, 50]


async def test_nobody_sees_the_fires_of_another_tenant(scheduler: IScheduler, node: StillNode) -> None:
    await node.scheduler.for_tenant("acme").schedule(a_definition())

    assert not (await scheduler.list_upcoming()).fires


@pytest.mark.parametrize(
    ("within", "limit", "field"), [(timedelta(days=8), 1, "within_ms"), (HOUR, 0, "limit"), (HOUR, 1001, "limit")]
)
async def test_fires_to_come_are_asked_for_within_bounds(
    scheduler: IScheduler, within: timedelta, limit: int, field: str
) -> None:
    with pytest.raises(InvalidJob) as refused:
        await scheduler.list_upcoming(within=within, limit=limit)

    assert [error.field for error in refused.value.errors] == [field]


async def test_a_calendar_shows_what_came_of_each_day_and_what_is_to_come(
    scheduler: IScheduler, node: StillNode
) -> None:
    job = await a_job(scheduler, schedule="every 6h", misfire_grace_seconds=3600)
    for _ in range(6):
        node.clock.advance(6 * HOUR)
        await fire(node)
    [oldest] = [row for row in (await scheduler.get_job_history(job.id)).items if row.status == "pending"]
    await node.finish(str(oldest.id))

    calendar = await scheduler.get_job_calendar(job.id, month="2026-01", timezone="Europe/Berlin")

    assert (calendar.month, calendar.timezone, len(calendar.days)) == ("2026-01", "Europe/Berlin", 31)
    [first, second, third] = calendar.days[:3]
    assert (first.date, dict(first.outcomes), first.fires) == (date(2026, 1, 1), {"success": 1, "skipped": 2}, 0)
    assert (second.date, dict(second.outcomes), second.fires) == (date(2026, 1, 2), {"skipped": 3}, 1)
    assert second.first_fire == datetime(2026, 1, 2, 18, tzinfo=UTC)
    assert (dict(third.outcomes), third.fires, third.first_fire) == ({}, 4, datetime(2026, 1, 3, tzinfo=UTC))


async def test_a_calendar_is_of_this_month_in_the_zone_of_the_job(scheduler: IScheduler) -> None:
    job = await a_job(scheduler, timezone="America/New_York", type=JobType.CRON, schedule="0 9 * * *")

    calendar = await scheduler.get_job_calendar(job.id)

    assert (calendar.month, calendar.timezone) == ("2025-12", "America/New_York")
    assert [day.fires for day in calendar.days] == [0] * 31


async def test_a_calendar_counts_no_more_fires_than_a_job_has(scheduler: IScheduler) -> None:
    bounded = await a_job(scheduler, type=JobType.RECURRING, schedule="every 6h", max_executions=6)
    ended = await a_job(
        scheduler, type=JobType.RECURRING, schedule="every 6h", end_date=datetime(2026, 1, 2, 6, tzinfo=UTC)
    )
    paused = await scheduler.pause_job((await a_job(scheduler)).id)
    idle = await a_job(scheduler, type=JobType.EVENT, schedule=None)

    fires = [[day.fires for day in (await scheduler.get_job_calendar(job.id)).days[:4]] for job in (bounded, ended)]
    none = [sum(day.fires for day in (await scheduler.get_job_calendar(job.id)).days) for job in (paused, idle)]

    assert (fires, none) == ([[3, 3, 0, 0], [3, 2, 0, 0]], [0, 0])


async def test_a_later_month_has_the_fires_that_the_months_before_leave(scheduler: IScheduler) -> None:
    every_day = {"type": JobType.RECURRING, "schedule": "0 12 * * *"}
    few = await a_job(scheduler, **every_day, max_executions=5)
    more = await a_job(scheduler, **every_day, max_executions=33)
    later = await a_job(scheduler, **every_day, max_executions=3, start_date=datetime(2026, 2, 27, tzinfo=UTC))

    shown = [await scheduler.get_job_calendar(job.id, month="2026-02") for job in (few, more, later)]
    [march] = [await scheduler.get_job_calendar(later.id, month="2026-03")]

    fires = [[day.date.day for day in calendar.days if day.fires] for calendar in (*shown, march)]
    assert fires == [[], [1, 2], [27, 28], [1]]


async def test_a_day_that_a_zone_changes_its_clocks_has_all_its_fires(scheduler: IScheduler) -> None:
    job = await a_job(scheduler, schedule="every 1h", timezone="Europe/Berlin")

    days = {day.date.day: day.fires for day in (await scheduler.get_job_calendar(job.id, month="2026-03")).days}

    assert Counter(days.values()) == {24: 30, 23: 1}
    assert days[29] == 23


async def test_nobody_sees_the_calendar_of_another_tenants_job(scheduler: IScheduler, node: StillNode) -> None:
    foreign = await node.scheduler.for_tenant("acme").schedule(a_definition())

    for job_id in (NOBODY, foreign.id):
        with pytest.raises(JobNotFound):
            await scheduler.get_job_calendar(job_id)


@pytest.mark.parametrize(
    ("asked", "kind", "field"),
    [
        ({"month": "2026-13"}, InvalidInput, "month"),
        ({"month": "1066-10"}, InvalidInput, "month"),
        ({"month": "november"}, InvalidInput, "month"),
        ({"timezone": "Mars/Olympus"}, InvalidSchedule, "timezone"),
    ],
)
async def test_a_calendar_is_asked_for_by_a_month_and_a_zone(
    scheduler: IScheduler, asked: dict[str, str], kind: type[InvalidInput], field: str
) -> None:
    job = await a_job(scheduler)

    with pytest.raises(kind) as refused:
        await scheduler.get_job_calendar(job.id, **asked)

    assert [error.field for error in refused.value.errors] == [field]
