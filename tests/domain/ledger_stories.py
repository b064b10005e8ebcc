"""A job's life told by the real decisions, with all that a store would have written down of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, cast

from hypothesis import strategies as st

from tests.domain.samples import count_id
from tests.makers import a_definition, occurrences_of
from tocsin.domain.audit import check_ledger
from tocsin.domain.errors import InvalidInput, InvalidTransition
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.firing import LOOK_AHEAD, fire
from tocsin.domain.job import JobDefinition, JobStatus, JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.ledger import JobLedger, LedgerReport, Window
from tocsin.domain.lifecycle import (
    Moment,
    cancel,
    create,
    delete,
    pause,
    redefine,
    reschedule,
    resume,
    unplannable,
    update,
)
from tocsin.domain.occurrences import EARLIEST
from tocsin.domain.plan import JobChange, Plan, concluded, first_version, with_outcome
from tocsin.domain.runs import ManualRun, retry, trigger

BEGINNINGS: Final = tuple(
    datetime.fromisoformat(text)
    for text in (
        "2026-01-01T00:00:00Z",
        # The clocks of Berlin and Lord Howe change shortly after these.
        "2026-03-29T00:20:00.250000Z",
        "2026-10-24T23:50:00.750000Z",
        "2026-04-04T14:40:10Z",
        "2026-10-03T15:10:00.000001Z",
    )
)
TIMINGS: Final[tuple[dict[str, Any], ...]] = (
    {"type": JobType.INTERVAL, "schedule": "every 1m"},
    {"type": JobType.INTERVAL, "schedule": "every 7s"},
    {"type": JobType.CRON, "schedule": "*/5 * * * *", "timezone": "Europe/Berlin"},
    {"type": JobType.CRON, "schedule": "30 2 * * *", "timezone": "Europe/Berlin"},
    {"type": JobType.CRON, "schedule": "15,45 1-3 * * *", "timezone": "Australia/Lord_Howe"},
    {"type": JobType.CRON, "schedule": "20 * * * * *"},
)
RUNS: Final = st.tuples(
    st.just("run"), st.tuples(st.sampled_from([7, 61, 300, 1300, 6000]), st.integers(1, 6), st.integers(0, 2))
)
STEPS: Final = st.one_of(
    RUNS,
    RUNS,
    RUNS,
    st.tuples(st.just("pass"), st.sampled_from([1, 7, 29, 60, 61, 300, 3600, 10_000])),
    st.tuples(st.just("tick"), st.integers(0, 3)),
    st.tuples(st.just("tick"), st.integers(0, 3)),
    st.tuples(st.just("look_ahead"), st.sampled_from([1, 100, 499, 500])),
    st.tuples(st.just("end"), st.integers(0, 5)),
    st.tuples(st.just("pause"), st.none()),
    st.tuples(st.just("resume"), st.none()),
    st.tuples(st.just("trigger"), st.none()),
    st.tuples(st.just("retry"), st.integers(0, 5)),
    st.tuples(st.just("retime"), st.sampled_from(TIMINGS)),
    st.tuples(st.just("once"), st.sampled_from([-61, -59, -30, 0, 45, 4000])),
    st.tuples(st.just("bound"), st.tuples(st.none() | st.integers(-500, 9000), st.none() | st.integers(1, 12))),
    st.tuples(st.just("rename"), st.text("ab", min_size=1, max_size=2)),
    st.tuples(st.just("replace"), st.sampled_from(TIMINGS)),
    st.tuples(st.just("reschedule"), st.none()),
)
FINAL_STEPS: Final = st.sampled_from([("cancel", None), ("delete", None), ("pass", 30)])
ENDS: Final = (ExecutionStatus.SUCCESS, ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT)


@dataclass
class Story:
    """
    One job, its rows and its versions; what the rules refuse does not happen.

    It `is_told_whole` unless it was rescheduled, which leaves no version, while the clock was behind the last one.
    """

    now: datetime
    job: ScheduledJob
    rows: list[JobExecution] = field(default_factory=list)
    changes: list[JobChange] = field(default_factory=list)
    is_told_whole: bool = True

    @classmethod
    def begun(cls, now: datetime, definition: JobDefinition, *, paused: bool = False) -> Story:
        """A job that was just made."""
        job = create(definition, _moment(now), tenant_id="acme", paused=paused)
        return cls(now=now, job=job, changes=[first_version(job)])

    def live(self, steps: list[tuple[str, Any]]) -> Story:
        """Let things happen, one after another."""
        for name, argument in steps:
            getattr(self, f"_{name}")(argument)
        return self

    @property
    def ledger(self) -> JobLedger:
        """All that is recorded."""
        return JobLedger.whole(self.job, self.changes, self.rows)

    @property
    def scheduled(self) -> list[JobExecution]:
        """The rows of the schedule."""
        return [row for row in self.rows if row.origin == "schedule"]

    def verified(self, window: Window | None = None) -> LedgerReport:
        """What the proof says by now, over all of it or a window."""
        return verified(self.ledger, self.now, window)

    def _pass(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def _run(self, plan: tuple[int, int, int]) -> None:
        """Let the timer tick every so often, and that many executions end each time."""
        seconds, times, ends = plan
        for _ in range(times):
            self._pass(seconds)
            self._tick(1)
            for number in range(ends):
                self._end(number)

    def _set_back(self, seconds: int) -> None:
        self.now -= timedelta(seconds=seconds)

    def _tick(self, times: int) -> None:
        for _ in range(times):
            self._take(fire(self.job, self.now, occurrences_of(self.job), count_id))

    def _look_ahead(self, milliseconds: int) -> None:
        """Let the timer look shortly before the next nominal time."""
        if self.job.next_run is not None and self.job.next_run > self.now:
            self.now = max(self.now, self.job.next_run - timedelta(milliseconds=milliseconds))
            self._take(fire(self.job, self.now, occurrences_of(self.job), count_id, ahead=LOOK_AHEAD))

    def _set_aside(self, _: None) -> None:
        self._take(unplannable(self.job, self.now, "no reason"))

    def _end(self, number: int) -> None:
        held = [place for place, row in enumerate(self.rows) if row.holds_slot]
        if not held:
            return
        place = held[number % len(held)]
        row, status = self.rows[place], ENDS[number % len(ENDS)]
        is_early = row.available_at is not None and self.now < row.available_at <= self.now + LOOK_AHEAD
        started_at = row.available_at if is_early else self.now
        self.rows[place] = replace(row, status=status, started_at=started_at, holds_slot=False)
        counters = self.job.counters.ended(status, 1).released(1)
        waiting = [place for place, row in enumerate(self.rows) if row.status == "pending" and not row.holds_slot]
        admitted = waiting[: replace(self.job, counters=counters).admissible]
        for waiter in admitted:
            self.rows[waiter] = replace(self.rows[waiter], available_at=self.now, holds_slot=True)
        job = replace(self.job, counters=counters.admitted(len(admitted)))
        self.job = with_outcome(job, status, origin=row.origin, scheduled_at=row.scheduled_at)
        self._take(concluded(self.job, self.now))

    def _pause(self, _: None) -> None:
        self._try(pause)

    def _resume(self, _: None) -> None:
        self._try(resume)

    def _cancel(self, _: None) -> None:
        self._try(cancel)

    def _delete(self, _: None) -> None:
        self._try(delete)

    def _trigger(self, _: None) -> None:
        self._try(lambda job, moment: trigger(job, moment, ManualRun()))

    def _retry(self, number: int) -> None:
        failed = [row for row in self.rows if row.status in {"failed", "timeout"}]
        if failed:
            self._try(lambda job, moment: retry(job, failed[number % len(failed)], moment))

    def _retime(self, timing: dict[str, Any]) -> None:
        self._update(**{"timezone": "UTC", **timing})

    def _once(self, seconds: int) -> None:
        at = self.now + timedelta(seconds=seconds)
        self._update(type=JobType.ONE_TIME, schedule=at.isoformat(), timezone="UTC")

    def _bound(self, bounds: tuple[int | None, int | None]) -> None:
        seconds, limit = bounds
        end = None if seconds is None else self.now + timedelta(seconds=seconds)
        self._update(end_date=end, max_executions=limit and limit + self.job.counters.scheduled_count - 1)

    def _rename(self, name: str) -> None:
        self._update(name=name)

    def _replace(self, timing: dict[str, Any]) -> None:
        definition = replace(self.job.definition, **{"timezone": "UTC", **timing})
        self._try(lambda job, moment: redefine(job, definition, moment))

    def _reschedule(self, _: None) -> None:
        self.is_told_whole &= self.now >= self.changes[-1].changed_at
        self._try(lambda job, moment: reschedule(job, job.definition, moment))

    def _update(self, **fields: object) -> None:
        definition = replace(self.job.definition, **cast("dict[str, Any]", fields))
        self._try(lambda job, moment: update(job, definition, moment))

    def _try(self, step: Callable[[ScheduledJob, Moment], Plan]) -> None:
        if self.job.deleted_at is None:
            with suppress(InvalidInput, InvalidTransition):
                self._take(step(self.job, _moment(self.now)))

    def _take(self, plan: Plan) -> None:
        """Write a plan as a store would."""
        self.rows += plan.executions
        self.job = plan.job
        if plan.change is not None:
            self.changes.append(plan.change)
        if plan.cancels_open:
            is_open = [not row.status.terminal for row in self.rows]
            self.rows = [
                replace(row, status=ExecutionStatus.CANCELLED, holds_slot=False) if opened else row
                for row, opened in zip(self.rows, is_open, strict=True)
            ]
            counters = replace(self.job.counters, live=0, slots_taken=0, waiting=0)
            self.job = replace(self.job, counters=counters)
        if self.job.status in {JobStatus.ACTIVE, JobStatus.PAUSED} and self.job.deleted_at is None:
            settled = concluded(self.job, self.now)
            self.job = settled.job
            if settled.change is not None:
                self.changes.append(settled.change)


def verified(ledger: JobLedger, now: datetime, window: Window | None = None) -> LedgerReport:
    """What the proof says of a ledger, over all of it or a window."""
    return check_ledger(ledger, window or Window(after=EARLIEST, until=now), now=now, sources=occurrences_of)


def _moment(now: datetime) -> Moment:
    return Moment(now=now, occurrences=occurrences_of, new_id=count_id, by="ada")


@st.composite
def stories(draw: st.DrawFn, *, steps: st.SearchStrategy[tuple[str, Any]] = STEPS) -> Story:
    """Any job around a change of the clocks or elsewhere, and whatever may happen to it."""
    now = draw(st.sampled_from(BEGINNINGS))
    overlap_policy = draw(st.sampled_from(OverlapPolicy))
    start = draw(st.none() | st.integers(-5000, 2000))
    definition = a_definition(
        **draw(st.sampled_from(TIMINGS)),
        overlap_policy=overlap_policy,
        concurrency=1 if overlap_policy is OverlapPolicy.ALLOW_ALL else draw(st.integers(1, 2)),
        misfire_policy=draw(st.sampled_from(MisfirePolicy)),
        misfire_grace_seconds=draw(st.sampled_from([0, 60, 600])),
        catchup_window_seconds=draw(st.sampled_from([300, 86_400])),
        max_catchup=draw(st.sampled_from([1, 5, 500])),
        start_date=None if start is None else now + timedelta(seconds=start),
        max_executions=draw(st.none() | st.integers(1, 8)),
    )
    story = Story.begun(now, definition, paused=draw(st.sampled_from([False, False, False, True])))
    # What was recorded just ahead has come by the end.
    return story.live([draw(RUNS), *draw(st.lists(steps, max_size=25)), draw(FINAL_STEPS), ("pass", 1)])
