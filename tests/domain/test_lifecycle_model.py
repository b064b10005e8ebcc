"""A job's whole life against a model that knows only a grid of times and whether the job is active."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.domain.samples import count_id, recounted
from tests.makers import START, a_definition, occurrences_of
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin
from tocsin.domain.firing import fire
from tocsin.domain.job import JobStatus, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import Moment, create, pause, resume, update
from tocsin.domain.plan import Plan, recorded
from tocsin.domain.runs import ManualRun, retry, trigger

ENDS = st.sampled_from([ExecutionStatus.SUCCESS, ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT])
SECONDS = st.sampled_from([7, 10, 30])


class JobLife(RuleBasedStateMachine):
    """Anything that may happen to a job that never ends, in any order and at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.rows: list[JobExecution] = []
        self.owed: list[datetime] = []

    @initialize(
        every=SECONDS,
        overlap_policy=st.sampled_from(OverlapPolicy),
        misfire_policy=st.sampled_from(MisfirePolicy),
        concurrency=st.integers(1, 3),
        grace=st.sampled_from([0, 20, 60]),
    )
    def begin(
        self,
        every: int,
        overlap_policy: OverlapPolicy,
        misfire_policy: MisfirePolicy,
        concurrency: int,
        grace: int,
    ) -> None:
        definition = a_definition(
            schedule=f"every {every}s",
            overlap_policy=overlap_policy,
            misfire_policy=misfire_policy,
            concurrency=1 if overlap_policy == "allow_all" else concurrency,
            misfire_grace_seconds=grace,
            max_catchup=5,
        )
        self.job = create(definition, self.moment, tenant_id="acme", paused=False)
        self.every = timedelta(seconds=every)
        self.next: datetime | None = START + self.every

    @property
    def moment(self) -> Moment:
        return Moment(now=self.now, occurrences=occurrences_of, new_id=count_id, by="ada")

    def account(self) -> None:
        """What the model owes by now."""
        while self.next is not None and self.next <= self.now:
            self.owed.append(self.next)
            self.next += self.every

    def afresh(self) -> datetime:
        """The first time of the grid after now and after all that was recorded."""
        floor = max([self.now, *self.owed])
        return START + ((floor - START) // self.every + 1) * self.every

    def take(self, plan: Plan) -> None:
        """Write a plan as a store would."""
        changed = recorded(plan.job) != recorded(self.job)
        assert plan.job.version == self.job.version + changed
        assert (plan.change is not None) == changed
        if plan.change is not None:
            assert (plan.change.before, plan.change.after) == (recorded(self.job), recorded(plan.job))
        self.job = plan.job
        self.rows += plan.executions

    @rule(seconds=st.integers(0, 200))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(seconds=st.integers(1, 4000))
    def the_clock_is_set_back(self, seconds: int) -> None:
        self.now = max(START, self.now - timedelta(seconds=seconds))

    @rule()
    def the_timer_ticks(self) -> None:
        self.account()
        self.take(fire(self.job, self.now, occurrences_of(self.job), count_id))

    @precondition(lambda self: self.job.status == "active")
    @rule()
    def someone_pauses(self) -> None:
        self.account()
        self.take(pause(self.job, self.moment))
        self.next = None

    @precondition(lambda self: self.job.status == "paused")
    @rule()
    def someone_resumes(self) -> None:
        self.take(resume(self.job, self.moment))
        self.next = self.afresh()

    @rule()
    def someone_triggers(self) -> None:
        self.account()
        self.take(trigger(self.job, self.moment, ManualRun()))

    @rule(every=SECONDS)
    def someone_edits_the_interval(self, every: int) -> None:
        self.account()
        before = self.every
        self.take(update(self.job, replace(self.job.definition, schedule=f"every {every}s"), self.moment))
        self.every = timedelta(seconds=every)
        if self.next is not None and self.every != before:
            self.next = self.afresh()

    @rule(priority=st.integers(49, 51))
    def someone_edits_the_priority(self, priority: int) -> None:
        self.account()
        self.take(update(self.job, replace(self.job.definition, priority=priority), self.moment))

    @precondition(lambda self: any(row.status in {"failed", "timeout"} for row in self.rows))
    @rule(data=st.data())
    def someone_retries(self, data: st.DataObject) -> None:
        self.account()
        failed = data.draw(st.sampled_from([row for row in self.rows if row.status in {"failed", "timeout"}]))
        self.take(retry(self.job, failed, self.moment))

    @precondition(lambda self: any(row.available_at and not row.status.terminal for row in self.rows))
    @rule(data=st.data(), status=ENDS)
    def an_execution_ends(self, data: st.DataObject, status: ExecutionStatus) -> None:
        admitted = [i for i, row in enumerate(self.rows) if row.available_at and not row.status.terminal]
        index = data.draw(st.sampled_from(admitted))
        counters = self.job.counters.ended(status, 1).released(self.rows[index].holds_slot)
        self.rows[index] = replace(self.rows[index], status=status, holds_slot=False)
        waiting = [i for i, row in enumerate(self.rows) if row.status == "pending" and row.available_at is None]
        admissible = replace(self.job, counters=counters).admissible
        for i in waiting[:admissible]:
            self.rows[i] = replace(self.rows[i], available_at=self.now, holds_slot=True)
        self.job = replace(self.job, counters=counters.admitted(admissible))

    @invariant()
    def every_nominal_time_owed_is_accounted_for_once(self) -> None:
        scheduled = [row for row in self.rows if row.origin is Origin.SCHEDULE]
        assert sum(row.covers_count or 1 for row in scheduled) == len(self.owed)
        starts = [row.scheduled_at for row in scheduled]
        ends = [row.covers_until or row.scheduled_at for row in scheduled]
        assert set(starts) | set(ends) <= set(self.owed)
        assert all(end < start for end, start in zip(ends, starts[1:], strict=False))

    @invariant()
    def only_an_active_job_has_a_next_run_and_it_is_new(self) -> None:
        job: ScheduledJob | None = getattr(self, "job", None)
        if job is None:
            return
        assert job.next_run == self.next
        assert (job.next_run is not None) == (job.status is JobStatus.ACTIVE)
        assert job.last_nominal == (self.owed[-1] if self.owed else None)
        if job.next_run and job.last_nominal:
            assert job.next_run > job.last_nominal

    @invariant()
    def the_counters_are_those_of_the_rows(self) -> None:
        job: ScheduledJob | None = getattr(self, "job", None)
        if job is None:
            return
        counted = recounted(self.rows)
        assert (job.counters.scheduled_count, job.counters.live) == (counted.scheduled_count, counted.live)
        assert (job.counters.slots_taken, job.counters.waiting) == (counted.slots_taken, counted.waiting)
        assert job.counters.slots_taken <= job.definition.concurrency or job.definition.overlap_policy == "allow_all"
        assert job.admissible == 0


TestJobLife = JobLife.TestCase
