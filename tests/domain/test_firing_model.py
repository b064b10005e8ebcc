"""Fires against an oracle that tells the rules once more, over any ticks, policies and bounds."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import Listed, at, count_id, recounted
from tests.makers import a_job
from tocsin.domain.counters import JobCounters
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.firing import MAX_STEPS, catch_up, fire, next_fire, upcoming
from tocsin.domain.job import JobDefinition, JobStatus, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.plan import Plan, conclude

RAN = "ran"


@dataclass
class Oracle:
    """The rules of a fire, told once more: slot by slot and nominal time by nominal time, in one go."""

    definition: JobDefinition
    taken: int = 0
    waiting: int = 0
    made: int = 0

    @property
    def full(self) -> bool:
        return self.definition.max_executions is not None and self.made >= self.definition.max_executions

    def account(self, due: Sequence[datetime], now: datetime) -> list[tuple[datetime, str]]:
        """What becomes of each nominal time, in order, until max_executions are made."""
        definition, fates = self.definition, []
        grace = timedelta(seconds=definition.misfire_grace_seconds)
        late = [time for time in due if now - time > grace]
        rescued: list[datetime] = []
        if definition.misfire_policy == "run_once" and len(late) == len(due):
            rescued = late[-1:]
        if definition.misfire_policy == "run_all":
            rescued = late[-definition.max_catchup :]
        window = timedelta(seconds=definition.catchup_window_seconds)
        for time in due:
            if self.full:
                break
            is_late = now - time > grace
            if is_late and (time not in rescued or now - time > window):
                fates.append((time, "misfire"))
            else:
                fates.append((time, self._run(whatever=is_late and definition.misfire_policy == "run_all")))
        return fates

    def _run(self, *, whatever: bool) -> str:
        policy = self.definition.overlap_policy
        busy = self.taken >= self.definition.concurrency
        if not whatever and busy and (policy == "skip" or (policy == "queue_one" and self.waiting)):
            return "overlap"
        self.made += 1
        waits = busy and policy != "allow_all"
        self.taken, self.waiting = self.taken + (not waits), self.waiting + waits
        return RAN

    def free(self, slots: int) -> None:
        self.taken -= min(slots, self.taken)
        while self.waiting and self.taken < self.definition.concurrency:
            self.taken, self.waiting = self.taken + 1, self.waiting - 1


@st.composite
def nominal_times(draw: st.DrawFn) -> list[datetime]:
    """A few irregular ones, or a beat of up to three plans' worth."""
    gaps = draw(
        st.one_of(
            st.lists(st.integers(1, 400), min_size=1, max_size=30),
            st.builds(lambda gap, count: [gap] * count, st.integers(1, 90), st.integers(1, 3 * MAX_STEPS)),
        )
    )
    return [at(seconds) for seconds in itertools.accumulate(gaps)]


OFFSETS = st.integers(0, 4000)
TICKS = st.lists(
    st.tuples(st.one_of(st.integers(-600, 900), st.integers(1000, 200_000)), st.integers(0, 3)), min_size=1, max_size=8
)


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    overlap_policy = draw(st.sampled_from(OverlapPolicy))
    start = draw(st.none() | OFFSETS)
    end = draw(st.none() | OFFSETS)
    return {
        "overlap_policy": overlap_policy,
        "concurrency": 1 if overlap_policy is OverlapPolicy.ALLOW_ALL else draw(st.integers(1, 3)),
        "misfire_policy": draw(st.sampled_from(MisfirePolicy)),
        "misfire_grace_seconds": draw(st.sampled_from([0, 1, 60, 600])),
        "catchup_window_seconds": draw(st.sampled_from([0, 300, 86_400])),
        "max_catchup": draw(st.sampled_from([1, 2, 100, 500])),
        "start_date": None if start is None else at(start),
        "end_date": None if end is None else at(end + (start or 0)),
        "max_executions": draw(st.none() | st.integers(1, 12)),
    }


def unfolded(rows: Sequence[JobExecution], times: Sequence[datetime]) -> list[tuple[datetime, str]]:
    """Each nominal time that the rows stand for, with its fate."""
    fates: list[tuple[datetime, str]] = []
    for row in rows:
        if row.skip_reason is None:
            fates.append((row.scheduled_at, RAN))
            continue
        assert row.covers_until is not None
        covered = times[bisect_left(times, row.scheduled_at) : bisect_right(times, row.covers_until)]
        assert (covered[0], covered[-1], len(covered)) == (row.scheduled_at, row.covers_until, row.covers_count)
        fates += [(time, row.skip_reason.value) for time in covered]
    return fates


def shown(job: ScheduledJob) -> JobCounters:
    """The counters that rows alone tell."""
    counters = job.counters
    return JobCounters(
        scheduled_count=counters.scheduled_count,
        slots_taken=counters.slots_taken,
        waiting=counters.waiting,
        live=counters.live,
    )


def drained(job: ScheduledJob, now: datetime, source: Listed) -> tuple[ScheduledJob, list[JobExecution]]:
    """Fire until nothing is due, holding every plan to what holds for each alone."""
    rows: list[JobExecution] = []
    while job.status is JobStatus.ACTIVE and job.next_run is not None and job.next_run <= now:
        plan = fire(job, now, source, count_id)
        steps = sum(1 if row.skip_reason is None else row.covers_count or 0 for row in plan.executions[1:])
        assert steps <= MAX_STEPS
        reasons = [row.skip_reason for row in plan.executions]
        assert all(one is None or one is not other for one, other in itertools.pairwise(reasons))
        assert plan.job.last_nominal == max(row.covers_until or row.scheduled_at for row in plan.executions)
        assert plan.job.next_run is None or plan.job.next_run > plan.job.last_nominal
        rows += plan.executions
        job = plan.job
    assert fire(job, now, source, count_id) == Plan(job=job)
    return job, rows


def freed(job: ScheduledJob, rows: list[JobExecution], slots: int, now: datetime) -> ScheduledJob:
    """End as many executions that hold a slot as a success, admit what waits, and end the job if it is over."""
    counters = job.counters
    for index, row in enumerate(rows):
        if slots and row.holds_slot:
            rows[index] = replace(row, status=ExecutionStatus.SUCCESS, holds_slot=False)
            counters = counters.ended(ExecutionStatus.SUCCESS, 1).released(1)
            slots -= 1
    admissible = replace(job, counters=counters).admissible
    waiting = [index for index, row in enumerate(rows) if row.status == "pending" and row.available_at is None]
    for index in waiting[:admissible]:
        rows[index] = replace(rows[index], available_at=now, holds_slot=True)
    return conclude(replace(job, counters=counters.admitted(admissible)), now)


@given(nominal_times(), definitions(), TICKS)
def test_every_nominal_time_is_accounted_for_once_and_as_the_rules_say(
    times: list[datetime], fields: dict[str, Any], ticks: list[tuple[int, int]]
) -> None:
    source, job = Listed(times), a_job(**fields, next_run=None)
    definition = job.definition
    job = replace(job, next_run=next_fire(job, at(0), source))
    due = [
        time
        for time in times
        if time >= (definition.start_date or at(0)) and (definition.end_date is None or time <= definition.end_date)
    ]
    oracle, now, rows, fates = Oracle(definition), at(0), list[JobExecution](), list[tuple[datetime, str]]()
    for seconds, slots in ticks:
        now += timedelta(seconds=seconds)

        job, fired = drained(job, now, source)

        expected = oracle.account([time for time in due if time <= now][len(fates) :], now)
        assert unfolded(fired, times) == expected
        fates += expected
        left = [] if oracle.full else due[len(fates) :]
        assert job.next_run == (left[0] if left else None)
        assert job.exhausted == (not left and bool(fates))
        assert job.status is (JobStatus.ACTIVE if left or not fates or job.counters.live else JobStatus.COMPLETED)
        rows += fired
        assert job.last_run == max((time for time, fate in fates if fate == RAN), default=None)
        assert shown(job) == recounted(rows)
        assert job.counters.slots_taken <= definition.concurrency or definition.overlap_policy == "allow_all"
        assert (job.counters.slots_taken, job.counters.waiting) == (oracle.taken, oracle.waiting)
        job = freed(job, rows, slots, now)
        oracle.free(slots)
    assert oracle.made == sum(row.skip_reason is None for row in rows)


@given(nominal_times(), definitions(), st.integers(0, 300_000))
def test_catching_up_gives_what_many_fires_give_with_neighbouring_skips_as_one_row(
    times: list[datetime], fields: dict[str, Any], seconds: int
) -> None:
    source, job = Listed(times), a_job(**fields, next_run=None)
    job = replace(job, next_run=next_fire(job, at(0), source))
    now = at(seconds)

    plan = catch_up(job, now, source, count_id)

    fired_job, rows = drained(job, now, source)
    assert plan.job == fired_job
    assert unfolded(plan.executions, times) == unfolded(rows, times)
    reasons = [row.skip_reason for row in plan.executions]
    assert all(one is None or one is not other for one, other in itertools.pairwise(reasons))


@given(nominal_times(), definitions(), st.integers(0, 5000))
def test_upcoming_gives_what_will_fire_within_the_bounds(
    times: list[datetime], fields: dict[str, Any], after: int
) -> None:
    job = a_job(**fields, next_run=None)
    definition = job.definition

    fires = [occurrence.at for occurrence in upcoming(job, at(after), Listed(times))]

    bounded = [
        time
        for time in times
        if time > at(after)
        and time >= (definition.start_date or at(0))
        and (definition.end_date is None or time <= definition.end_date)
    ]
    assert fires == bounded[: definition.max_executions]
