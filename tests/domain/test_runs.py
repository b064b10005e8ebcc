from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.domain.samples import at, count_id, moment
from tests.domain.stories import NOON, PLAIN_RUN, created, ended, every_minute, once
from tests.makers import a_job, occurrences_of
from tocsin.domain.errors import InvalidJob, InvalidTransition
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin
from tocsin.domain.firing import fire
from tocsin.domain.job import JobStatus, MisfirePolicy, OverlapPolicy
from tocsin.domain.lifecycle import unplannable
from tocsin.domain.new_execution import new_execution
from tocsin.domain.runs import ManualRun, retry, trigger
from tocsin.domain.trace import TraceContext, span_of


def test_a_run_by_hand_consumes_no_nominal_time() -> None:
    job = every_minute()

    caller = TraceContext(trace_id="a" * 32, span_id="b" * 16, flags=0, tracestate="v=1")
    now = replace(moment(NOON), trace=caller)

    plan = trigger(job, now, ManualRun(payload={"a": (1,)}, idempotency_key="k"))

    assert [row.origin for row in plan.executions] == [Origin.SCHEDULE, Origin.MANUAL]
    row = plan.executions[-1]
    assert (row.payload, row.idempotency_key) == ({"a": [1]}, "k")
    assert row.trace == caller.under(span_of(row.id))
    assert row.parent_span_id == caller.span_id
    assert (plan.job.next_run, plan.job.last_nominal, plan.job.counters.scheduled_count) == (at(NOON + 60), at(NOON), 1)
    assert (plan.job.version, plan.change) == (1, None)


def test_runs_by_hand_queue_whatever_the_overlap_policy() -> None:
    job = every_minute(concurrency=2)
    rows: list[JobExecution] = []
    for _ in range(5):
        plan = trigger(job, moment(NOON - 5), PLAIN_RUN)
        job, rows = plan.job, [*rows, *plan.executions]

    assert [row.holds_slot for row in rows] == [True, True, False, False, False]
    assert (job.counters.slots_taken, job.counters.waiting, job.counters.live) == (2, 3, 5)


def test_a_run_by_hand_of_an_allow_all_job_never_waits() -> None:
    plan = trigger(every_minute(overlap_policy=OverlapPolicy.ALLOW_ALL), moment(NOON - 5), PLAIN_RUN)

    assert (plan.executions[0].available_at, plan.executions[0].holds_slot) == (at(NOON - 5), True)


@pytest.mark.parametrize("status", [JobStatus.PAUSED, JobStatus.COMPLETED, JobStatus.FAILED])
def test_a_job_that_does_not_fire_still_runs_by_hand_and_stays_as_it_is(status: JobStatus) -> None:
    plan = trigger(every_minute(status=status, next_run=None), moment(NOON), PLAIN_RUN)

    assert ([row.origin for row in plan.executions], plan.job.status) == ([Origin.MANUAL], status)
    job, _ = ended(plan.job, plan.executions[0], ExecutionStatus.SUCCESS, NOON + 1)
    assert job.status is status


@pytest.mark.parametrize("status", [JobStatus.PENDING, JobStatus.CANCELLED])
def test_a_job_that_waits_or_is_cancelled_does_not_run_by_hand(status: JobStatus) -> None:
    with pytest.raises(InvalidTransition):
        trigger(every_minute(status=status, next_run=None), moment(NOON), PLAIN_RUN)


def test_a_payload_that_no_store_can_keep_is_refused() -> None:
    with pytest.raises(InvalidJob, match="payload"):
        trigger(every_minute(), moment(NOON), ManualRun(payload="x" * 300_000))


def a_row(status: ExecutionStatus, **fields: Any) -> JobExecution:  # noqa: ANN401 - fields of an execution
    row = new_execution(a_job(), at(NOON - 60), now=at(NOON - 60), execution_id=count_id(at(0)))
    return replace(row, status=status, **fields)


@pytest.mark.parametrize("status", [ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT])
def test_a_retry_is_a_new_execution_of_the_same_nominal_time(status: ExecutionStatus) -> None:
    failed = a_row(status, payload={"a": 1}, correlation_id="c", trace_id="t", span_id="s", failures=4, attempt=4)

    plan = retry(every_minute(), failed, moment(NOON - 5))

    (row,) = plan.executions
    assert (row.origin, row.retry_of, row.scheduled_at) == (Origin.RETRY, failed.id, at(NOON - 60))
    assert (row.payload, row.correlation_id, row.trace_id, row.parent_span_id) == ({"a": 1}, "c", "t", "s")
    assert (row.attempt, row.failures, row.status, row.holds_slot) == (0, 0, ExecutionStatus.PENDING, True)
    assert (plan.job.counters.scheduled_count, plan.job.version) == (0, 1)


@pytest.mark.parametrize("status", [status for status in ExecutionStatus if status not in {"failed", "timeout"}])
def test_only_what_failed_or_timed_out_is_retried(status: ExecutionStatus) -> None:
    with pytest.raises(InvalidTransition):
        retry(every_minute(), a_row(status), moment(NOON))


def test_nothing_of_a_cancelled_job_is_retried() -> None:
    with pytest.raises(InvalidTransition):
        retry(every_minute(status=JobStatus.CANCELLED), a_row(ExecutionStatus.FAILED), moment(NOON))


@pytest.mark.parametrize(
    ("status", "then"), [(ExecutionStatus.SUCCESS, JobStatus.COMPLETED), (ExecutionStatus.FAILED, JobStatus.FAILED)]
)
def test_a_retried_one_time_job_is_active_until_the_retry_has_ended(status: ExecutionStatus, then: JobStatus) -> None:
    job = created(once(100))
    plan = fire(job, at(100), occurrences_of(job), count_id)
    job, row = ended(plan.job, plan.executions[0], ExecutionStatus.TIMEOUT, 110)
    assert (job.status, job.completed_at) == (JobStatus.FAILED, at(110))

    plan = retry(job, row, moment(200))

    assert (plan.job.status, plan.job.next_run, plan.job.completed_at) == (JobStatus.ACTIVE, None, None)
    assert plan.change is not None
    assert plan.job.version == job.version + 1
    job, _ = ended(plan.job, plan.executions[0], status, 210)
    assert job.status is then


def test_a_retry_of_a_finished_recurring_job_leaves_it_finished() -> None:
    job = every_minute(status=JobStatus.COMPLETED, next_run=None, exhausted=True)

    assert retry(job, a_row(ExecutionStatus.FAILED), moment(NOON)).job.status is JobStatus.COMPLETED


def test_a_retry_that_first_finds_the_job_missed_for_good_leaves_one_consistent_version() -> None:
    job = created(once(100, misfire_policy=MisfirePolicy.SKIP))

    plan = retry(job, a_row(ExecutionStatus.FAILED), moment(3600))

    assert [row.status for row in plan.executions] == [ExecutionStatus.SKIPPED, ExecutionStatus.PENDING]
    assert (plan.job.status, plan.job.version, plan.change) == (JobStatus.ACTIVE, 1, None)


def test_a_one_time_job_that_could_not_be_planned_ends_again_after_its_retry() -> None:
    broken = unplannable(created(once(100)), at(100), "no such zone").job
    plan = retry(broken, a_row(ExecutionStatus.FAILED), moment(200))

    job, _ = ended(plan.job, plan.executions[0], ExecutionStatus.SUCCESS, 210)

    assert job.status is JobStatus.COMPLETED
