from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at
from tests.makers import an_outcome
from tocsin.domain.attempt import Attempt, Finish, Outcome, hand_back, lose, refuse, retry_delay, settle
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import Backoff, JobDefinition, JobType

HOUR = timedelta(hours=1)
FAILED = an_outcome(status=ExecutionStatus.FAILED, result=None, error="no luck", error_type="ValueError")
TIMEOUT = an_outcome(status=ExecutionStatus.TIMEOUT, result=None, error="too long", error_type="EXECUTION_TIMEOUT")


A_DEFINITION = JobDefinition(
    name="report",
    type=JobType.EVENT,
    handler_name="report",
    retry_delay_ms=60_000,
    backoff=Backoff.EXPONENTIAL,
    retry_jitter=0.0,
)


def an_attempt(definition: JobDefinition = A_DEFINITION, **fields: Any) -> Attempt:  # noqa: ANN401 - the fields of an attempt
    """The first attempt of an execution that was due at START and claimed a second later."""
    attempt = Attempt(
        definition,
        execution_id=UUID(int=1),
        job_id=UUID(int=2),
        tenant_id="default",
        payload=None,
        attempt=1,
        failures=0,
        max_retries=3,
        scheduled_at=at(0),
        started_at=at(1),
    )
    return replace(attempt, **fields)


def delayed_by(delay_ms: int, **fields: Any) -> Attempt:  # noqa: ANN401 - the fields of a definition
    return an_attempt(replace(A_DEFINITION, retry_delay_ms=delay_ms, **fields))


@given(st.integers(0, 3_600_000), st.integers(1, 101))
def test_an_exponential_delay_doubles_with_each_failure_up_to_an_hour(delay_ms: int, failures: int) -> None:
    expected = min(timedelta(hours=1), timedelta(milliseconds=min(delay_ms * 2 ** (failures - 1), 3_600_000)))

    assert retry_delay(delayed_by(delay_ms), failures, chance=1) == expected


@given(st.integers(0, 3_600_000), st.integers(1, 101))
def test_a_fixed_delay_stays(delay_ms: int, failures: int) -> None:
    attempt = delayed_by(delay_ms, backoff=Backoff.FIXED)

    assert retry_delay(attempt, failures, chance=1) == timedelta(milliseconds=delay_ms)


@given(st.integers(1, 101), st.floats(0, 1), st.floats(0, 1))
def test_jitter_adds_up_to_its_share_of_the_delay(failures: int, jitter: float, chance: float) -> None:
    plain = retry_delay(an_attempt(), failures, chance=chance)

    jittered = retry_delay(delayed_by(60_000, retry_jitter=jitter), failures, chance=chance)

    assert plain <= jittered <= plain * (1 + jitter) + timedelta(microseconds=1)
    assert retry_delay(delayed_by(60_000, retry_jitter=jitter), failures, chance=0) == plain


def test_a_success_is_the_end() -> None:
    finish = settle(an_attempt(failures=2), an_outcome(), chance=0)

    assert (finish.status, finish.failures, finish.result) == (ExecutionStatus.SUCCESS, 2, "done")
    assert finish.completed_at == at(2)
    assert (finish.available_at, finish.past_attempt, finish.releases_slot) == (None, None, True)


@given(st.integers(0, 5), st.integers(0, 6), st.integers(1, 20), st.sampled_from([FAILED, TIMEOUT]))
def test_max_retries_failures_are_made_up_for_however_many_attempts_there_were(
    max_retries: int,
    failures: int,
    number: int,
    outcome: Outcome,
) -> None:
    finish = settle(an_attempt(max_retries=max_retries, failures=failures, attempt=number), outcome, chance=0)

    assert finish.failures == failures + 1
    assert (finish.status is ExecutionStatus.PENDING) == (failures < max_retries)
    assert finish.status in {ExecutionStatus.PENDING, outcome.status}


def test_a_retry_waits_its_delay_keeps_its_slot_and_remembers_the_attempt() -> None:
    finish = settle(an_attempt(attempt=4, failures=1), FAILED, chance=0)

    assert finish.available_at == at(2) + timedelta(minutes=2)
    assert not finish.releases_slot
    assert finish.past_attempt is not None
    assert (finish.past_attempt.attempt, finish.past_attempt.outcome) == (4, "failed")
    assert (finish.past_attempt.started_at, finish.past_attempt.ended_at) == (at(1), at(2))
    assert (finish.error, finish.error_type) == ("no luck", "ValueError")


@pytest.mark.parametrize(("outcome", "releases"), [(FAILED, True), (TIMEOUT, False), (an_outcome(), True)])
def test_only_a_time_out_keeps_its_slot_until_the_handler_is_gone(outcome: Outcome, releases: object) -> None:
    assert settle(an_attempt(max_retries=0), outcome, chance=0).releases_slot is releases


def test_work_handed_back_is_available_at_once_and_is_no_failure() -> None:
    finish = hand_back(an_attempt(attempt=2, failures=3, max_retries=0), at(5))

    assert (finish.status, finish.failures, finish.available_at) == (ExecutionStatus.PENDING, 3, at(5))
    assert (finish.releases_slot, finish.duration_ms) == (False, 4000)
    assert finish.past_attempt is not None
    assert finish.past_attempt.outcome == "handed_back"


def test_a_lost_lease_is_a_failure_whose_next_attempt_need_not_wait() -> None:
    finish = lose(an_attempt(), at(61), chance=1)

    assert (finish.status, finish.failures) == (ExecutionStatus.PENDING, 1)
    assert (finish.available_at, finish.completed_at, finish.lease_expires_at) == (at(61), at(61), at(61))
    assert (finish.error_type, finish.releases_slot) == ("LEASE_LOST", False)
    assert finish.past_attempt is not None
    assert finish.past_attempt.outcome == "lease_lost"


def test_a_lost_lease_without_retries_left_is_the_end_and_frees_the_slot() -> None:
    finish = lose(an_attempt(failures=3), at(61), chance=0)

    assert (finish.status, finish.failures, finish.releases_slot) == (ExecutionStatus.FAILED, 4, True)
    assert (finish.available_at, finish.duration_ms) == (None, 60_000)


@pytest.mark.parametrize("end", [hand_back, lambda attempt, now: lose(attempt, now, chance=0)])
def test_a_clock_that_went_back_gives_no_negative_duration(end: Callable[[Attempt, datetime], Finish]) -> None:
    assert end(an_attempt(), at(-3600)).duration_ms == 0


@pytest.mark.parametrize(
    ("finish", "failures"),
    [
        (settle(an_attempt(), an_outcome(), chance=0), 1),
        (settle(an_attempt(max_retries=0), FAILED, chance=0), 1),
        (settle(an_attempt(), FAILED, chance=0), 1),
    ],
)
def test_what_a_store_refuses_ends_as_a_failure_with_none_of_its_content(finish: Finish, failures: int) -> None:
    refused = refuse(finish)

    assert (refused.status, refused.failures, refused.error_type) == (ExecutionStatus.FAILED, failures, "STORE_REFUSED")
    assert (refused.result, refused.error_stack, refused.past_attempt, refused.available_at) == (None, None, None, None)
    assert refused.releases_slot


def test_a_refused_time_out_still_keeps_the_slot_of_its_handler() -> None:
    assert not refuse(settle(an_attempt(max_retries=0), TIMEOUT, chance=0)).releases_slot
