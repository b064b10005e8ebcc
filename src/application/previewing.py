"""The fires to come, in words, of a job or of a schedule that is no job yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID
from zoneinfo import ZoneInfo

from ..domain.definition import validate
from ..domain.description import describe
from ..domain.errors import InvalidJob, InvalidSchedule
from ..domain.firing import upcoming
from ..domain.job import JobDefinition, ScheduledJob
from ..domain.occurrences import EARLIEST, LATEST, Occurrence
from ..domain.timing import read_schedule, schedule_of, type_of
from ..domain.zones import load_zone
from ..ports.reports import Preview, PreviewedFire
from ..ports.scheduler import PREVIEW_BOUNDS, Timing
from .planning import Planning

_NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Previews:
    """Computes previews; touches no store."""

    planning: Planning

    def of_timing(self, timing: Timing, *, after: datetime, count: int) -> Preview:
        """
        Show what a job with this timing, made at `after`, would do.

        Raises:
            InvalidSchedule: the schedule, its zone, a bound or the count.
        """
        definition = JobDefinition(
            name="preview",
            type=type_of(read_schedule(timing.schedule)),
            schedule=timing.schedule,
            timezone=timing.timezone,
            handler_name="preview",
            start_date=timing.start_date,
            end_date=timing.end_date,
            max_executions=timing.max_executions,
        )
        try:
            validate(definition)
        except InvalidJob as error:
            raise InvalidSchedule(error.errors) from None
        _refuse_naive(after)
        # An interval counts from when its job was made, and nominal times lie within these years.
        made_at = min(max(after, EARLIEST), LATEST)
        job = ScheduledJob(id=_NOBODY, definition=definition, created_at=made_at, updated_at=made_at)
        return self.of_job(job, after=after, count=count)

    def of_job(self, job: ScheduledJob, *, after: datetime, count: int) -> Preview:
        """Show what a job would do while active; one of type event has no fires to show."""
        lowest, highest = PREVIEW_BOUNDS
        if not lowest <= count <= highest:
            raise InvalidSchedule.of("count", f"must be between {lowest} and {highest}")
        _refuse_naive(after)
        schedule = schedule_of(job.definition)
        if schedule is None:
            return Preview(fires=[], description="when triggered")
        zone = load_zone(job.definition.timezone)
        fires = islice(upcoming(job, after, self.planning.occurrences(job)), count)
        return Preview(
            fires=[_previewed(fire, zone) for fire in fires],
            description=describe(schedule, job.definition.timezone),
        )


def _refuse_naive(after: datetime) -> None:
    if after.utcoffset() is None:
        raise InvalidSchedule.of("after", "must have a UTC offset")


def _previewed(occurrence: Occurrence, zone: ZoneInfo) -> PreviewedFire:
    return PreviewedFire(scheduled_at=occurrence.at, local=occurrence.at.astimezone(zone), note=occurrence.note)
