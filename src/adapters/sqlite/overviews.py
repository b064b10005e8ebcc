"""What pages ask for at a glance, over SQLite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from ...domain.execution import ExecutionStatus, Origin
from ...domain.job import ScheduledJob
from ...domain.lateness import lateness_ms
from ...domain.months import Day, DayTally
from ...domain.series import Buckets, Tally
from ...ports.overviews import JobOutcomes, Outcome
from .accounts import read_jobs
from .database import Database
from .instants import from_micros, span_micros, to_micros
from .statements import statements
from .transaction import Parameters, Row, Transaction, array

_OVERVIEWS: Final = statements("overviews")
_MICROS_IN_A_MILLISECOND: Final = 1000


class SqliteOverviews:
    """Reads for pages, each call scoped to one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outcomes(self, tenant_id: str, job_ids: Sequence[UUID], *, limit: int) -> Sequence[JobOutcomes]:
        """Read the newest outcomes of each of several jobs."""

        def work(transaction: Transaction) -> Sequence[JobOutcomes]:
            rows = transaction.rows(_OVERVIEWS["outcomes"], tenant_id=tenant_id, job_ids=array(job_ids), limit=limit)
            by_job: defaultdict[str, list[Outcome]] = defaultdict(list)
            for row in rows:
                by_job[row["job_id"]] += [] if row["id"] is None else [_outcome(row)]
            return [JobOutcomes(job_id=UUID(job_id), outcomes=found) for job_id, found in by_job.items()]

        return await self._database.read(work)

    async def tally(self, tenant_id: str, buckets: Buckets, *, at_most: int) -> Tally:
        """Count starts and ends by bucket; of too many, one out of so many counts."""
        scope = {"tenant_id": tenant_id, "since": to_micros(buckets.since)}

        def work(transaction: Transaction) -> Tally:
            [size] = transaction.rows(_OVERVIEWS["series_size"], at_most=at_most, **scope)
            picked = _picked(size, at_most)
            places = {"first": to_micros(buckets.first), "width": span_micros(buckets.width)}
            return _tallied(transaction, Tally(buckets, 1 / picked["step"]), {**scope, **picked, **places})

        return await self._database.read(work)

    async def due_before(self, tenant_id: str, until: datetime, *, limit: int) -> Sequence[ScheduledJob]:
        """Read the active jobs that are due by an instant, earliest first."""

        def work(transaction: Transaction) -> Sequence[ScheduledJob]:
            parameters: Parameters = {"tenant_id": tenant_id, "until": to_micros(until), "limit": limit}
            return read_jobs(transaction, array(transaction.column(_OVERVIEWS["due_before"], **parameters)))

        return await self._database.read(work)

    async def daily(self, tenant_id: str, job_id: UUID, days: Sequence[Day], *, at_most: int) -> DayTally:
        """Count a job's nominal times by day and status; of too many, one out of so many counts."""
        span = {"since": to_micros(days[0].start), "until": to_micros(days[-1].end)}
        scope: Parameters = {"tenant_id": tenant_id, "job_id": str(job_id), **span}
        spans = array((to_micros(day.start), to_micros(day.end)) for day in days)

        def work(transaction: Transaction) -> DayTally:
            [size] = transaction.rows(_OVERVIEWS["daily_size"], at_most=at_most, **scope)
            picked = _picked(size, at_most)
            tally = DayTally(days, 1 / picked["step"])
            for row in transaction.rows(_OVERVIEWS["daily"], days=spans, **scope, **picked):
                tally.add(row["place"], ExecutionStatus(row["status"]), row["total"])
            return tally

        return await self._database.read(work)


def _outcome(row: Row) -> Outcome:
    scheduled_at = from_micros(row["scheduled_at"])
    return Outcome(
        execution_id=UUID(row["id"]),
        scheduled_at=scheduled_at,
        status=ExecutionStatus(row["status"]),
        started_at=from_micros(row["started_at"]),
        duration_ms=row["duration_ms"],
        lateness_ms=lateness_ms(Origin(row["origin"]), scheduled_at, from_micros(row["first_start"])),
    )


def _picked(size: Row, at_most: int) -> Mapping[str, int]:
    """Tell out of how many rows, its `step`, one is picked, and from where to where; 1 if all count."""
    lowest, highest = size["lowest"], size["highest"]
    step = 1 if size["made"] <= at_most else max(1, -(-(highest - lowest + 1) // at_most))
    return {"lowest": lowest, "highest": highest, "step": step}


def _tallied(transaction: Transaction, tally: Tally, parameters: Parameters) -> Tally:
    last = tally.buckets.count - 1
    for row in transaction.rows(_OVERVIEWS["series"], **parameters):
        tally.started(_within(row["started_in"], last), row["executions"])
        tally.ended(_within(row["ended_in"], last), ExecutionStatus(row["status"]), row["nominal_times"])
    for row in transaction.rows(_OVERVIEWS["series_lateness"], **parameters):
        p50, p99 = (row[name] // _MICROS_IN_A_MILLISECOND for name in ("p50", "p99"))
        tally.late(_within(row["bucket"], last), p50, p99)
    return tally


def _within(place: int | None, last: int) -> int | None:
    return place if place is not None and place <= last else None
