"""Nominal times out of a list, ids out of a counter, and a job's counters recounted from its rows."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from tests.makers import START, occurrences_of
from tocsin.domain.counters import JobCounters
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin
from tocsin.domain.lifecycle import Moment
from tocsin.domain.occurrences import Occurrence

_numbers = itertools.count(1)


def count_id(_: datetime) -> UUID:
    """The next id, larger than all before it."""
    return UUID(int=next(_numbers))


def at(seconds: float) -> datetime:
    """So many seconds after START."""
    return START + timedelta(seconds=seconds)


def moment(seconds: float) -> Moment:
    """The time of a decision, so many seconds after START."""
    return Moment(now=at(seconds), occurrences=occurrences_of, new_id=count_id, by="ada")


class Listed:
    """The nominal times of a list."""

    def __init__(self, times: Sequence[datetime]) -> None:
        self.times = times

    def count(self, after: datetime, until: datetime) -> int:
        return sum(after < at <= until for at in self.times)

    def after(self, instant: datetime) -> Occurrence | None:
        """Give the first one later than the instant."""
        index = bisect_right(self.times, instant)
        return Occurrence(at=self.times[index]) if index < len(self.times) else None


def recounted(rows: Iterable[JobExecution]) -> JobCounters:
    """What the rows of a job say of scheduled, slots, waiting and live."""
    rows = list(rows)
    return JobCounters(
        scheduled_count=sum(row.origin is Origin.SCHEDULE and row.skip_reason is None for row in rows),
        slots_taken=sum(row.holds_slot for row in rows),
        waiting=sum(row.status is ExecutionStatus.PENDING and row.available_at is None for row in rows),
        live=sum(not row.status.terminal for row in rows),
    )
