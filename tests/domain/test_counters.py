from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at, count_id
from tests.makers import a_job
from tocsin.domain.counters import JobCounters
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.new_execution import new_execution

ENDS = st.sampled_from([status for status in ExecutionStatus if status.terminal])


@given(st.lists(st.tuples(ENDS, st.integers(0, 10_000))))
def test_counters_add_up_what_ended(ends: list[tuple[ExecutionStatus, int]]) -> None:
    counters = JobCounters(live=len(ends))
    for status, duration_ms in ends:
        counters = counters.ended(status, duration_ms)

    ran = [status for status, _ in ends if status in {"success", "failed", "timeout"}]
    durations = [duration_ms for status, duration_ms in ends if status == "success"]
    assert counters.live == 0
    assert counters.executions_count == len(ran)
    assert counters.success_count == len(durations)
    assert counters.failure_count == len(ran) - len(durations)
    assert counters.avg_duration_ms == (sum(durations) / len(durations) if durations else None)
    since_success = ran[len(ran) - ran[::-1].index(ExecutionStatus.SUCCESS) :] if "success" in ran else ran
    assert counters.consecutive_failures == len(since_success)


@pytest.mark.parametrize(
    ("waiting", "taken", "concurrency", "admissible"),
    [(0, 0, 1, 0), (3, 0, 2, 2), (1, 0, 2, 1), (3, 2, 2, 0), (3, 5, 2, 0)],
)
def test_as_many_are_admitted_as_wait_and_as_there_are_slots(
    waiting: int, taken: int, concurrency: int, admissible: int
) -> None:
    assert JobCounters(waiting=waiting, slots_taken=taken).admissible(concurrency) == admissible


def test_admission_moves_from_waiting_to_slots_and_release_gives_them_back() -> None:
    counters = JobCounters(waiting=3, live=3).admitted(2)

    assert counters == JobCounters(waiting=1, slots_taken=2, live=3)
    assert counters.released(2) == JobCounters(waiting=1, live=3)


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({}, JobCounters(waiting=1, slots_taken=2, live=3)),
        ({"available_at": at(0), "holds_slot": True}, JobCounters(waiting=2, slots_taken=1, live=3)),
        ({"available_at": at(0)}, JobCounters(waiting=2, slots_taken=2, live=3)),
    ],
)
def test_a_withdrawn_execution_leaves_its_slot_or_its_place_among_the_waiting(
    fields: dict[str, Any], left: JobCounters
) -> None:
    row = replace(new_execution(a_job(), at(0), now=at(0), execution_id=count_id(at(0))), **fields)

    assert JobCounters(waiting=2, slots_taken=2, live=4).withdrawn(row) == left


def test_a_row_that_is_not_written_was_never_planned() -> None:
    before = JobCounters(live=1, slots_taken=1, scheduled_count=1)
    row = new_execution(a_job(), at(0), now=at(0), execution_id=count_id(at(0)))
    planned = replace(before, live=2, waiting=1, scheduled_count=2)

    assert planned.unplanned(row) == before
    assert before.unplanned(replace(row, status=ExecutionStatus.SKIPPED)) == before
