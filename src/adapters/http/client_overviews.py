"""The client's requests about many jobs, or much time, at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from ...ports.overviews import JobCalendar, JobOutcomes, Series, UpcomingFires
from ...ports.reports import Period
from .transport import Transport
from .wire.overviews import MILLISECOND, CalendarOut, OutcomesOut, SeriesOut, UpcomingOut


class OverviewRequests:
    """The part of `IScheduler` that is seen at a glance."""

    _transport: Transport

    async def get_job_outcomes(self, job_ids: Sequence[UUID], *, limit: int = 50) -> Sequence[JobOutcomes]:
        """Read the newest outcomes of several jobs (`IScheduler.get_job_outcomes`)."""
        query = [*(("job_id", str(job_id)) for job_id in job_ids), ("limit", str(limit))]
        return (await self._transport.ask(OutcomesOut, "GET", "/jobs/outcomes", query=query)).value()

    async def get_series(self, period: Period = Period.DAY) -> Series:
        """Count what began and ended over a period (`IScheduler.get_series`)."""
        query = [("period", period.value)]
        return (await self._transport.ask(SeriesOut, "GET", "/scheduler/series", query=query)).value()

    async def list_upcoming(self, *, within: timedelta = timedelta(hours=1), limit: int = 500) -> UpcomingFires:
        """Show the next fires of all active jobs (`IScheduler.list_upcoming`)."""
        query = [("within_ms", str(within // MILLISECOND)), ("limit", str(limit))]
        return (await self._transport.ask(UpcomingOut, "GET", "/jobs/upcoming", query=query)).value()

    async def get_job_calendar(
        self, job_id: UUID, *, month: str | None = None, timezone: str | None = None
    ) -> JobCalendar:
        """Show a month of a job (`IScheduler.get_job_calendar`)."""
        query = [(name, value) for name, value in (("month", month), ("timezone", timezone)) if value is not None]
        return (await self._transport.ask(CalendarOut, "GET", f"/jobs/{job_id}/calendar", query=query)).value()
