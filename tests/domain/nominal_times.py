"""The nominal times of a schedule as it is written, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tocsin.adapters.calendar import CroniterCalendar
from tocsin.domain.occurrences import Occurrence, OccurrenceSource, occurrences
from tocsin.domain.schedule import Schedule, parse_schedule
from tocsin.domain.zones import load_zone

MICROSECOND = timedelta(microseconds=1)
ANCHOR = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)


def source_of(schedule: str | Schedule, zone: str = "UTC") -> OccurrenceSource:
    read = parse_schedule(schedule) if isinstance(schedule, str) else schedule
    return occurrences(read, anchor=ANCHOR, zone=load_zone(zone), walls=CroniterCalendar().wall_times)


def between(source: OccurrenceSource, start: datetime, end: datetime) -> Iterator[Occurrence]:
    """Walk the occurrences from `start`, itself included, up to but not including `end`."""
    occurrence = source.after(start - MICROSECOND)
    while occurrence is not None and occurrence.at < end:
        yield occurrence
        occurrence = source.after(occurrence.at)
