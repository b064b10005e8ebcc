"""What pages ask for at a glance, over PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
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
from .statements import statements
from .transaction import Parameters, Row, Transaction

_OVERVIEWS: Final = statements("overviews")
_MILLISECOND: Final = timedelta(milliseconds=1)


class PostgresOverviews:
    """Reads for pages, each call scoped to one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outcomes(self, tenant_id: str, job_ids: Sequence[UUID], *, limit: int) -> Sequence[JobOutcomes]:
        """Read the newest outcomes of each of several jobs."""
        parameters: Parameters = {"tenant_id": tenant_id, "job_ids": list(job_ids), "limit": limit}

        async def work(transaction: Transaction) -> Sequence[JobOutcomes]:
            by_job: defaultdict[UUID, list[Outcome]] = defaultdict(list)
            for row in await transaction.rows(_OVERVIEWS["outcomes"], **parameters):
                by_job[row["job_id"]] += [] if row["id"] is None else [_outcome(row)]
            return [JobOutcomes(job_id=job_id, outcomes=found) for job_id, found in by_job.items()]

        return await self._database.read(work)

    async def tally(self, tenant_id: str, buckets: Buckets, *, at_most: int) -> Tally:
        """Count starts and ends by bucket; of too many, those on some of the pages count."""
        scope = {"tenant_id": tenant_id, "since": buckets.since}

        async def work(transaction: Transaction) -> Tally:
            [size] = await transaction.rows(_OVERVIEWS["series_size"], at_most=at_most, **scope)
            share, percent = _sample(size, at_most)
            places = {"first": buckets.first, "width": buckets.width}
            return await _tallied(transaction, Tally(buckets, share), {**scope, **places, "percent": percent})

        return await self._database.read(work)

    async def due_before(self, tenant_id: str, until: datetime, *, limit: int) -> Sequence[ScheduledJob]:
        """Read the active jobs that are due by an instant, earliest first."""

        async def work(transaction: Transaction) -> Sequence[ScheduledJob]:
            parameters: Parameters = {"tenant_id": tenant_id, "until": until, "limit": limit}
            return await read_jobs(transaction, await transaction.column(_OVERVIEWS["due_before"], **parameters))

        return await self._database.read(work)

    async def daily(self, tenant_id: str, job_id: UUID, days: Sequence[Day], *, at_most: int) -> DayTally:
        """Count a job's nominal times by day and status; of too many, those on some of the pages count."""
        scope = {"tenant_id": tenant_id, "job_id": job_id, "since": days[0].start, "until": days[-1].end}

        async def work(transaction: Transaction) -> DayTally:
            [size] = await transaction.rows(_OVERVIEWS["daily_size"], at_most=at_most, **scope)
            share, percent = _sample(size, at_most)
            tally, starts = DayTally(days, share), [day.start for day in days]
            for row in await transaction.rows(_OVERVIEWS["daily"], starts=starts, percent=percent, **scope):
                tally.add(row["place"] - 1, ExecutionStatus(row["status"]), row["total"])
            return tally

        return await self._database.read(work)


def _outcome(row: Row) -> Outcome:
    return Outcome(
        execution_id=row["id"],
        scheduled_at=row["scheduled_at"],
        status=ExecutionStatus(row["status"]),
        started_at=row["started_at"],
        duration_ms=row["duration_ms"],
        lateness_ms=lateness_ms(Origin(row["origin"]), row["scheduled_at"], row["first_start"]),
    )


def _sample(size: Row, at_most: int) -> tuple[float, float | None]:
    """Tell what share of the ledger is looked at, and that in per cent of its pages; None if all of it is."""
    if size["made"] <= at_most:
        return 1.0, None
    share = min(1.0, at_most / max(size["stored"], 1))
    return share, 100 * share


async def _tallied(transaction: Transaction, tally: Tally, parameters: Parameters) -> Tally:
    place = tally.buckets.place
    for row in await transaction.rows(_OVERVIEWS["series"], **parameters):
        tally.started(place(row["started_in"]), row["executions"])
        tally.ended(place(row["ended_in"]), ExecutionStatus(row["status"]), row["nominal_times"])
    for row in await transaction.rows(_OVERVIEWS["series_lateness"], **parameters):
        p50, p99 = (row[name] // _MILLISECOND for name in ("p50", "p99"))
        tally.late(place(row["bucket"]), p50, p99)
    return tally
