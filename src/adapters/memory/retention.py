"""What is old enough to be forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from heapq import nlargest
from itertools import islice
from uuid import UUID

from ...domain.execution import JobExecution
from ...domain.job import ScheduledJob
from ...ports.ledger import Purged
from .database import MemoryDatabase


def purge(database: MemoryDatabase, *, before: datetime, newest: int, limit: int, after: UUID | None) -> Purged:
    """Remove of a stretch of the past what is not among the newest of a job that still counts, then empty jobs."""
    stretch = sorted((row for row in database.executions if after is None or row.id > after), key=lambda row: row.id)
    stretch = stretch[:limit]
    removable = list(_removable(database, stretch, before, newest))
    for row in removable:
        database.executions.remove(row)
        database.logs.pop(row.id, None)
    jobs = list(islice(_empty(database, before), limit))
    for job_id in jobs:
        del database.jobs[job_id]
        del database.versions[job_id]
    has_more = len(stretch) == limit and any(row.created_at < before for row in stretch)
    return Purged(executions=len(removable), jobs=len(jobs), next=stretch[-1].id if has_more else None)


def _removable(
    database: MemoryDatabase, stretch: Iterable[JobExecution], before: datetime, newest: int
) -> Iterator[JobExecution]:
    kept: dict[UUID, frozenset[UUID]] = {}
    for row in stretch:
        if row.created_at >= before or not row.status.terminal or row.lease_expires_at is not None:
            continue
        if row.job_id not in kept:
            ids = (each.id for each in database.executions.of_job(row.job_id))
            kept[row.job_id] = frozenset(nlargest(0 if _is_gone(database.jobs[row.job_id], before) else newest, ids))
        if row.id not in kept[row.job_id]:
            yield row


def _empty(database: MemoryDatabase, before: datetime) -> Iterator[UUID]:
    for job in sorted(database.jobs.values(), key=lambda job: job.id):
        if _is_gone(job, before) and not any(True for _ in database.executions.of_job(job.id)):
            yield job.id


def _is_gone(job: ScheduledJob, before: datetime) -> bool:
    return job.deleted_at is not None and job.deleted_at < before
