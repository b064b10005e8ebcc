"""The ledgers of jobs as they are verified, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from heapq import nsmallest
from uuid import UUID

from ...domain.execution import Origin
from ...domain.history import names_limit
from ...domain.job import JobStatus, ScheduledJob
from ...domain.ledger import Entry, JobLedger, Window, cut
from ...domain.plan import JobChange
from ...ports.ledger import RecentLedgers
from ...ports.stores import LedgerStretch
from .database import MemoryDatabase


def recent_ledgers(database: MemoryDatabase, since: datetime, limit: int, after: UUID | None) -> RecentLedgers:
    """Read a page of the jobs that may have fired since."""
    found = recent_jobs(database, since, limit + 1, after)
    shown = found[:limit]
    ledgers = []
    for job in (database.jobs[job_id] for job_id in shown):
        entries = _entries(database, job.id, since)
        versions = _versions(database, job.id, entries, since)
        ledgers.append(JobLedger(job=job, versions=versions, entries=entries))
    return RecentLedgers(ledgers=ledgers, now=database.now(), next_after=shown[-1] if len(found) > len(shown) else None)


def recent_jobs(database: MemoryDatabase, since: datetime, limit: int, after: UUID | None) -> list[UUID]:
    """Tell which jobs may have fired since."""
    found = (
        job.id
        for job in database.jobs.values()
        if (after is None or job.id > after) and (job.status is JobStatus.ACTIVE or job.updated_at > since)
    )
    return nsmallest(limit, found)


def stretch(database: MemoryDatabase, job: ScheduledJob, window: Window, limit: int) -> LedgerStretch:
    """Read a job's ledger from the beginning of a window on."""
    every = _entries(database, job.id, window.after)
    entries, until = cut(every, window, limit)
    versions = _versions(database, job.id, entries, window.after)
    counts = _made_around(database, job.id, entries) if names_limit(job, versions) else {}
    ledger = JobLedger(job=job, versions=versions, entries=entries, **counts)
    return LedgerStretch(ledger=ledger, until=until, now=database.now())


def _entries(database: MemoryDatabase, job_id: UUID, since: datetime) -> list[Entry]:
    """Read all later entries of a job, and the last before them, in order."""
    rows = (row for row in database.executions.of_job(job_id) if row.origin is Origin.SCHEDULE)
    ordered = sorted(rows, key=lambda row: (row.scheduled_at, row.id))
    earlier = sum(row.scheduled_at <= since for row in ordered)
    return [Entry.of(row) for row in ordered[max(0, earlier - 1) :]]


def _versions(database: MemoryDatabase, job_id: UUID, entries: Sequence[Entry], since: datetime) -> Sequence[JobChange]:
    """Read the versions from that of the first entry on, else from the one in force at an instant."""
    changes = database.versions[job_id]
    in_force = max((change.version for change in changes if change.changed_at <= since), default=0)
    first = min((entry.job_version for entry in entries), default=in_force)
    return [change for change in changes if change.version >= first]


def _made_around(database: MemoryDatabase, job_id: UUID, entries: Sequence[Entry]) -> dict[str, int]:
    if not entries:
        return {"made_before": 0, "made_after": 0}
    rows = (row for row in database.executions.of_job(job_id) if row.origin is Origin.SCHEDULE)
    made = [entry for entry in map(Entry.of, rows) if entry.is_made]
    return {
        "made_before": sum(entry.scheduled_at < entries[0].scheduled_at for entry in made),
        "made_after": sum(entry.scheduled_at > entries[-1].scheduled_at for entry in made),
    }
