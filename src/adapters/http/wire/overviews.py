"""What is seen at a glance, over the wire."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, timedelta
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from ....domain.execution import ExecutionStatus
from ....domain.series import SeriesPoint
from ....ports.overviews import (
    OUTCOME_JOBS_BOUNDS,
    OUTCOMES_BOUNDS,
    UPCOMING_BOUNDS,
    WITHIN_BOUNDS,
    CalendarDay,
    JobCalendar,
    JobOutcomes,
    Outcome,
    Series,
    UpcomingFire,
    UpcomingFires,
)
from ....ports.reports import Period
from .fields import ShownInstant, Timezone
from .model import Input, Output
from .queries import NUMERIC, Term

MILLISECOND: Final = timedelta(milliseconds=1)


class OutcomesQuery(Input):
    """Of which jobs, and how many outcomes of each."""

    job_id: tuple[UUID, ...] = Field(min_length=OUTCOME_JOBS_BOUNDS[0], max_length=OUTCOME_JOBS_BOUNDS[1])
    limit: Annotated[int, Field(ge=OUTCOMES_BOUNDS[0], le=OUTCOMES_BOUNDS[1]), NUMERIC] = 50


class OutcomeOut(Output):
    """One execution in brief; `lateness_ms` is from the nominal time to the first start of a fire of the schedule."""

    execution_id: UUID
    scheduled_at: ShownInstant
    status: ExecutionStatus
    started_at: ShownInstant | None
    duration_ms: int | None
    lateness_ms: int | None


class JobOutcomesOut(Output):
    """A job's newest outcomes, newest nominal time first."""

    job_id: UUID
    outcomes: tuple[OutcomeOut, ...]


class OutcomesOut(Output):
    """The outcomes of several jobs, in the order asked for; jobs that are not there are left out."""

    items: tuple[JobOutcomesOut, ...]

    def value(self) -> list[JobOutcomes]:
        """Read outcomes as they were shown."""
        return [
            JobOutcomes(job_id=shown.job_id, outcomes=[Outcome(**each.__dict__) for each in shown.outcomes])
            for shown in self.items
        ]


class SeriesPointOut(Output):
    """What began and what ended in the bucket that begins at `at`; skips count in nominal times."""

    at: ShownInstant
    started: int
    completed: int
    failed: int
    timeout: int
    skipped: int
    cancelled: int
    lateness_p50_ms: int | None
    lateness_p99_ms: int | None


class SeriesOut(Output):
    """Executions over time, one item for each bucket; `share` is below 1 where counts are estimated from a sample."""

    period: Period
    bucket_ms: int
    share: float
    items: tuple[SeriesPointOut, ...]

    @classmethod
    def of(cls, series: Series) -> SeriesOut:
        """Show a series."""
        items = tuple(map(SeriesPointOut.model_validate, series.points))
        return cls(period=series.period, bucket_ms=series.bucket // MILLISECOND, share=series.share, items=items)

    def value(self) -> Series:
        """Read a series as it was shown."""
        points = [SeriesPoint(**shown.__dict__) for shown in self.items]
        return Series(period=self.period, bucket=self.bucket_ms * MILLISECOND, share=self.share, points=points)


class UpcomingQuery(Input):
    """How far ahead, and how many fires at most."""

    within_ms: Annotated[int, Field(ge=1, le=WITHIN_BOUNDS[1] // MILLISECOND), NUMERIC] = 3_600_000
    limit: Annotated[int, Field(ge=UPCOMING_BOUNDS[0], le=UPCOMING_BOUNDS[1]), NUMERIC] = 500


class UpcomingFireOut(Output):
    """One fire to come."""

    job_id: UUID
    name: str
    scheduled_at: ShownInstant


class UpcomingOut(Output):
    """The next fires of all active jobs, earliest first; `truncated` if there are more within the time asked for."""

    items: tuple[UpcomingFireOut, ...]
    truncated: bool

    @classmethod
    def of(cls, upcoming: UpcomingFires) -> UpcomingOut:
        """Show fires to come."""
        return cls(items=tuple(map(UpcomingFireOut.model_validate, upcoming.fires)), truncated=upcoming.truncated)

    def value(self) -> UpcomingFires:
        """Read fires to come as they were shown."""
        return UpcomingFires(fires=[UpcomingFire(**shown.__dict__) for shown in self.items], truncated=self.truncated)


class CalendarQuery(Input):
    """Which month, in which zone."""

    month: Term | None = Field(default=None, description="Such as 2026-11. Default: this month.")
    timezone: Timezone | None = Field(default=None, description="Default: the job's.")


class CalendarDayOut(Output):
    """
    A day: executions of every origin by how they stand or ended, and how many fires are to come, from `first_fire` on.

    A skip counts as the nominal times that it covers.
    """

    date: date
    outcomes: dict[ExecutionStatus, int]
    fires: int
    first_fire: ShownInstant | None


class CalendarOut(Output):
    """A month of a job, one item for each day; `share` is below 1 where outcomes are estimated from a sample."""

    month: str
    timezone: str
    days: tuple[CalendarDayOut, ...]
    share: float = 1

    @classmethod
    def of(cls, calendar: JobCalendar) -> CalendarOut:
        """Show a month."""
        return cls.model_validate(asdict(calendar))

    def value(self) -> JobCalendar:
        """Read a month as it was shown."""
        days = [CalendarDay(**shown.__dict__) for shown in self.days]
        return JobCalendar(month=self.month, timezone=self.timezone, days=days, share=self.share)
