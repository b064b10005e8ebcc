"""What pages ask for at a glance, over PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from ...domain.execution import ExecutionStatus, Origin
from ...domain.job import ScheduledJob
from ...domain.lateness import lateness_ms
from ...domain.months import Day
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
        rows = await self._database.rows(
            _OVERVIEWS["outcomes"], tenant_id=tenant_id, job_ids=list(job_ids), limit=limit
        )
        by_job: defaultdict[UUID, list[Outcome]] = defaultdict(list)
        for row in rows:
            by_job[row["job_id"]] += [] if row["id"] is None else [_outcome(row)]
        return [JobOutcomes(job_id=job_id, outcomes=found) for job_id, found in by_job.items()]

    async def tally(self, tenant_id: str, buckets: Buckets, *, at_most: int) -> Tally:
        """Count starts and ends by bucket; of too many, those on some of the pages count."""
        scope = {"tenant_id": tenant_id, "since": buckets.since}

        async def work(transaction: Transaction) -> Tally:
            [size] = await transaction.rows(_OVERVIEWS["series_size"], at_most=at_most, **scope)
            share = 1.0 if size["made"] <= at_most else min(1.0, at_most / max(size["stored"], 1))
            percent = None if size["made"] <= at_most else 100 * share
            places = {"first": buckets.first, "width": buckets.width}
            return await _tallied(transaction, Tally(buckets, share), {**scope, **places, "percent": percent})

        return await self._database.read(work)

    async def due_before(self, tenant_id: str, until: datetime, *, limit: int) -> Sequence[ScheduledJob]:
        """Read the active jobs that are due by an instant, earliest first."""

        async def work(transaction: Transaction) -> Sequence[ScheduledJob]:
            parameters: Parameters = {"tenant_id": tenant_id, "until": until, "limit": limit}
            return await read_jobs(transaction, await transaction.column(_OVERVIEWS["due_before"], **parameters))

        return await self._database.read(work)

    async def daily(self, tenant_id: str, job_id: UUID, days: Sequence[Day]) -> Sequence[Mapping[ExecutionStatus, int]]:
        """Count a job's nominal times by day and status."""
        rows = await self._database.rows(
            _OVERVIEWS["daily"],
            tenant_id=tenant_id,
            job_id=job_id,
            starts=[day.start for day in days],
            since=days[0].start,
            until=days[-1].end,
        )
        counts: list[dict[ExecutionStatus, int]] = [{} for _ in days]
        for row in rows:
            counts[row["place"] - 1][ExecutionStatus(row["status"])] = row["total"]
        return counts


def _outcome(row: Row) -> Outcome:
    return Outcome(
        execution_id=row["id"],
        scheduled_at=row["scheduled_at"],
        status=ExecutionStatus(row["status"]),
        started_at=row["started_at"],
        duration_ms=row["duration_ms"],
        lateness_ms=lateness_ms(Origin(row["origin"]), row["scheduled_at"], row["first_start"]),
    )


async def _tallied(transaction: Transaction, tally: Tally, parameters: Parameters) -> Tally:
    place = tally.buckets.place
    for row in await transaction.rows(_OVERVIEWS["series"], **parameters):
        tally.started(place(row["started_in"]), row["executions"])
        tally.ended(place(row["ended_in"]), ExecutionStatus(row["status"]), row["nominal_times"])
    for row in await transaction.rows(_OVERVIEWS["series_lateness"], **parameters):
        p50, p99 = (row[name] // _MILLISECOND for name in ("p50", "p99"))
        tally.late(place(row["bucket"]), p50, p99)
    return tally
