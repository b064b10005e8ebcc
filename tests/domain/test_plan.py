from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at
from tests.makers import START, a_definition, a_job, planner
from tocsin.domain.counters import JobCounters
from tocsin.domain.definition import document
from tocsin.domain.execution import ExecutionStatus, Origin
from tocsin.domain.job import JobStatus, JobType, OverlapPolicy, ScheduledJob
from tocsin.domain.plan import (
    Plan,
    conclude,
    concluded,
    first_version,
    is_at_stake,
    is_plain_fire,
    recorded,
    versioned,
    with_outcome,
)

ENDS = st.none() | st.sampled_from([status for status in ExecutionStatus if status.terminal])


def changed(before: ScheduledJob, after: ScheduledJob) -> Plan:
    return versioned(before, Plan(job=after), at(5), by="ada", reason="because")


def test_a_fire_is_plain_if_its_one_execution_has_a_slot_and_nothing_waits() -> None:
    job = replace(a_job(overlap_policy=OverlapPolicy.ALLOW_ALL), next_run=START)

    plan = planner(job, START)

    assert is_plain_fire(plan)
    assert not is_plain_fire(Plan(job=job))
    assert not is_plain_fire(planner(job, START + timedelta(minutes=1)))
    assert not is_plain_fire(replace(plan, job=replace(plan.job, counters=JobCounters(waiting=1))))
    assert not is_plain_fire(changed(job, replace(job, status=JobStatus.PAUSED)))


@pytest.mark.parametrize("counters", [JobCounters(slots_taken=1), JobCounters(waiting=1)])
def test_a_fire_that_is_skipped_or_waits_is_not_plain(counters: JobCounters) -> None:
    for policy in (OverlapPolicy.SKIP, OverlapPolicy.QUEUE_ALL):
        job = replace(a_job(overlap_policy=policy), next_run=START, counters=counters)

        assert not is_plain_fire(planner(job, START))


@pytest.mark.parametrize(
    "fields",
    [
        {"status": JobStatus.PAUSED},
        {"deleted_at": at(5)},
        {"definition": a_definition(name="another")},
        {"definition": a_definition(payload={"urgent": True})},
    ],
)
def test_a_change_of_definition_status_or_deletion_is_one_version_with_both_sides_on_record(
    fields: dict[str, object],
) -> None:
    before = a_job(version=7, definition=a_definition(payload={"urgent": 1}))
    after = replace(before, **fields)  # type: ignore[arg-type]

    plan = changed(before, after)

    assert plan.change is not None
    assert (plan.job.version, plan.job.updated_at) == (8, at(5))
    assert (plan.change.version, plan.change.changed_at, plan.change.changed_by) == (8, at(5), "ada")
    assert (plan.change.job_id, plan.change.tenant_id, plan.change.reason) == (before.id, "default", "because")
    assert (plan.change.before, plan.change.after) == (recorded(before), recorded(after))


def test_fires_and_counters_are_no_version() -> None:
    before = a_job()
    after = replace(before, next_run=at(9), last_nominal=at(8), counters=JobCounters(live=1), exhausted=True)

    assert changed(before, after) == Plan(job=after)


def test_the_order_of_an_objects_keys_is_no_version() -> None:
    before = a_job(payload={"a": 1, "b": [{"c": 1, "d": 2}]})
    after = replace(before, definition=replace(before.definition, payload={"b": [{"d": 2, "c": 1}], "a": 1}))

    assert changed(before, after).change is None


def test_two_steps_on_the_way_are_one_version() -> None:
    before = a_job(version=3)
    step = changed(before, before.to(JobStatus.COMPLETED, at(1)))

    plan = versioned(before, replace(step, job=replace(step.job, deleted_at=at(2))), at(2), by="bob", reason="deleted")

    assert plan.change is not None
    assert (plan.job.version, plan.change.version, plan.change.changed_by) == (4, 4, "bob")
    assert plan.change.before == recorded(before)


def test_a_way_back_to_the_start_is_no_version() -> None:
    before = a_job(version=3)
    step = changed(before, before.to(JobStatus.FAILED, at(1)))

    plan = versioned(before, replace(step, job=step.job.to(JobStatus.ACTIVE, at(2))), at(2), by="bob", reason="retried")

    assert (plan.change, plan.job.version, plan.job.updated_at) == (None, 3, before.updated_at)


def test_the_first_version_has_nothing_before_it() -> None:
    job = a_job(created_by="ada")

    first = first_version(job)

    assert (first.version, first.changed_at, first.changed_by, first.before) == (1, job.created_at, "ada", None)
    assert first.after == {"definition": document(job.definition), "status": "active", "deleted": False}


@given(
    st.sampled_from(JobStatus),
    st.sampled_from(JobType),
    ENDS,
    st.booleans(),
    st.integers(0, 2),
)
def test_a_job_ends_when_nothing_is_left_to_fire_or_to_finish(
    status: JobStatus,
    kind: JobType,
    outcome: ExecutionStatus | None,
    exhausted: object,
    live: int,
) -> None:
    counted = JobCounters(live=live)
    job = a_job(type=kind, status=status, exhausted=bool(exhausted), outcome=outcome, counters=counted, next_run=None)

    concluded = conclude(job, at(9))

    over = exhausted and not live and status in {"active", "paused"}
    went_well = kind != "one_time" or outcome == "success"
    expected = status
    if over:
        expected = JobStatus.COMPLETED if went_well else JobStatus.FAILED if status == "active" else status
    assert concluded.status is expected
    assert (concluded == job) == (expected is status)


def test_the_end_of_a_job_is_a_version_of_its_own() -> None:
    job = a_job(version=3, exhausted=True, next_run=None)

    plan = concluded(job, at(9))

    assert plan.change is not None
    assert (plan.job.status, plan.job.version, plan.change.reason) == ("completed", 4, "nothing left to fire")
    assert concluded(plan.job, at(10)) == Plan(job=plan.job)


@given(st.sampled_from(JobType), st.sampled_from(Origin), st.sampled_from(ExecutionStatus), st.integers(0, 2))
def test_an_outcome_is_taken_down_for_the_nominal_time_of_a_one_time_job_alone(
    kind: JobType, origin: Origin, status: ExecutionStatus, seconds: int
) -> None:
    job = replace(a_job(last_nominal=at(1)), definition=a_definition(type=kind))

    told = with_outcome(job, status, origin=origin, scheduled_at=at(seconds))

    counts = kind == "one_time" and origin in {"schedule", "retry"} and status.terminal and seconds == 1
    assert told.outcome == (status if counts else None)
    assert replace(told, outcome=None) == job


@given(
    kind=st.sampled_from(JobType),
    stands=st.fixed_dictionaries(
        {
            "status": st.sampled_from(JobStatus),
            "exhausted": st.booleans(),
            "counters": st.builds(JobCounters, live=st.integers(0, 1)),
        }
    ),
    end=st.sampled_from(ExecutionStatus),
    origin=st.sampled_from(Origin),
)
def test_the_end_of_an_execution_leaves_a_job_that_is_not_at_stake_as_it_is(
    kind: JobType, stands: dict[str, Any], end: ExecutionStatus, origin: Origin
) -> None:
    job = replace(a_job(), **stands, definition=replace(a_definition(), type=kind), last_nominal=at(3))

    after = concluded(with_outcome(job, end, origin=origin, scheduled_at=at(3)), at(5)).job

    assert after == job or is_at_stake(exhausted=job.exhausted, job_type=kind.value)
