"""What pages ask for at a glance, in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import Final
from uuid import UUID

from ...domain.errors import JobNotFound
from ...domain.execution import JobExecution
from ...domain.job import JobStatus, ScheduledJob
from ...domain.lateness import lateness_ms, percentile
from ...domain.months import Day, DayTally
from ...domain.series import Buckets, Tally
from ...ports.overviews import JobOutcomes, Outcome
from .database import MemoryDatabase
from .documents import detached_job

_NEWEST: Final = attrgetter("scheduled_at", "id")


class MemoryOverviews:
    """Reads for pages, each call scoped to one tenant."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def outcomes(self, tenant_id: str, job_ids: Sequence[UUID], *, limit: int) -> Sequence[JobOutcomes]:
        """Read the newest outcomes of each of several jobs."""
        found = []
        for job_id in job_ids:
            if self._has(tenant_id, job_id):
                rows = sorted(self._database.executions.of_job(job_id), key=_NEWEST, reverse=True)
                found.append(JobOutcomes(job_id=job_id, outcomes=[_outcome(row) for row in rows[:limit]]))
        return found

    async def tally(self, tenant_id: str, buckets: Buckets, *, at_most: int) -> Tally:
        """Count starts and ends by bucket; of too many, every so manieth counts."""
        everything = list(self._database.executions)
        rows = [row for row in everything if row.tenant_id == tenant_id and row.created_at >= buckets.since]
        picked, share = _picked(rows, everything, at_most)
        return _tallied(picked, Tally(buckets, share))

    async def due_before(self, tenant_id: str, until: datetime, *, limit: int) -> Sequence[ScheduledJob]:
        """Read the active jobs that are due by an instant, earliest first."""
        due = [
            (job.next_run, job.id, job)
            for job in self._database.jobs.values()
            if job.tenant_id == tenant_id and job.status is JobStatus.ACTIVE and job.next_run and job.next_run <= until
        ]
        return [detached_job(job) for _, _, job in sorted(due)[:limit]]

    async def daily(self, tenant_id: str, job_id: UUID, days: Sequence[Day], *, at_most: int) -> DayTally:
        """Count a job's nominal times by day and status; of too many, every so manieth counts."""
        of_job = self._database.executions.of_job(job_id) if self._has(tenant_id, job_id) else ()
        rows = [row for row in of_job if days[0].start <= row.scheduled_at < days[-1].end]
        picked, share = _picked(rows, list(self._database.executions), at_most)
        tally = DayTally(days, share)
        for row in picked:
            place = next(place for place, day in enumerate(days) if row.scheduled_at < day.end)
            tally.add(place, row.status, row.covers_count or 1)
        return tally

    def _has(self, tenant_id: str, job_id: UUID) -> bool:
        try:
            self._database.job(tenant_id, job_id)
        except JobNotFound:
            return False
        return True


def _picked(
    rows: Sequence[JobExecution], everything: Sequence[JobExecution], at_most: int
) -> tuple[Sequence[JobExecution], float]:
    """Keep of too many rows those among every so manieth of all, and tell what share of all was looked at."""
    if len(rows) <= at_most:
        return rows, 1.0
    step = -(-len(everything) // at_most)
    picked = set(map(id, everything[::step]))
    return [row for row in rows if id(row) in picked], 1 / step


def _outcome(row: JobExecution) -> Outcome:
    return Outcome(
        execution_id=row.id,
        scheduled_at=row.scheduled_at,
        status=row.status,
        started_at=row.started_at,
        duration_ms=row.duration_ms,
        lateness_ms=lateness_ms(row.origin, row.scheduled_at, row.first_start),
    )


def _tallied(rows: Sequence[JobExecution], tally: Tally) -> Tally:
    late: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        tally.started(tally.buckets.place(row.started_at), 1)
        tally.ended(tally.buckets.place(row.completed_at or row.created_at), row.status, row.covers_count or 1)
        place = tally.buckets.place(row.first_start)
        lateness = lateness_ms(row.origin, row.scheduled_at, row.first_start)
        if place is not None and lateness is not None:
            late[place].append(lateness)
    for place, values in late.items():
        ascending = sorted(values)
        tally.late(place, percentile(ascending, 50) or 0, percentile(ascending, 99) or 0)
    return tally
