"""New jobs as they are written, each with its first recorded version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...domain.errors import Conflict
from ...domain.job import JobStatus, ScheduledJob
from ...domain.plan import first_version
from .job_rows import change_row, counters_row, job_row
from .statements import statements
from .transaction import Transaction

_JOBS: Final = statements("jobs")


async def insert_jobs(transaction: Transaction, jobs: Sequence[ScheduledJob]) -> None:
    """Insert jobs whose keys nobody has."""
    changes = [first_version(job) for job in jobs]
    await transaction.run_for(_JOBS["insert_jobs"], [job_row(job) for job in jobs])
    await transaction.run_for(_JOBS["insert_counters"], [counters_row(job) for job in jobs])
    await transaction.run_for(_JOBS["insert_versions"], [change_row(change) for change in changes])
    for change, job in zip(changes, jobs, strict=True):
        transaction.news.changed(change, job)


async def refuse_taken_key(transaction: Transaction, job: ScheduledJob) -> None:
    """Raise Conflict if another job has the key already."""
    definition = job.definition
    if definition.key is None or job.status is JobStatus.CANCELLED or job.deleted_at is not None:
        return
    taken = await transaction.column(
        _JOBS["job_with_key"],
        id=job.id,
        tenant_id=job.tenant_id,
        handler_name=definition.handler_name,
        key=definition.key,
    )
    if taken:
        raise Conflict(f"another job has the key {definition.key!r}", taken[0])
