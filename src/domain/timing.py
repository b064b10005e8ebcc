"""How a job's type, its schedule's text and its zone fit together."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Final

from .errors import InvalidSchedule
from .job import JobDefinition, JobType, ScheduledJob
from .occurrences import OccurrenceSource, occurrences
from .schedule import Cron, Interval, Once, Schedule, parse_schedule
from .wall_times import WallTimes
from .zones import load_zone

_UNANCHORED: Final = frozenset({JobType.CRON, JobType.ONE_TIME})
"""The types whose schedules count from nowhere."""

_KINDS: Final = {Cron: JobType.CRON, Interval: JobType.INTERVAL, Once: JobType.ONE_TIME}


def read_schedule(text: str) -> Schedule:
    """
    Read a schedule of any kind: a cron, an interval, or an instant in ISO 8601 with its UTC offset.

    Raises:
        InvalidSchedule: on field `schedule`.
    """
    if not isinstance(text, str):
        raise InvalidSchedule.of("schedule", "must be a text: a cron, an interval or an instant")
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return parse_schedule(text)
    return Once(at=_aware(instant))


def type_of(schedule: Schedule) -> JobType:
    """Name the type of a job that has this schedule and no other end."""
    return _KINDS[type(schedule)]


def schedule_of(definition: JobDefinition) -> Schedule | None:
    """
    Read a definition's schedule and hold it against its type; None for type event.

    Raises:
        InvalidSchedule: the text cannot be read, or is of another kind than the type says.
    """
    if definition.schedule is None:
        return None
    schedule = read_schedule(definition.schedule)
    kind = type_of(schedule)
    allowed = {JobType.CRON, JobType.INTERVAL} if definition.type is JobType.RECURRING else {definition.type}
    if kind not in allowed:
        raise InvalidSchedule.of("schedule", f"{definition.schedule!r} is no schedule for type {definition.type.value}")
    return schedule


def timing_of(job: ScheduledJob) -> Hashable:
    """Tell what a job's nominal times depend on: jobs for which that is the same have the same."""
    definition = job.definition
    if definition.type in _UNANCHORED:
        return definition.type, definition.schedule, definition.timezone
    return definition.type, definition.schedule, definition.timezone, definition.start_date, job.anchor


def source_of(job: ScheduledJob, walls: Callable[[Cron], WallTimes]) -> OccurrenceSource:
    """
    Give the nominal times of a job.

    Raises:
        InvalidSchedule: on field `schedule` or `timezone`; also when the job has no timer.
    """
    zone = load_zone(job.definition.timezone)
    schedule = schedule_of(job.definition)
    if schedule is None:
        raise InvalidSchedule.of("schedule", "a job of type event has no nominal times")
    return occurrences(schedule, anchor=_first_step(job, schedule), zone=zone, walls=walls)


def _first_step(job: ScheduledJob, schedule: Schedule) -> datetime:
    """Say when an interval first fires: at start_date itself, else one interval after its anchor."""
    if job.definition.start_date is None and isinstance(schedule, Interval):
        return job.anchor + schedule.every
    return job.anchor


def _aware(instant: datetime) -> datetime:
    if instant.utcoffset() is None:
        raise InvalidSchedule.of("schedule", "an instant needs a UTC offset, such as 2026-01-31T08:00:00Z")
    return instant
