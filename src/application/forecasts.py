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
        source, limit = self._source(job), job.definition.max_executions
        left = None if limit is None else max(0, limit - job.counters.scheduled_count)
        shown = []
        for day, counts in zip(days, outcomes, strict=True):
            fires, first = (0, None) if source is None else self._on(job, day, source)
            if left is not None:
                fires = min(fires, left)
                left -= fires
            shown.append(CalendarDay(date=day.date, outcomes=counts, fires=fires, first_fire=first if fires else None))
        return shown

    def _on(self, job: ScheduledJob, day: Day, source: OccurrenceSource) -> tuple[int, datetime | None]:
        """Count what is still to fire on a day, and find the first of it."""
        if job.next_run is None:
            return 0, None
        after = max(day.start, job.next_run, self.now) - BEFORE
        until = min(day.end - BEFORE, job.definition.end_date or day.end)
        if after >= until:
            return 0, None
        return source.count(after, until), next_fire(job, after, source)

    def _source(self, job: ScheduledJob) -> OccurrenceSource | None:
        try:
            return self.planning.occurrences(job)
        except InvalidSchedule:
            return None
