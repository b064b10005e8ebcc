from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.application.rig import Rig
from tests.makers import START, a_job
from tocsin.application.reporting import Reports
from tocsin.application.statistics import (
    BUSIEST,
    busiest_hours,
    durations,
    job_statistics,
    queue_state,
    success_rate,
)
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.domain.lateness import percentile
from tocsin.ports.reports import BusyHour, Period
from tocsin.ports.stores import ExecutionFigures, FailureFigures, QueueFigures

ascending = st.lists(st.integers(0, 10_000), min_size=1).map(sorted)


@given(values=ascending, percent=st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(values: list[int], percent: int) -> None:
    enough = [value for value in values if sum(other <= value for other in values) * 100 >= percent * len(values)]

    assert percentile(values, percent) == min(enough)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([15, 20, 35, 40, 50], 5, 15),
        ([15, 20, 35, 40, 50], 30, 20),
        ([15, 20, 35, 40, 50], 40, 20),
        ([15, 20, 35, 40, 50], 50, 35),
        ([15, 20, 35, 40, 50], 100, 50),
        (list(range(1, 101)), 7, 7),
        (list(range(1, 101)), 99, 99),
        ([7], 0, 7),
        ([], 50, None),
    ],
)
def test_percentiles_by_nearest_rank(values: list[int], percent: float, expected: int | None) -> None:
    assert percentile(values, percent) == expected


def test_there_is_no_success_rate_before_the_first_end() -> None:
    assert success_rate({}) is None
    assert success_rate({"cancelled": 3, "skipped": 4, "running": 1, "pending": 2}) is None


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_the_success_rate_lies_in_0_to_1_and_knows_only_what_ran(good: int, bad: int, late: int, skipped: int) -> None:
    rate = success_rate({"success": good, "failed": bad, "timeout": late, "skipped": skipped, "cancelled": skipped})

    if good + bad + late == 0:
        assert rate is None
    else:
        assert rate == good / (good + bad + late)
        assert 0 <= rate <= 1


def test_no_durations_are_none_at_all() -> None:
    none = durations([])

    assert {getattr(none, name) for name in none.__slots__} == {None}


@given(ascending)
def test_durations_are_in_order(values: list[int]) -> None:
    summed = durations(values)

    assert summed.min_duration_ms == values[0]
    assert summed.max_duration_ms == values[-1]
    assert summed.avg_duration_ms == sum(values) / len(values)
    found = [summed.min_duration_ms, summed.p50_duration_ms, summed.p95_duration_ms, summed.p99_duration_ms]
    assert found == sorted(value for value in found if value is not None)


def test_the_busiest_hours_come_first_and_the_earlier_of_two_alike() -> None:
    by_hour = [0] * 24
    by_hour[3], by_hour[22], by_hour[9], by_hour[1] = 5, 7, 5, 1

    assert busiest_hours(by_hour) == [
        BusyHour(hour=22, count=7),
        BusyHour(hour=3, count=5),
        BusyHour(hour=9, count=5),
        BusyHour(hour=1, count=1),
    ]
    assert len(busiest_hours([1] * 24)) == BUSIEST
    assert busiest_hours([0] * 24) == []


def test_failure_patterns_come_by_count() -> None:
    def pattern(error_type: str, count: int) -> FailureFigures:
        return FailureFigures(error_type=error_type, count=count, last_seen=START, last_error=None)

    figures = ExecutionFigures(
        by_status={"success": 2, "failed": 4, "timeout": 2, "cancelled": 1, "skipped": 10},
        durations_ms=[5, 7],
        lateness_ms=[],
        failures=[pattern("b", 2), pattern("a", 2), pattern("c", 3)],
        by_hour=[0] * 24,
        last_started_at=START,
    )
    statistics = job_statistics(a_job(), figures)

    assert [failure.error_type for failure in statistics.failure_patterns] == ["c", "a", "b"]
    assert (statistics.total_executions, statistics.successful, statistics.failed) == (19, 2, 4)
    assert (statistics.timeout, statistics.cancelled, statistics.skipped) == (2, 1, 10)
    assert statistics.success_rate == 0.25


def test_ages_are_counted_from_the_stores_now_and_never_below_0() -> None:
    figures = QueueFigures(
        jobs_by_status={},
        ready=1,
        waiting=2,
        retrying=3,
        running=4,
        due_jobs=5,
        oldest_due=START - timedelta(seconds=90),
        oldest_ready=START + timedelta(seconds=1),
    )
    state = queue_state(figures, START)

    assert (state.oldest_due_seconds, state.oldest_ready_seconds) == (90, 0)


async def test_reports_add_up_what_is_stored(rig: Rig) -> None:
    def work(payload: int) -> None:
        rig.clock.advance(payload / 1000)
        if payload > 100:
            raise ValueError("too much")

    job = await rig.a_job(work, max_retries=0)
    for duration in (10, 20, 30, 200):
        await rig.scheduler.trigger_job(job.id, payload=duration)
        await rig.work()
    reports = Reports(rig.storage, DEFAULT_TENANT)

    statistics = await reports.job(await rig.job(job))
    metrics = await reports.metrics(Period.HOUR)

    assert (statistics.total_executions, statistics.success_rate) == (4, 0.75)
    assert (statistics.durations.min_duration_ms, statistics.durations.max_duration_ms) == (10, 30)
    assert [(failure.error_type, failure.count) for failure in statistics.failure_patterns] == [("ValueError", 1)]
    assert statistics.busiest_hours == [BusyHour(hour=0, count=4)]
    assert metrics.executions == {"success": 3, "failed": 1, "total": 4}
    assert metrics.generated_at - metrics.since == timedelta(hours=1)
    assert metrics.durations == statistics.durations


async def test_metrics_look_back_no_further_than_their_period(rig: Rig) -> None:
    await rig.trigger(await rig.a_job(lambda: None))
    await rig.work()
    rig.clock.advance(timedelta(hours=2))

    reports = Reports(rig.storage, DEFAULT_TENANT)

    assert (await reports.metrics(Period.HOUR)).executions == {"total": 0}
    assert (await reports.metrics(Period.HOUR)).success_rate is None
    assert (await reports.metrics(Period.DAY)).executions == {"success": 1, "total": 1}
    assert (await Reports(rig.storage, "another").metrics(Period.DAY)).executions == {"total": 0}
