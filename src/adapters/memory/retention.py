"""What is old enough to be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from heapq import nlargest
from itertools import islice
from uuid import UUID

from ...domain.execution import JobExecution
from ...domain.job import ScheduledJob
from ...ports.ledger import Purged
from .database import MemoryDatabase


def purge(database: MemoryDatabase, *, before: datetime, newest: int, limit: int) -> Purged:
    """Remove executions made before an instant, but the newest of each job that still counts, then empty jobs."""
    executions = list(islice(_removable(database, before, newest), limit))
    for row in executions:
        database.executions.remove(row)
        database.logs.pop(row.id, None)
    jobs = list(islice(_empty(database, before), limit))
    for job_id in jobs:
        del database.jobs[job_id]
        del database.versions[job_id]
    return Purged(executions=len(executions), jobs=len(jobs))


def _removable(database: MemoryDatabase, before: datetime, newest: int) -> Iterator[JobExecution]:
    kept: dict[UUID, frozenset[UUID]] = {}
    for row in sorted(database.executions, key=lambda row: row.id):
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
