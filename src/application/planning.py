"""Joins the pure decisions about a job to a calendar and a source of ids."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from typing import Final
from uuid import UUID

from ..domain.firing import LOOK_AHEAD, fire
from ..domain.job import ScheduledJob
from ..domain.json import clean_text
from ..domain.lifecycle import Moment, unplannable
from ..domain.occurrences import OccurrenceSource
from ..domain.plan import NewId, Plan
from ..domain.timing import source_of, timing_of
from ..domain.trace import TraceContext
from ..ports.calendar import Calendar
from ..ports.telemetry import Telemetry

CACHED_SOURCES: Final = 20_000
REASON_LIMIT: Final = 1024


class Planning:
    """Plans fires and changes; the nominal times of recently seen schedules are kept at hand."""

    def __init__(self, calendar: Calendar, new_id: NewId, telemetry: Telemetry) -> None:
        self._calendar = calendar
        self._new_id = new_id
        self._telemetry = telemetry
        self._sources: dict[Hashable, OccurrenceSource] = {}

    def occurrences(self, job: ScheduledJob) -> OccurrenceSource:
        """
        Give a job's nominal times.

        Raises:
            InvalidSchedule: the schedule or its zone cannot be read.
        """
        key = timing_of(job)
        source = self._sources.get(key)
        if source is None:
            if len(self._sources) >= CACHED_SOURCES:
                self._sources.clear()
            source = self._sources[key] = source_of(job, self._calendar.wall_times)
        return source

    def new_id(self, now: datetime) -> UUID:
        """Make an id that orders by time."""
        return self._new_id(now)

    def moment(self, now: datetime, by: str | None, *, trace: TraceContext | None = None, depth: int = 0) -> Moment:
        """Gather what a decision at `now` needs, under which span it is made, and how many events led to it."""
        return Moment(now=now, occurrences=self.occurrences, new_id=self._new_id, by=by, trace=trace, depth=depth)

    def fire(self, job: ScheduledJob, now: datetime) -> Plan:
        """Plan what is due, or about to be; a job that cannot be planned fails by itself and hinders nobody."""
        try:
            return fire(job, now, self.occurrences(job), self._new_id, ahead=LOOK_AHEAD)
        except Exception as error:  # noqa: BLE001 - one poison row must not stop the timer
            return self._set_aside(job, now, error)

    def _set_aside(self, job: ScheduledJob, now: datetime, error: Exception) -> Plan:
        reason = clean_text(str(error) or type(error).__name__, limit=REASON_LIMIT)
        self._telemetry.error("job.unplannable", job_id=str(job.id), tenant_id=job.tenant_id, error=reason)
        return unplannable(job, now, reason)
