from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at
from tests.makers import a_definition, a_job
from tocsin.domain.counters import JobCounters
from tocsin.domain.definition import document
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus, JobType, ScheduledJob
from tocsin.domain.plan import Plan, conclude, first_version, recorded, versioned


def changed(before: ScheduledJob, after: ScheduledJob) -> Plan:
    return versioned(before, Plan(job=after), at(5), by="ada", reason="because")


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
    st.none() | st.sampled_from([status for status in ExecutionStatus if status.terminal]),
    st.booleans(),
    st.integers(0, 2),
)
def test_a_job_ends_when_nothing_is_left_to_fire_or_to_finish(
    status: JobStatus, kind: JobType, last: ExecutionStatus | None, exhausted: object, live: int
) -> None:
    job = a_job(type=kind, status=status, exhausted=bool(exhausted), counters=JobCounters(live=live), next_run=None)

    concluded = conclude(job, last, at(9))

    over = exhausted and not live and status in {"active", "paused"}
    went_well = kind != "one_time" or last == "success"
    expected = status
    if over:
        expected = JobStatus.COMPLETED if went_well else JobStatus.FAILED if status == "active" else status
    assert concluded.status is expected
    assert (concluded == job) == (expected is status)
