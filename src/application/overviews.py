"""The use cases behind pages: `IScheduler` as far as many jobs, or much time, are seen at a glance, as one tenant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Final
from uuid import UUID

from ..domain.errors import InvalidJob
from ..domain.months import days_of, month_of
from ..domain.series import Buckets
from ..domain.zones import load_zone
from ..ports.overviews import (
    OUTCOME_JOBS_BOUNDS,
    OUTCOMES_BOUNDS,
    UPCOMING_BOUNDS,
    WITHIN_BOUNDS,
    JobCalendar,
    JobOutcomes,
    Series,
    UpcomingFires,
)
from ..ports.reports import Period
from ..ports.storage import Storage
from .forecasts import Forecasts
from .planning import Planning

SAMPLED_ROWS: Final = 100_000
"""About how many executions a series, or a month, looks at: of more it would be seconds until it is told."""

_WIDTHS: Final = MappingProxyType(
    {
        Period.HOUR: timedelta(minutes=1),
        Period.DAY: timedelta(minutes=30),
        Period.WEEK: timedelta(hours=3),
        Period.MONTH: timedelta(hours=12),
    }
)


class OverviewRequests:
    """What the scheduler shows at a glance; its fields are the scheduler's."""

    __slots__ = ()

    storage: Storage
    planning: Planning
    tenant_id: str

    async def get_job_outcomes(self, job_ids: Sequence[UUID], *, limit: int = 50) -> Sequence[JobOutcomes]:
        """Read the newest outcomes of several jobs (`IScheduler.get_job_outcomes`)."""
        _check("job_id", len(job_ids), OUTCOME_JOBS_BOUNDS)
        _check("limit", limit, OUTCOMES_BOUNDS)
        return await self.storage.overviews.outcomes(self.tenant_id, list(dict.fromkeys(job_ids)), limit=limit)

    async def get_series(self, period: Period = Period.DAY) -> Series:
        """Count what began and ended over a period (`IScheduler.get_series`)."""
        width = _WIDTHS[period]
        now = await self.storage.jobs.now()
        buckets = Buckets.until(now, width=width, count=period.span // width)
        tally = await self.storage.overviews.tally(self.tenant_id, buckets, at_most=SAMPLED_ROWS)
        return Series(period=period, bucket=width, share=tally.share, points=tally.points)

    async def list_upcoming(self, *, within: timedelta = timedelta(hours=1), limit: int = 500) -> UpcomingFires:
        """Show the next fires of all active jobs (`IScheduler.list_upcoming`)."""
        shortest, longest = WITHIN_BOUNDS
        if not shortest <= within <= longest:
            raise InvalidJob.of("within_ms", f"must be between 1 and {longest // shortest}")
        _check("limit", limit, UPCOMING_BOUNDS)
        now = await self.storage.jobs.now()
        # No other job than the first ones can be among the first fires, and one more says whether there is more.
        jobs = await self.storage.overviews.due_before(self.tenant_id, now + within, limit=limit + 1)
        return await Forecasts(planning=self.planning, now=now).of_jobs(jobs, until=now + within, limit=limit)

    async def get_job_calendar(
        self, job_id: UUID, *, month: str | None = None, timezone: str | None = None
    ) -> JobCalendar:
        """Show a month of a job (`IScheduler.get_job_calendar`)."""
        job = await self.storage.jobs.get(self.tenant_id, job_id)
        zone = load_zone(job.definition.timezone if timezone is None else timezone)
        now = await self.storage.jobs.now()
        shown = month_of(now, zone) if month is None else month
        days = days_of(shown, zone)
        tally = await self.storage.overviews.daily(self.tenant_id, job_id, days, at_most=SAMPLED_ROWS)
        forecast = Forecasts(planning=self.planning, now=now).of_days(job, days, tally.outcomes)
        return JobCalendar(month=shown, timezone=zone.key, days=forecast, share=tally.share)


def _check(field: str, value: int, bounds: tuple[int, int]) -> None:
    lowest, highest = bounds
    if not lowest <= value <= highest:
        raise InvalidJob.of(field, f"must be between {lowest} and {highest}")
