"""
The fire: which due nominal times of a job run, which are skipped and why, and what comes next.

Pure: the same job, now and occurrences give the same plan. Misfire and overlap are decided here, in
one place and in this order, so that they cannot disagree (design: the protocol, fire).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from .altered import altered
from .execution import ExecutionStatus, JobExecution, SkipReason
from .job import JobStatus, MisfirePolicy, OverlapPolicy, ScheduledJob
from .new_execution import counted, is_admitted, new_execution
from .occurrences import Occurrence, OccurrenceSource, nth_after
from .plan import NOTHING_LEFT, NewId, Plan, conclude, versioned
from .swift import placed

_plan: Final = placed(Plan, "job", "executions")

MAX_STEPS: Final = 1000
"""Nominal times that one plan may walk through; the rest stays due for the next."""

LOOK_AHEAD: Final = timedelta(milliseconds=500)
"""
How long before its nominal time a job may fire, so that its handler starts on the instant.

What fires early is claimed early too, and held until then; a change to the job within this window may come too late.
"""

BEFORE: Final = timedelta(microseconds=1)
"""What turns \"later than\" into \"not before\": the step of every clock here."""


def upcoming(job: ScheduledJob, after: datetime, source: OccurrenceSource) -> Iterator[Occurrence]:
    """
    Give the nominal times later than `after` and than every one recorded, within the job's bounds.

    start_date and end_date are inclusive, max_executions counts what was already made.
    """
    limit = job.definition.max_executions
    left = None if limit is None else max(0, limit - job.counters.scheduled_count)
    return itertools.islice(_between_dates(job, after, source), left)


def next_fire(job: ScheduledJob, after: datetime, source: OccurrenceSource) -> datetime | None:
    """Find the first of the `upcoming` nominal times; None when nothing is left."""
    return next((occurrence.at for occurrence in upcoming(job, after, source)), None)


def fire(
    job: ScheduledJob, now: datetime, source: OccurrenceSource, new_id: NewId, *, ahead: timedelta = timedelta()
) -> Plan:
    """
    Account for the nominal times that are due, `MAX_STEPS` at most beside those that no policy would run.

    The job's next_run is then the first one not accounted for: in the past if more are due. If none is due, the first
    that will be within `ahead` runs early, should a slot be free for it; without one it is left to its instant, since
    only then is it known what the overlap policy has to say.
    """
    at = job.next_run
    if job.status is not JobStatus.ACTIVE or at is None or at > now + ahead:
        return Plan(job=job)
    account = _Account(job=job, now=now, new_id=new_id)
    if at > now:
        return _fired_early(job, at, source, account)
    late = now - timedelta(seconds=job.definition.misfire_grace_seconds)
    following = _following(job, at, source)
    if at >= late and (following is None or following > now):
        # Nothing else is due, as at nearly every fire.
        account.run(at)
    else:
        following = _all_due(account, at, late, source)
    plan = account.closed(following)
    concluded = conclude(plan.job, now)
    if concluded is plan.job:
        return plan
    return versioned(job, replace(plan, job=concluded), now, by=None, reason=NOTHING_LEFT)


def begins_at(available_at: datetime | None, dispatched_at: datetime | None, now: datetime) -> datetime:
    """
    Say when an execution that is claimed now may begin: at its nominal time if it fired ahead of that, else at once.

    If the clock was set back since, that is no later than it would have been: `LOOK_AHEAD` from now.
    """
    if available_at is None or dispatched_at is None or not max(now, dispatched_at) < available_at:
        return now
    return min(available_at, now + LOOK_AHEAD)


def catch_up(job: ScheduledJob, now: datetime, source: OccurrenceSource, new_id: NewId) -> Plan:
    """Account for everything that is due, however much: what every change to a job does first."""
    plan = fire(job, now, source, new_id)
    executions = list(plan.executions)
    while plan.job.status is JobStatus.ACTIVE and plan.job.next_run is not None and plan.job.next_run <= now:
        plan = fire(plan.job, now, source, new_id)
        for row in plan.executions:
            _append(executions, row)
    return replace(plan, executions=tuple(executions))


def _fired_early(job: ScheduledJob, at: datetime, source: OccurrenceSource, account: _Account) -> Plan:
    """Run a nominal time that is still to come, if it gets a slot; whatever it does then ends no job."""
    if not is_admitted(job.definition, job.counters):
        return Plan(job=job)
    account.run(at)
    return account.closed(_following(job, at, source))


def _all_due(account: _Account, first: datetime, late: datetime, source: OccurrenceSource) -> datetime | None:
    """Account for nominal times from a due one on, by the misfire policy; answer the first that it leaves."""
    job, now = account.job, account.now
    dropped, first_left = _sought(job, first, late, source)
    due, following = _due(job, first_left, now, source)
    missed = [at for at in due if at < late]
    on_time = due[len(missed) :]
    rescued = _rescued(job, now, missed, on_time[0] if on_time else following)
    account.skip(dropped, SkipReason.MISFIRE)
    account.skip(Stretch.of(missed[: len(missed) - len(rescued)]), SkipReason.MISFIRE)
    for at in rescued:
        account.catch_up(at)
    for at in on_time:
        account.run(at)
    return following


def _between_dates(job: ScheduledJob, after: datetime, source: OccurrenceSource) -> Iterator[Occurrence]:
    occurrence = _next_between_dates(job, after, source)
    while occurrence is not None:
        yield occurrence
        occurrence = _next_between_dates(job, occurrence.at, source)


def _next_between_dates(job: ScheduledJob, after: datetime, source: OccurrenceSource) -> Occurrence | None:
    definition = job.definition
    floor = max(after, job.last_nominal) if job.last_nominal else after
    if definition.start_date:
        floor = max(floor, definition.start_date - BEFORE)
    occurrence = source.after(floor)
    if occurrence is None or (definition.end_date and occurrence.at > definition.end_date):
        return None
    return occurrence


def _following(job: ScheduledJob, at: datetime, source: OccurrenceSource) -> datetime | None:
    """Find the nominal time that follows one of the job's."""
    occurrence = _next_between_dates(job, at, source)
    return None if occurrence is None else occurrence.at


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Neighbouring nominal times: the first, the last and how many."""

    first: datetime
    last: datetime
    count: int

    @classmethod
    def of(cls, times: Sequence[datetime]) -> Stretch | None:
        """Sum up times in order; None if there are none."""
        return cls(first=times[0], last=times[-1], count=len(times)) if times else None


def _sought(
    job: ScheduledJob, next_run: datetime, late: datetime, source: OccurrenceSource
) -> tuple[Stretch | None, datetime | None]:
    """
    Pass over late nominal times that no policy would run, if there are more than one plan may walk through.

    Answers them, and the first nominal time after them.
    """
    before, end = next_run - BEFORE, late - BEFORE
    if job.definition.end_date is not None:
        end = min(end, job.definition.end_date)
    missed = source.count(before, end) if before < end else 0
    if missed <= MAX_STEPS:
        return None, next_run
    count = missed - job.definition.max_catchup
    last = nth_after(source, before, count, end)
    return Stretch(first=next_run, last=last, count=count), next_fire(job, last, source)


def _due(
    job: ScheduledJob, first: datetime | None, now: datetime, source: OccurrenceSource
) -> tuple[list[datetime], datetime | None]:
    """List what this plan walks through, and the first nominal time that it leaves to the next."""
    due: list[datetime] = []
    if first is None:
        return due, None
    for at in itertools.chain([first], (later.at for later in _between_dates(job, first, source))):
        if at > now or len(due) == MAX_STEPS:
            return due, at
        due.append(at)
    return due, None


def _rescued(job: ScheduledJob, now: datetime, missed: list[datetime], successor: datetime | None) -> list[datetime]:
    """Choose which late nominal times still run, knowing the first that follows them; none beyond the window does."""
    if not missed:
        return []
    definition = job.definition
    grace = timedelta(seconds=definition.misfire_grace_seconds)
    match definition.misfire_policy:
        case MisfirePolicy.RUN_ONCE if successor is None or successor > now:
            most = 1
        case MisfirePolicy.RUN_ALL if successor is None or successor >= now - grace:
            most = definition.max_catchup
        case _:
            most = 0
    oldest = now - timedelta(seconds=definition.catchup_window_seconds)
    return [at for at in missed[max(0, len(missed) - most) :] if at >= oldest]


def _append(rows: list[JobExecution], row: JobExecution) -> None:
    """Add a row, or stretch the last one over it: neighbours skipped for the same reason are one row."""
    last = rows[-1] if rows else None
    if last is None or row.skip_reason is None or last.skip_reason is not row.skip_reason:
        rows.append(row)
        return
    count = (last.covers_count or 0) + (row.covers_count or 0)
    rows[-1] = replace(last, covers_until=row.covers_until, covers_count=count)


class _Account:
    """The rows of one plan while they are being decided; once max_executions are made, it takes no more."""

    def __init__(self, *, job: ScheduledJob, now: datetime, new_id: NewId) -> None:
        self.job = job
        self.now = now
        self._new_id = new_id
        self._executions: list[JobExecution] = []
        self._counters = job.counters
        self._last_run = job.last_run
        self._last_nominal = job.last_nominal
        self._outcome = job.outcome

    def run(self, at: datetime) -> None:
        """Fire on time: what happens when all slots are taken is the overlap policy's to say."""
        if self._counters.slots_taken < self.job.definition.concurrency:
            self._add(at)
            return
        match self.job.definition.overlap_policy:
            case OverlapPolicy.SKIP:
                self.skip(Stretch.of([at]), SkipReason.OVERLAP)
            case OverlapPolicy.QUEUE_ONE if self._counters.waiting:
                self.skip(Stretch.of([at]), SkipReason.OVERLAP)
            case _:
                self._add(at)

    def catch_up(self, at: datetime) -> None:
        """Fire late: run_all queues whatever the overlap policy, run_once fires as if on time."""
        if self.job.definition.misfire_policy is MisfirePolicy.RUN_ALL:
            self._add(at)
        else:
            self.run(at)

    def skip(self, times: Stretch | None, reason: SkipReason) -> None:
        """Record that nominal times do not run, in one row."""
        if times is None or self._is_full:
            return
        skipped = replace(
            self._new_execution(times.first, has_slot=False),
            status=ExecutionStatus.SKIPPED,
            skip_reason=reason,
            covers_until=times.last,
            covers_count=times.count,
            completed_at=self.now,
        )
        _append(self._executions, skipped)
        self._last_nominal = times.last
        self._outcome = ExecutionStatus.SKIPPED

    def closed(self, following: datetime | None) -> Plan:
        """Give the plan: the job as these rows leave it, to fire next at `following` unless it made all it may."""
        next_run = None if self._is_full else following
        job = altered(
            self.job,
            next_run=next_run,
            last_run=self._last_run,
            last_nominal=self._last_nominal,
            outcome=self._outcome,
            exhausted=next_run is None,
            counters=self._counters,
        )
        return _plan(job, tuple(self._executions))

    @property
    def _is_full(self) -> bool:
        limit = self.job.definition.max_executions
        return limit is not None and self._counters.scheduled_count >= limit

    def _add(self, at: datetime) -> None:
        if self._is_full:
            return
        row = self._new_execution(at, has_slot=is_admitted(self.job.definition, self._counters))
        self._executions.append(row)
        self._counters = counted(self._counters, row, scheduled=1)
        self._last_run = self._last_nominal = at
        self._outcome = None

    def _new_execution(self, at: datetime, *, has_slot: bool) -> JobExecution:
        return new_execution(self.job, at, now=self.now, execution_id=self._new_id(self.now), has_slot=has_slot)
