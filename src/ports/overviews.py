"""What pages that show many jobs, or much time, at a glance ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from ..domain.execution import ExecutionStatus
from ..domain.job import ScheduledJob
from ..domain.months import Day, DayTally
from ..domain.series import Buckets, SeriesPoint, Tally
from .reports import Period

OUTCOME_JOBS_BOUNDS: Final = (1, 150)
"""As many ids as fit into one line of a request."""
OUTCOMES_BOUNDS: Final = (1, 100)
UPCOMING_BOUNDS: Final = (1, 1000)
WITHIN_BOUNDS: Final = (timedelta(milliseconds=1), timedelta(days=7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    How one execution stands, or what came of it.

    `lateness_ms` is from the nominal time to the first start, of fires of the schedule that have begun.
    """

    execution_id: UUID
    scheduled_at: datetime
    status: ExecutionStatus
    started_at: datetime | None
    duration_ms: int | None
    lateness_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcomes:
    """A job's newest outcomes, newest nominal time first."""

    job_id: UUID
    outcomes: Sequence[Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """
    What began and ended over a period, bucket by bucket, oldest first; the last bucket is not over yet.

    `share` is how much of the ledger was looked at: 1 unless so much was made in the period that a sample had to do,
    from which counts are then estimated.
    """

    period: Period
    bucket: timedelta
    share: float
    points: Sequence[SeriesPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcomingFire:
    """One fire to come."""

    job_id: UUID
    name: str
    scheduled_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcomingFires:
    """The next fires of all jobs, earliest first; `truncated` if there are more within the time asked for."""

    fires: Sequence[UpcomingFire]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDay:
    """
    A day of a job: how its executions of that day stand or ended, and how many fires are to come, from `first_fire` on.

    Executions of every origin count, on the day of their scheduled_at; a skip that covers several nominal times counts
    as so many, all on the day of the first.
    """

    date: date
    outcomes: Mapping[ExecutionStatus, int]
    fires: int
    first_fire: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCalendar:
    """
    A month of a job, as a zone's calendar has it.

    `share` is how much of the ledger was looked at: 1 unless the job has so much in the month that a sample had to do,
    from which outcomes are then estimated.
    """

    month: str
    timezone: str
    days: Sequence[CalendarDay]
    share: float = 1


class Overviews(Protocol):
    """The part of `IScheduler` that shows many jobs, or much time, at a glance."""

    async def get_job_outcomes(self, job_ids: Sequence[UUID], *, limit: int = 50) -> Sequence[JobOutcomes]:
        """
        Read the newest `limit` (1..100) outcomes of each of several jobs (1..150), in the order of the ids.

        What has not ended is among them. Jobs that this tenant does not have, or that were deleted, are left out.
        """

    async def get_series(self, period: Period = Period.DAY) -> Series:
        """Count what began and what ended over a period, in about 60 buckets of equal width; empty ones are there."""

    async def list_upcoming(self, *, within: timedelta = timedelta(hours=1), limit: int = 500) -> UpcomingFires:
        """
        Show the next `limit` (1..1000) fires of all active jobs `within` a time from now (up to 7 days), in order.

        Of a job that is due by now the one nominal time that it fires next is shown, and what follows after now.
        """

    async def get_job_calendar(
        self, job_id: UUID, *, month: str | None = None, timezone: str | None = None
    ) -> JobCalendar:
        """
        Show a month (`2026-11`, by default this one) of a job, day by day, in a zone (by default the job's).

        Raises:
            InvalidInput: on field `month`.
            InvalidSchedule: on field `timezone`.
        """


class OverviewStore(Protocol):
    """
    Reads for `Overviews`, each call scoped to one tenant and one snapshot.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline.
    """

    async def outcomes(self, tenant_id: str, job_ids: Sequence[UUID], *, limit: int) -> Sequence[JobOutcomes]:
        """Read as `Overviews.get_job_outcomes` does; each id is given once."""

    async def tally(self, tenant_id: str, buckets: Buckets, *, at_most: int) -> Tally:
        """
        Count executions created at or after `buckets.since`, each start and each end in the bucket it lies in.

        Starts lie at started_at, ends at completed_at, else at created_at. If more than `at_most` were created since,
        about as many are picked of the whole table, wherever they lie, and `share` says which part of it that is.
        """

    async def due_before(self, tenant_id: str, until: datetime, *, limit: int) -> Sequence[ScheduledJob]:
        """Read the active jobs with a next_run of `until` or before, `limit` at most, earliest first."""

    async def daily(self, tenant_id: str, job_id: UUID, days: Sequence[Day], *, at_most: int) -> DayTally:
        """
        Count a job's executions by status for each of several days that follow one another, in their order.

        Those of every origin whose scheduled_at lies on the day; a skip counts as the nominal times that it covers.
        If more than `at_most` executions lie on these days, about as many are picked of the whole table, as by `tally`.
        """
