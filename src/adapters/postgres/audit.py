"""The ledgers of jobs as they are verified: read on one snapshot, and never row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Final
from uuid import UUID

from ...domain.execution import ExecutionStatus
from ...domain.history import names_limit
from ...domain.job import ScheduledJob
from ...domain.ledger import Entry, JobLedger, Window, cut
from ...domain.plan import JobChange
from ...domain.stored import shared_definition
from ...domain.swift import placed
from ...ports.ledger import RecentLedgers
from ...ports.stores import LedgerStretch
from .job_rows import changes_of, job_of
from .statements import statements
from .transaction import Row, Transaction

_AUDIT: Final = statements("audit")
_JOBS: Final = statements("jobs")
_FIRST: Final = UUID(int=0)
_ENTRY: Final = (
    "id",
    "job_version",
    "scheduled_at",
    "created_at",
    "first_start",
    "skip_reason",
    "covers_until",
    "covers_count",
)
_READ_ENTRY: Final = itemgetter(*_ENTRY)
_entry: Final = placed(Entry, "status", *_ENTRY)
_STATUSES: Final = MappingProxyType({status.value: status for status in ExecutionStatus})


async def recent_ledgers(transaction: Transaction, since: datetime, limit: int, after: UUID | None) -> RecentLedgers:
    """Read a page of the jobs that may have fired since."""
    found = await recent_jobs(transaction, since, limit + 1, after)
    jobs = await _jobs(transaction, found[:limit])
    ids = [job.id for job in jobs]
    entries = await _entries(transaction, ids, since, None)
    versions = await _versions(transaction, {job_id: entries[job_id] for job_id in ids}, since)
    return RecentLedgers(
        ledgers=[JobLedger(job=job, versions=versions[job.id], entries=entries[job.id]) for job in jobs],
        now=transaction.now,
        next_after=ids[-1] if len(found) > len(ids) else None,
    )


async def _jobs(transaction: Transaction, ids: Sequence[UUID]) -> Sequence[ScheduledJob]:
    rows = await transaction.rows(_JOBS["jobs_by_ids"], ids=ids)
    return [job_of(row, row, shared_definition(row["definition"])) for row in rows]


async def recent_jobs(transaction: Transaction, since: datetime, limit: int, after: UUID | None) -> list[UUID]:
    """Tell which jobs may have fired since."""
    return await transaction.column(_AUDIT["watched_jobs"], after=after or _FIRST, since=since, limit=limit)


async def stretch(transaction: Transaction, job: ScheduledJob, window: Window, limit: int) -> LedgerStretch:
    """Read a job's ledger from the beginning of a window on."""
    # Beside the window's own, the one before it and the first behind it.
    read = (await _entries(transaction, [job.id], window.after, limit + 2))[job.id]
    entries, until = cut(read, window, limit)
    versions = (await _versions(transaction, {job.id: entries}, window.after))[job.id]
    is_limited = names_limit(job, versions)
    made_before, made_after = await _made_around(transaction, job.id, entries) if is_limited else (None, 0)
    ledger = JobLedger(job=job, versions=versions, entries=entries, made_before=made_before, made_after=made_after)
    return LedgerStretch(ledger=ledger, until=until, now=transaction.now)


async def _entries(
    transaction: Transaction, ids: Sequence[UUID], since: datetime, limit: int | None
) -> Mapping[UUID, list[Entry]]:
    entries: defaultdict[UUID, list[Entry]] = defaultdict(list)
    for row in await transaction.rows(_AUDIT["entries"], ids=ids, since=since, limit=limit):
        entries[row["job_id"]].append(_entry_of(row))
    return entries


async def _versions(
    transaction: Transaction, entries: Mapping[UUID, Sequence[Entry]], since: datetime
) -> Mapping[UUID, list[JobChange]]:
    floors = [min((entry.job_version for entry in rows), default=None) for rows in entries.values()]
    rows = await transaction.rows(_AUDIT["versions_since"], job_ids=list(entries), versions=floors, since=since)
    versions = {job_id: changes_of(of_job) for job_id, of_job in groupby(rows, key=itemgetter("job_id"))}
    return {job_id: versions.get(job_id, []) for job_id in entries}


async def _made_around(transaction: Transaction, job_id: UUID, entries: Sequence[Entry]) -> tuple[int, int]:
    if not entries:
        return 0, 0
    [made] = await transaction.rows(
        _AUDIT["made_around"], job_id=job_id, first=entries[0].scheduled_at, last=entries[-1].scheduled_at
    )
    return made["made_before"], made["made_after"]


def _entry_of(row: Row) -> Entry:
    return _entry(_STATUSES[row["status"]], *_READ_ENTRY(row))
