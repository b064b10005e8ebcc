from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.domain.samples import at, count_id
from tests.makers import a_job, occurrences_of
from tocsin.domain.counters import JobCounters
from tocsin.domain.execution import ExecutionStatus, SkipReason
from tocsin.domain.firing import MAX_STEPS, catch_up, fire, next_fire, upcoming
from tocsin.domain.job import JobStatus, JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.plan import Plan, conclude


def every_minute(**fields: object) -> ScheduledJob:
    """A job at each full minute, never fired."""
    return a_job(schedule="* * * * *", type=JobType.CRON, **fields)


def fired(job: ScheduledJob, seconds: float) -> Plan:
    return fire(job, at(seconds), occurrences_of(job), count_id)


def story(plan: Plan) -> list[tuple[str, str]]:
    """Rows as (minute:second, what became of it)."""
    return [(f"{row.scheduled_at:%H:%M}", row.skip_reason or row.status) for row in plan.executions]


def test_an_execution_stands_for_its_nominal_time_whenever_it_is_made() -> None:
    plan = fired(every_minute(priority=90, max_retries=7, version=3), 75.5)

    (row,) = plan.executions
    assert (row.scheduled_at, row.created_at, row.available_at, row.dispatched_at) == (at(60), *[at(75.5)] * 3)
    assert (row.job_id, row.job_version, row.tenant_id) == (plan.job.id, 3, "default")
    assert (row.origin, row.status, row.priority, row.max_retries) == ("schedule", "pending", 90, 7)
    assert (row.holds_slot, row.attempt, row.failures) == (True, 0, 0)
    assert (plan.job.next_run, plan.job.last_run, plan.job.last_nominal) == (at(120), at(60), at(60))
    assert (plan.job.version, plan.change) == (3, None)


def test_nothing_fires_before_its_time_and_the_exact_time_is_due() -> None:
    job = every_minute()

    assert fired(job, 59.999999) == Plan(job=job)
    assert story(fired(job, 60)) == [("00:01", "pending")]


@pytest.mark.parametrize("status", [status for status in JobStatus if status is not JobStatus.ACTIVE])
def test_only_an_active_job_fires(status: JobStatus) -> None:
    job = every_minute(status=status, next_run=at(60))

    assert fired(job, 90) == Plan(job=job)


def test_late_by_exactly_the_grace_is_on_time_and_a_microsecond_more_is_not() -> None:
    job = every_minute(misfire_grace_seconds=30, misfire_policy=MisfirePolicy.SKIP)

    assert story(fired(job, 90)) == [("00:01", "pending")]
    assert story(fired(job, 90.000001)) == [("00:01", "misfire")]


def test_run_once_runs_the_newest_missed_fire_if_none_is_on_time() -> None:
    job = every_minute(misfire_grace_seconds=10)

    plan = fired(job, 10 * 60 + 30)

    assert story(plan) == [("00:01", "misfire"), ("00:10", "pending")]
    assert (plan.executions[0].covers_until, plan.executions[0].covers_count) == (at(9 * 60), 9)
    assert plan.executions[0].completed_at == at(10 * 60 + 30)


@pytest.mark.parametrize("seconds", [600, 605, 610])
def test_run_once_runs_no_missed_fire_beside_one_that_is_on_time(seconds: int) -> None:
    plan = fired(every_minute(misfire_grace_seconds=10), seconds)

    assert story(plan) == [("00:01", "misfire"), ("00:10", "pending")]


def test_a_new_execution_does_not_overtake_those_that_wait() -> None:
    job = every_minute(concurrency=2, overlap_policy=OverlapPolicy.QUEUE_ALL)
    job = replace(job, counters=JobCounters(slots_taken=1, waiting=1, live=2))

    plan = fired(job, 60)

    assert (plan.executions[0].available_at, plan.executions[0].holds_slot) == (None, False)
    assert plan.job.counters.waiting == 2


def test_run_all_queues_the_newest_up_to_its_cap_whatever_the_overlap_policy() -> None:
    job = every_minute(misfire_grace_seconds=10, misfire_policy=MisfirePolicy.RUN_ALL, max_catchup=3)

    plan = fired(job, 10 * 60 + 30)

    assert story(plan) == [("00:01", "misfire"), ("00:08", "pending"), ("00:09", "pending"), ("00:10", "pending")]
    assert [row.available_at is not None for row in plan.executions[1:]] == [True, False, False]
    assert (plan.job.counters.slots_taken, plan.job.counters.waiting, plan.job.counters.live) == (1, 2, 3)


def test_a_fire_on_time_after_a_catch_up_meets_the_overlap_policy() -> None:
    job = every_minute(misfire_grace_seconds=10, misfire_policy=MisfirePolicy.RUN_ALL)

    assert story(fired(job, 185)) == [("00:01", "pending"), ("00:02", "pending"), ("00:03", "overlap")]


@pytest.mark.parametrize("policy", [MisfirePolicy.RUN_ONCE, MisfirePolicy.RUN_ALL])
def test_what_is_older_than_the_window_never_runs(policy: MisfirePolicy) -> None:
    job = every_minute(misfire_grace_seconds=10, misfire_policy=policy, catchup_window_seconds=90, end_date=at(60))

    assert story(fired(job, 150)) == [("00:01", "pending")]
    assert story(fired(job, 151)) == [("00:01", "misfire")]


def test_run_all_finds_the_newest_also_when_they_lie_beyond_the_steps_of_one_plan() -> None:
    job = a_job(schedule="every 1s", misfire_policy=MisfirePolicy.RUN_ALL, misfire_grace_seconds=0, max_catchup=150)
    source = occurrences_of(job)

    plan = catch_up(job, at(2500.5), source, count_id)

    ran = [row.scheduled_at for row in plan.executions if row.skip_reason is None]
    assert ran == [at(second) for second in range(2351, 2501)]
    assert [row.covers_count for row in plan.executions if row.skip_reason] == [2350]


def test_one_plan_walks_through_a_thousand_and_leaves_the_job_due() -> None:
    job = a_job(schedule="every 1s", misfire_grace_seconds=86_400, overlap_policy=OverlapPolicy.QUEUE_ALL)

    plan = fired(job, 5000)

    assert len(plan.executions) == MAX_STEPS
    assert (plan.job.next_run, plan.job.last_nominal) == (at(1001), at(1000))


@pytest.mark.parametrize("policy", MisfirePolicy)
def test_a_year_of_missed_seconds_is_one_row_and_one_plan(policy: MisfirePolicy) -> None:
    job = a_job(
        type=JobType.CRON,
        schedule="* * * * * *",
        timezone="Europe/Berlin",
        misfire_policy=policy,
        misfire_grace_seconds=0,
        next_run=at(1),
    )
    year = 365 * 86_400

    plan = catch_up(job, at(year + 0.5), occurrences_of(job), count_id)

    [skipped, *ran] = plan.executions
    assert (skipped.covers_count or 0) + len(ran) == year
    assert len(ran) == {"skip": 0, "run_once": 1, "run_all": 100}[policy]
    assert plan.job.next_run == at(year + 1)


@pytest.mark.parametrize(
    ("policy", "fates"),
    [
        (OverlapPolicy.SKIP, ["pending", "overlap"]),
        (OverlapPolicy.QUEUE_ONE, ["pending", "pending", "overlap"]),
        (OverlapPolicy.QUEUE_ALL, ["pending"] * 5),
        (OverlapPolicy.ALLOW_ALL, ["pending"] * 5),
    ],
)
def test_the_overlap_policy_says_what_becomes_of_five_fires_at_once(policy: OverlapPolicy, fates: list[str]) -> None:
    plan = fired(every_minute(overlap_policy=policy, misfire_grace_seconds=600), 300)

    assert [fate for _, fate in story(plan)] == fates


def test_allow_all_gives_everyone_a_slot_so_that_a_later_limit_counts_them() -> None:
    plan = fired(every_minute(overlap_policy=OverlapPolicy.ALLOW_ALL, misfire_grace_seconds=600), 300)

    assert all(row.available_at == at(300) and row.holds_slot for row in plan.executions)
    assert (plan.job.counters.slots_taken, plan.job.counters.waiting, plan.job.counters.live) == (5, 0, 5)


@pytest.mark.parametrize("limit", [1, 3])
def test_max_executions_is_exact_and_skips_do_not_count(limit: int) -> None:
    job = every_minute(max_executions=limit, overlap_policy=OverlapPolicy.QUEUE_ALL, misfire_grace_seconds=125)

    plan = fired(job, 600)

    assert [fate for _, fate in story(plan)] == ["misfire", *["pending"] * limit]
    assert plan.job.counters.scheduled_count == limit
    assert (plan.job.next_run, plan.job.exhausted, plan.job.status) == (None, True, JobStatus.ACTIVE)


def test_start_date_and_end_date_fire_themselves() -> None:
    job = every_minute(start_date=at(120), end_date=at(240), misfire_grace_seconds=3600)

    assert job.next_run == at(120)
    assert [time.at for time in upcoming(job, at(0), occurrences_of(job))] == [at(120), at(180), at(240)]
    assert fired(job, 240).job.next_run is None


def test_a_clock_set_back_fires_nothing_twice() -> None:
    once = fired(every_minute(), 60).job

    assert fired(once, -3600) == Plan(job=once)
    assert next_fire(once, at(-3600), occurrences_of(once)) == at(120)


def test_a_job_with_nothing_left_stays_active_until_its_last_execution_ended() -> None:
    job = fired(every_minute(end_date=at(60)), 60).job
    assert (job.status, job.next_run, job.exhausted) == (JobStatus.ACTIVE, None, True)
    assert conclude(job, at(70)) == job

    ended = replace(job, counters=job.counters.ended(ExecutionStatus.FAILED, 1))

    assert conclude(ended, at(70)).status is JobStatus.COMPLETED
    assert conclude(ended, at(70)).completed_at == at(70)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"type": JobType.RECURRING, "schedule": "every 1m", "end_date": at(60)}, JobStatus.COMPLETED),
        ({"type": JobType.ONE_TIME, "schedule": "2026-01-01T00:01:00Z"}, JobStatus.FAILED),
    ],
)
def test_a_job_whose_last_nominal_time_is_skipped_is_over_at_once(fields: dict[str, Any], status: JobStatus) -> None:
    job = a_job(**fields, misfire_policy=MisfirePolicy.SKIP)

    plan = fired(job, 3600)

    assert story(plan) == [("00:01", "misfire")]
    assert (plan.job.status, plan.job.next_run, plan.job.version) == (status, None, 2)
    assert plan.change is not None
    assert (plan.change.version, plan.change.changed_by, plan.change.reason) == (2, None, "nothing left to fire")


def test_a_job_that_made_all_it_may_but_is_still_due_ends_without_forgetting_its_last_nominal_time() -> None:
    job = every_minute(max_executions=1)
    job = replace(fired(job, 60).job, next_run=at(120))

    plan = fired(job, 130)

    assert (plan.executions, plan.job.next_run, plan.job.last_nominal) == ((), None, at(60))
    assert plan.job.exhausted


def test_reasons_in_turn_are_rows_in_turn() -> None:
    job = every_minute(misfire_grace_seconds=150)
    job = replace(job, counters=replace(job.counters, slots_taken=1, live=1))

    plan = fired(job, 300)

    assert [(row.skip_reason, row.covers_count) for row in plan.executions] == [
        (SkipReason.MISFIRE, 2),
        (SkipReason.OVERLAP, 3),
    ]
