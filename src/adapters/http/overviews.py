"""What pages ask for that show many jobs, or much time, at a glance."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from .answers import json_answer
from .endpoint import Call, Section, endpoint
from .wire import BASE
from .wire.model import Nothing
from .wire.overviews import (
    MILLISECOND,
    CalendarOut,
    CalendarQuery,
    JobOutcomesOut,
    OutcomesOut,
    OutcomesQuery,
    SeriesOut,
    UpcomingOut,
    UpcomingQuery,
)
from .wire.queries import PeriodQuery


@endpoint("GET", f"{BASE}/jobs/outcomes", {200: OutcomesOut})
async def get_outcomes(call: Call[OutcomesQuery, Nothing]) -> web.Response:
    """Show the newest outcomes of each of several jobs."""
    found = await call.scheduler.get_job_outcomes(call.query.job_id, limit=call.query.limit)
    return json_answer(OutcomesOut(items=tuple(map(JobOutcomesOut.model_validate, found))))


@endpoint("GET", f"{BASE}/jobs/upcoming", {200: UpcomingOut})
async def list_upcoming(call: Call[UpcomingQuery, Nothing]) -> web.Response:
    """List the next fires of all active jobs, in order."""
    within = call.query.within_ms * MILLISECOND
    return json_answer(UpcomingOut.of(await call.scheduler.list_upcoming(within=within, limit=call.query.limit)))


@endpoint("GET", f"{BASE}/jobs/{{job_id}}/calendar", {200: CalendarOut})
async def get_job_calendar(call: Call[CalendarQuery, Nothing]) -> web.Response:
    """
    Show a month of a job: what came of it day by day, and what is still to fire.

    Up to 100,000 executions are counted one by one; of more a sample is, and `share` says how much of all it was.
    """
    query = call.query
    calendar = await call.scheduler.get_job_calendar(call.job_id, month=query.month, timezone=query.timezone)
    return json_answer(CalendarOut.of(calendar))


@endpoint("GET", f"{BASE}/scheduler/series", {200: SeriesOut})
async def get_series(call: Call[PeriodQuery, Nothing]) -> web.Response:
    """
    Count what began and what ended over a period, in buckets of equal width.

    Up to 100,000 executions are counted one by one; of more a sample is, and `share` says how much of all it was.
    """
    return json_answer(SeriesOut.of(await call.scheduler.get_series(call.query.period)))


OVERVIEWS: Final = Section(name="Overviews", endpoints=(get_outcomes, list_upcoming, get_job_calendar, get_series))
"""Its names under /jobs are looked at before the ids of jobs."""
