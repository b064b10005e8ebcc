from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.domain.samples import at, count_id, moment
from tests.domain.stories import NOON, created, ended, every_minute, nominals, once, refused_fields
from tests.makers import a_definition, a_job, occurrences_of
from tocsin.domain.errors import InvalidJob, InvalidTransition
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.firing import fire
from tocsin.domain.job import JobStatus, JobType, MisfirePolicy
from tocsin.domain.lifecycle import cancel, delete, pause, resume, unplannable
from tocsin.domain.plan import Plan, recorded


def test_a_new_job_is_active_and_knows_its_first_fire() -> None:
    job = created(a_definition(schedule="every 10s"), 2.5)

    assert (job.status, job.next_run, job.version, job.exhausted) == (JobStatus.ACTIVE, at(12), 1, False)
    assert (job.tenant_id, job.created_by, job.created_at, job.updated_at) == ("acme", "ada", at(2.5), at(2.5))


def test_a_job_made_paused_has_no_next_run_until_resumed() -> None:
    job = created(a_definition(), paused=True)
    assert (job.status, job.next_run, job.version) == (JobStatus.PAUSED, None, 1)

    resumed = resume(job, moment(90)).job

    assert (resumed.status, resumed.next_run, resumed.version) == (JobStatus.ACTIVE, at(120), 2)


def test_an_event_job_has_no_timer_and_is_never_over() -> None:
    job = created(a_definition(type=JobType.EVENT, schedule=None))

    assert (job.status, job.next_run, job.exhausted) == (JobStatus.ACTIVE, None, False)


def test_start_date_fires_itself() -> None:
    assert created(a_definition(schedule="every 1h", start_date=at(5))).next_run == at(5)
    assert created(a_definition(schedule="every 1h", start_date=at(0))).next_run == at(3600)


@pytest.mark.parametrize("past", [-3600, 0, 59, 60])
def test_a_one_time_instant_may_lie_up_to_60_seconds_in_the_past(past: int) -> None:
    assert created(once(0), past).next_run == at(0)


@pytest.mark.parametrize("past", [60.000001, 61, 3600])
def test_an_older_one_time_instant_is_refused(past: float) -> None:
    assert refused_fields(lambda: created(once(0), past)) == ["execute_at"]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"end_date": at(NOON - 1)}, "end_date"),
        ({"end_date": at(NOON - 1), "start_date": at(0)}, "end_date"),
        ({"end_date": at(NOON + 59)}, "end_date"),
        ({"schedule": "every 1h", "start_date": at(NOON - 3600), "end_date": at(NOON + 5)}, "end_date"),
        ({"schedule": "0 0 30 2 *"}, "schedule"),
        ({"schedule": "every now and then"}, "schedule"),
        ({"schedule": "every 1h", "type": JobType.CRON}, "schedule"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"type": JobType.EVENT, "schedule": None, "timezone": "Mars/Olympus"}, "timezone"),
        ({"type": JobType.ONE_TIME, "schedule": at(NOON + 5).isoformat(), "end_date": at(NOON + 4)}, "end_date"),
        ({"type": JobType.ONE_TIME, "schedule": at(NOON + 5).isoformat(), "start_date": at(NOON + 6)}, "start_date"),
    ],
)
def test_a_schedule_that_never_fires_is_refused_by_the_field_to_blame(fields: dict[str, Any], named: str) -> None:
    definition = a_definition(**{"type": JobType.CRON, "schedule": "* * * * *", **fields})
    if str(definition.schedule).startswith("every 1h") and "type" not in fields:
        definition = replace(definition, type=JobType.INTERVAL)

    assert refused_fields(lambda: created(definition, NOON)) == [named]


def test_end_date_is_inclusive() -> None:
    definition = a_definition(type=JobType.CRON, schedule="* * * * *", end_date=at(NOON + 60))

    assert created(definition, NOON).next_run == at(NOON + 60)


def test_a_definition_beyond_its_bounds_is_refused() -> None:
    with pytest.raises(InvalidJob, match="priority"):
        created(a_definition(priority=101))


def test_a_pause_does_not_swallow_what_was_due_and_not_yet_fired() -> None:
    job = every_minute()

    plan = pause(job, moment(NOON + 5))

    assert nominals(plan) == [0]
    assert plan.executions[0].status is ExecutionStatus.PENDING
    assert (plan.job.status, plan.job.next_run, plan.job.last_nominal) == (JobStatus.PAUSED, None, at(NOON))
    assert plan.change is not None
    assert (plan.job.version, plan.change.version, plan.change.changed_by) == (2, 2, "ada")
    assert (plan.change.before, plan.change.after) == (recorded(job), recorded(plan.job))


def test_a_pause_leaves_what_runs_alone() -> None:
    assert not pause(every_minute(), moment(NOON - 5)).cancels_open


def test_a_week_in_pause_does_not_burst() -> None:
    paused = pause(every_minute(), moment(NOON + 5)).job
    week = NOON + 7 * 86_400

    plan = resume(paused, moment(week + 1))

    assert (plan.executions, plan.job.next_run, plan.job.version) == ((), at(week + 60), 3)


def test_a_resume_repeats_nothing_also_with_the_clock_set_back_an_hour() -> None:
    paused = pause(every_minute(), moment(NOON + 5)).job

    resumed = resume(paused, moment(NOON - 3600)).job

    assert resumed.next_run == at(NOON + 60)
    assert fire(resumed, at(NOON + 59), occurrences_of(resumed), count_id).executions == ()


def test_a_pause_with_the_clock_set_back_fires_nothing() -> None:
    assert pause(every_minute(), moment(NOON - 3600)).executions == ()


@pytest.mark.parametrize("status", [status for status in JobStatus if status is not JobStatus.PAUSED])
def test_only_a_paused_job_is_resumed(status: JobStatus) -> None:
    with pytest.raises(InvalidTransition):
        resume(every_minute(status=status, next_run=None), moment(NOON))


@pytest.mark.parametrize("status", [status for status in JobStatus if status is not JobStatus.ACTIVE])
def test_only_an_active_job_is_paused(status: JobStatus) -> None:
    with pytest.raises(InvalidTransition):
        pause(every_minute(status=status, next_run=None), moment(NOON))


def test_a_job_resumed_with_nothing_left_is_over() -> None:
    paused = pause(every_minute(end_date=at(NOON + 60)), moment(NOON - 1)).job

    plan = resume(paused, moment(NOON + 61))

    assert (plan.job.status, plan.job.completed_at, plan.job.version) == (JobStatus.COMPLETED, at(NOON + 61), 3)


def test_a_one_time_job_whose_instant_passed_in_its_pause_has_failed_when_resumed() -> None:
    paused = pause(created(once(100)), moment(50)).job

    assert resume(paused, moment(101)).job.status is JobStatus.FAILED


@pytest.mark.parametrize(
    ("status", "then"), [(ExecutionStatus.SUCCESS, JobStatus.COMPLETED), (ExecutionStatus.FAILED, JobStatus.PAUSED)]
)
def test_a_paused_one_time_job_completes_with_its_execution_but_fails_only_when_resumed(
    status: ExecutionStatus, then: JobStatus
) -> None:
    plan = pause(created(once(100)), moment(101))
    job, _ = ended(plan.job, plan.executions[0], status, 110)

    assert job.status is then
    if then is JobStatus.PAUSED:
        assert resume(job, moment(120)).job.status is JobStatus.FAILED


@pytest.mark.parametrize("status", [JobStatus.PENDING, JobStatus.ACTIVE, JobStatus.PAUSED])
def test_cancelling_ends_the_job_and_all_that_is_open(status: JobStatus) -> None:
    plan = cancel(every_minute(status=status, next_run=at(NOON) if status == "active" else None), moment(NOON + 5))

    assert (plan.job.status, plan.job.next_run, plan.job.cancelled_at) == (JobStatus.CANCELLED, None, at(NOON + 5))
    assert (plan.cancels_open, plan.job.version) == (True, 2)
    assert nominals(plan) == ([0] if status is JobStatus.ACTIVE else [])


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED])
def test_what_has_ended_is_not_cancelled(status: JobStatus) -> None:
    with pytest.raises(InvalidTransition):
        cancel(every_minute(status=status, next_run=None), moment(NOON))


@pytest.mark.parametrize("status", JobStatus)
def test_any_job_can_be_deleted_and_keeps_how_it_ended(status: JobStatus) -> None:
    plan = delete(every_minute(status=status, next_run=at(NOON) if status == "active" else None), moment(NOON + 5))

    live = status in {JobStatus.PENDING, JobStatus.ACTIVE, JobStatus.PAUSED}
    assert plan.job.status is (JobStatus.CANCELLED if live else status)
    assert (plan.job.deleted_at, plan.job.deleted_by, plan.job.next_run) == (at(NOON + 5), "ada", None)
    assert (plan.cancels_open, plan.job.version) == (True, 2)
    assert plan.change is not None
    assert plan.change.reason == "deleted"


def test_a_job_that_cannot_be_planned_fails_and_says_why() -> None:
    plan = unplannable(every_minute(), at(NOON), "no such zone")

    assert (plan.job.status, plan.job.next_run, plan.job.version) == (JobStatus.FAILED, None, 2)
    assert plan.change is not None
    assert (plan.change.changed_by, plan.change.reason) == (None, "the schedule cannot be computed: no such zone")


@pytest.mark.parametrize("change", [pause, cancel, delete])
def test_every_change_first_accounts_for_a_long_absence_in_full(change: Callable[..., Plan]) -> None:
    job = a_job(schedule="every 1s", misfire_policy=MisfirePolicy.SKIP)

    plan = change(job, moment(5000))

    assert [row.covers_count for row in plan.executions] == [4939, None, 60]
    assert sum(row.covers_count or 1 for row in plan.executions) == 5000
