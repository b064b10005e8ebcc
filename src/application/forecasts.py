"""Fires to come, of many jobs in one order, and of one job by the day."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, takewhile
from typing import Final

from ..domain.errors import InvalidSchedule
from ..domain.execution import ExecutionStatus
from ..domain.firing import BEFORE, next_fire, upcoming
from ..domain.job import ScheduledJob
from ..domain.months import Day
from ..domain.occurrences import OccurrenceSource
from ..ports.overviews import CalendarDay, UpcomingFire, UpcomingFires
from .planning import Planning

_BREATH: Final = 10
"""Fires after which whoever else is due on this event loop has a turn: to find one takes up to some milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """Computes fires to come as seen at `now`; touches no store."""

    planning: Planning
    now: datetime

    async def of_jobs(self, jobs: Sequence[ScheduledJob], *, until: datetime, limit: int) -> UpcomingFires:
        """Merge the fires of jobs up to an instant, `limit` of them at most; jobs are given by their next_run."""
        merged = heapq.merge(*(self._placed(job, place, until) for place, job in enumerate(jobs)))
        fires = []
        for at, place in islice(merged, limit + 1):
            fires.append(UpcomingFire(job_id=jobs[place].id, name=jobs[place].definition.name, scheduled_at=at))
            if len(fires) % _BREATH == 0:
                await asyncio.sleep(0)
        return UpcomingFires(fires=fires[:limit], truncated=len(fires) > limit)

    def _placed(self, job: ScheduledJob, place: int, until: datetime) -> Iterator[tuple[datetime, int]]:
        return ((at, place) for at in takewhile(lambda at: at <= until, self._fires(job)))

    def _fires(self, job: ScheduledJob) -> Iterator[datetime]:
        """Give the next fire, and what follows it after now; nothing more where the schedule cannot be read."""
        if job.next_run is None:
            return
        yield job.next_run
        source = self._source(job)
        if source is not None:
            counters = replace(job.counters, scheduled_count=job.counters.scheduled_count + 1)
            fired = replace(job, last_nominal=job.next_run, counters=counters)
            yield from (fire.at for fire in upcoming(fired, max(job.next_run, self.now), source))

    def of_days(
        self, job: ScheduledJob, days: Sequence[Day], outcomes: Sequence[Mapping[ExecutionStatus, int]]
    ) -> list[CalendarDay]:
        """Put the fires to come of a job beside what came of it on each day."""
        source = None if job.next_run is None else self._source(job)
        left = None if source is None else self._left(job, source, days[0].start)
        shown = []
        for day, counts in zip(days, outcomes, strict=True):
            fires = 0 if source is None else self._count(job, source, (day.start, day.end))
            if left is not None:
                fires = min(fires, left)
                left -= fires
            first = next_fire(job, self._after(job, day.start), source) if source is not None and fires else None
            shown.append(CalendarDay(date=day.date, outcomes=counts, fires=fires, first_fire=first))
        return shown

    def _left(self, job: ScheduledJob, source: OccurrenceSource, start: datetime) -> int | None:
        """Tell how many fires max_executions leaves from an instant on, if all that come before it run."""
        limit = job.definition.max_executions
        if limit is None:
            return None
        return max(0, limit - job.counters.scheduled_count - self._count(job, source, (self.now, start)))

    def _count(self, job: ScheduledJob, source: OccurrenceSource, span: tuple[datetime, datetime]) -> int:
        """Count what is still to come from one instant up to, not including, another; max_executions aside."""
        start, end = span
        after, until = self._after(job, start), min(end - BEFORE, job.definition.end_date or end)
        return source.count(after, until) if after < until else 0

    def _after(self, job: ScheduledJob, start: datetime) -> datetime:
        return max(start, job.next_run or start, self.now) - BEFORE

    def _source(self, job: ScheduledJob) -> OccurrenceSource | None:
        try:
            return self.planning.occurrences(job)
        except InvalidSchedule:
            return None
