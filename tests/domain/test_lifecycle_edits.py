from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.domain.samples import at, count_id, moment
from tests.domain.stories import NOON, created, every_minute, nominals, once, refused_fields
from tests.makers import a_definition, a_job, occurrences_of
from tocsin.domain.errors import InvalidTransition
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.firing import fire
from tocsin.domain.job import JobStatus, JobType, ScheduledJob
from tocsin.domain.lifecycle import pause, update
from tocsin.domain.plan import conclude, recorded


def test_an_update_that_changes_nothing_leaves_the_version_and_still_fires_what_is_due() -> None:
    job = every_minute()

    plan = update(job, a_definition(**vars_of(job)), moment(NOON + 5))

    assert (plan.job.version, plan.change, nominals(plan)) == (1, None, [0])
    assert plan.job.next_run == at(NOON + 60)


def vars_of(job: ScheduledJob) -> dict[str, object]:
    return {name: getattr(job.definition, name) for name in job.definition.__slots__}


def test_an_edit_of_the_interval_counts_afresh_from_the_anchor_and_repeats_nothing() -> None:
    job = a_job(schedule="every 1h", next_run=at(3600))

    plan = update(job, replace(job.definition, schedule="every 7m"), moment(3600 + 30))

    assert [row.scheduled_at for row in plan.executions] == [at(3600)]
    assert (plan.job.next_run, plan.job.version) == (at(9 * 420), 2)
    assert plan.change is not None
    assert (plan.change.before, plan.change.after) == (recorded(job), recorded(plan.job))


def test_an_edit_of_anything_else_keeps_next_run() -> None:
    job = every_minute(next_run=at(NOON + 180))

    plan = update(job, replace(job.definition, priority=90, concurrency=3), moment(NOON + 5))

    assert (plan.job.next_run, plan.job.version, plan.executions) == (at(NOON + 180), 2, ())


def test_an_edited_zone_or_bound_computes_next_run_afresh() -> None:
    job = a_job(type=JobType.CRON, schedule="0 12 * * *")

    assert update(job, replace(job.definition, timezone="Europe/Berlin"), moment(5)).job.next_run == at(NOON - 3600)
    assert update(job, replace(job.definition, start_date=at(NOON + 1)), moment(5)).job.next_run == at(NOON + 86_400)


def test_a_paused_job_stays_paused_through_an_edit() -> None:
    job = pause(every_minute(), moment(NOON - 5)).job

    edited = update(job, replace(job.definition, schedule="*/5 * * * *"), moment(NOON)).job

    assert (edited.status, edited.next_run, edited.version) == (JobStatus.PAUSED, None, 3)


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED])
def test_a_job_that_ended_is_active_again_when_rescheduled(status: JobStatus) -> None:
    job = every_minute(status=status, next_run=None, exhausted=True, completed_at=at(1))

    plan = update(job, replace(job.definition, schedule="*/5 * * * *"), moment(NOON + 5))

    assert (plan.job.status, plan.job.next_run, plan.job.completed_at) == (JobStatus.ACTIVE, at(NOON + 300), None)
    assert (plan.job.exhausted, plan.job.version) == (False, 2)


def test_a_job_that_ended_stays_ended_through_an_edit_of_anything_else() -> None:
    job = every_minute(status=JobStatus.COMPLETED, next_run=None, exhausted=True)

    assert update(job, replace(job.definition, priority=90), moment(NOON)).job.status is JobStatus.COMPLETED


def test_a_cancelled_job_is_not_changed() -> None:
    job = every_minute(status=JobStatus.CANCELLED, next_run=None)

    with pytest.raises(InvalidTransition):
        update(job, replace(job.definition, priority=90), moment(NOON))


def test_an_edit_that_leaves_nothing_to_fire_is_refused_by_the_field_to_blame() -> None:
    job = every_minute(counters=replace(a_job().counters, scheduled_count=3))

    def edit(**fields: Any) -> list[str]:  # noqa: ANN401 - fields of a definition
        return refused_fields(lambda: update(job, replace(job.definition, **fields), moment(NOON - 5)))

    assert edit(max_executions=3) == ["max_executions"]
    assert edit(end_date=at(NOON - 1)) == ["end_date"]
    assert edit(type=JobType.ONE_TIME, schedule=at(NOON - 60).isoformat()) == ["execute_at"]
    assert edit(type=JobType.ONE_TIME, schedule=at(NOON).isoformat(), max_executions=3) == ["max_executions"]


def test_a_bound_on_executions_counts_those_already_made() -> None:
    job = every_minute(counters=replace(a_job().counters, scheduled_count=3))

    bounded = update(job, replace(job.definition, max_executions=4), moment(NOON - 5)).job
    plan = fire(bounded, at(NOON), occurrences_of(bounded), count_id)

    assert (len(plan.executions), plan.job.next_run) == (1, None)


def test_a_completed_one_time_job_can_be_given_another_instant() -> None:
    job = created(once(100))
    job = fire(job, at(100), occurrences_of(job), count_id).job
    job = conclude(replace(job, counters=replace(job.counters, live=0), outcome=ExecutionStatus.SUCCESS), at(101))

    assert update(job, once(500), moment(200)).job.next_run == at(500)
    assert refused_fields(lambda: update(job, replace(once(100), timezone="Europe/Berlin"), moment(120))) == [
        "execute_at"
    ]


def test_a_job_may_turn_into_one_without_a_timer_and_back() -> None:
    job = every_minute()
    timerless = update(job, replace(job.definition, type=JobType.EVENT, schedule=None), moment(NOON - 5)).job
    assert (timerless.status, timerless.next_run, timerless.exhausted) == (JobStatus.ACTIVE, None, False)

    assert update(timerless, job.definition, moment(NOON + 5)).job.next_run == at(NOON + 60)


def test_what_a_definition_is_given_is_what_any_store_can_keep() -> None:
    job = created(a_definition(payload={"rate": float("nan"), "pair": (1, 2)}))
    assert job.definition.payload == {"rate": None, "pair": [1, 2]}

    edited = update(job, replace(job.definition, payload={"text": "\ud800"}), moment(5)).job

    assert edited.definition.payload == {"text": "\ufffd"}
