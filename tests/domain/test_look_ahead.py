"""Fires ahead of their time against the same schedule fired on time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import Listed, count_id
from tests.makers import START, a_job
from tocsin.domain.execution import ExecutionStatus, JobExecution, SkipReason
from tocsin.domain.firing import LOOK_AHEAD, fire, next_fire
from tocsin.domain.job import JobStatus, JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.plan import Plan, conclude, is_postponed

MILLISECOND = timedelta(milliseconds=1)

BEATS = st.lists(st.integers(1, 3_000), min_size=1, max_size=20)
"""Milliseconds from one nominal time to the next."""

STEPS = st.lists(st.tuples(st.integers(1, 1_500), st.booleans()), min_size=1, max_size=40)
"""How many milliseconds pass before a look, and whether an execution ends in between."""


@dataclass
class Node:
    """A timer and an executor on one job, driven by steps of a clock."""

    job: ScheduledJob
    source: Listed
    ahead: timedelta
    now_ms: int = 0
    rows: list[JobExecution] = field(default_factory=list)

    def step(self, milliseconds: int, *, ends_one: bool) -> Iterator[Plan]:
        """Let time pass, end an execution that has begun, look twice."""
        self.now_ms += milliseconds
        now = START + self.now_ms * MILLISECOND
        if ends_one and any(_has_begun(row, self) for row in self.rows):
            self._end()
        for _ in range(2):
            if self.job.next_run is None or self.job.next_run > now + self.ahead:
                return
            plan = fire(self.job, now, self.source, count_id, ahead=self.ahead)
            yield plan
            self.job = plan.job
            self.rows += plan.executions

    def _end(self) -> None:
        place = next(place for place, row in enumerate(self.rows) if _has_begun(row, self))
        self.rows[place] = replace(self.rows[place], status=ExecutionStatus.SUCCESS, holds_slot=False)
        now = START + self.now_ms * MILLISECOND
        counters = self.job.counters.ended(ExecutionStatus.SUCCESS, 1).released(1)
        freed = replace(self.job, counters=counters)
        waiting = [place for place, row in enumerate(self.rows) if row.status == "pending" and not row.available_at]
        for admitted in waiting[: freed.admissible]:
            self.rows[admitted] = replace(self.rows[admitted], available_at=now, holds_slot=True)
        self.job = conclude(replace(freed, counters=counters.admitted(freed.admissible)), now)


def _has_begun(row: JobExecution, node: Node) -> bool:
    return row.holds_slot and row.available_at is not None and row.available_at <= START + node.now_ms * MILLISECOND


def a_node(beats: list[int], ahead: timedelta, **fields: object) -> Node:
    times, elapsed = [], 0
    for gap in beats:
        elapsed += gap
        times.append(START + elapsed * MILLISECOND)
    source = Listed(times)
    job = a_job(**fields, next_run=None)
    return Node(job=replace(job, next_run=next_fire(job, START, source)), source=source, ahead=ahead)


def recorded(node: Node, steps: list[tuple[int, bool]]) -> set[object]:
    """All that is due by the end, looked at on the way and once more at the end of every beat."""
    for milliseconds, ends_one in [*steps, (70_000, False)]:
        for _ in node.step(milliseconds, ends_one=ends_one):
            pass
    return {row.scheduled_at for row in node.rows}


@given(BEATS, STEPS, st.none() | st.integers(1, 10))
def test_a_look_ahead_records_the_nominal_times_that_are_recorded_without_it(
    beats: list[int], steps: list[tuple[int, bool]], limit: int | None
) -> None:
    fields = {
        "overlap_policy": OverlapPolicy.ALLOW_ALL,
        "misfire_grace_seconds": 86_400,
        "max_executions": limit,
        "type": JobType.RECURRING if limit else JobType.INTERVAL,
    }
    early, on_time = a_node(beats, LOOK_AHEAD, **fields), a_node(beats, timedelta(), **fields)

    assert recorded(early, steps) == recorded(on_time, steps)

    assert len({row.scheduled_at for row in early.rows}) == len(early.rows)
    assert (early.job.next_run, early.job.exhausted) == (on_time.job.next_run, on_time.job.exhausted)
    assert early.job.counters.scheduled_count == on_time.job.counters.scheduled_count


@given(BEATS, STEPS, st.sampled_from(OverlapPolicy), st.integers(1, 3))
def test_what_fires_early_waits_for_its_time_and_takes_a_free_slot(
    beats: list[int], steps: list[tuple[int, bool]], policy: OverlapPolicy, slots: int
) -> None:
    slots = 1 if policy is OverlapPolicy.ALLOW_ALL else slots
    node = a_node(beats, LOOK_AHEAD, overlap_policy=policy, concurrency=slots)
    seen = START - MILLISECOND
    for milliseconds, ends_one in steps:
        for plan in node.step(milliseconds, ends_one=ends_one):
            now, before = START + node.now_ms * MILLISECOND, node.job
            for row in plan.executions:
                assert row.scheduled_at > seen
                seen = row.covers_until or row.scheduled_at
                assert row.scheduled_at - row.created_at <= LOOK_AHEAD
                assert row.available_at is None or row.available_at >= row.scheduled_at
                if row.scheduled_at > now:
                    assert (row.scheduled_at, row.available_at) == (before.next_run, before.next_run)
                    assert (row.holds_slot, row.dispatched_at) == (True, now)
            assert plan.job.counters.slots_taken <= slots or policy is OverlapPolicy.ALLOW_ALL


@given(BEATS, STEPS)
def test_a_nominal_time_is_skipped_only_at_its_instant_and_when_no_slot_is_free(
    beats: list[int], steps: list[tuple[int, bool]]
) -> None:
    node = a_node(beats, LOOK_AHEAD)
    for milliseconds, ends_one in steps:
        for plan in node.step(milliseconds, ends_one=ends_one):
            now, taken = START + node.now_ms * MILLISECOND, node.job.counters.slots_taken
            skipped = [row for row in plan.executions if row.skip_reason is SkipReason.OVERLAP]
            assert all((row.covers_until or row.scheduled_at) <= now for row in skipped)
            assert not skipped or taken or any(row.skip_reason is None for row in plan.executions)


@given(BEATS)
def test_a_plan_that_postpones_changes_nothing(beats: list[int]) -> None:
    node = a_node(beats, LOOK_AHEAD)
    busy = replace(node.job, counters=replace(node.job.counters, slots_taken=1, live=1))
    assert busy.next_run is not None

    plan = fire(busy, busy.next_run - MILLISECOND, node.source, count_id, ahead=LOOK_AHEAD)

    assert plan == Plan(job=busy)
    assert is_postponed(busy, plan, busy.next_run - MILLISECOND)
    assert not is_postponed(busy, plan, busy.next_run)


@pytest.mark.parametrize("policy", MisfirePolicy)
def test_what_is_due_is_planned_without_what_is_about_to_be(policy: MisfirePolicy) -> None:
    node = a_node([1_000, 400], LOOK_AHEAD, overlap_policy=OverlapPolicy.ALLOW_ALL, misfire_policy=policy)

    first, second = node.step(1_000, ends_one=False)

    assert [row.scheduled_at for row in first.executions] == [START + 1_000 * MILLISECOND]
    assert [row.scheduled_at for row in second.executions] == [START + 1_400 * MILLISECOND]
    assert (second.job.exhausted, second.job.status) == (True, JobStatus.ACTIVE)
