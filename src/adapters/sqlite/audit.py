"""The ledgers of jobs as they are verified: read on one snapshot, and never row by row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Final
from uuid import UUID

from ...domain.execution import ExecutionStatus
from ...domain.history import names_limit
from ...domain.job import ScheduledJob
from ...domain.ledger import Entry, JobLedger, Window, cut
from ...domain.plan import JobChange
from ...domain.swift import swift
from ...ports.ledger import RecentLedgers
from ...ports.stores import LedgerStretch
from .accounts import read_shared_jobs
from .instants import from_micros, to_micros
from .statements import statements
from .transaction import LARGEST, Row, Transaction, array
from .version_rows import changes_of

_Entry: Final = swift(Entry)
_READABLE: Final = "-".join("[0-9a-f]" * digits for digits in (8, 4, 4, 4, 12))
"""The ids that a job can have, as a pattern of `GLOB`."""

_AUDIT: Final = statements("audit")


@dataclass(slots=True, kw_only=True)
class Roll:
    """
    The jobs that a look goes through, read many pages ahead: of `ahead` jobs, which are twenty pages of the watch.

    To find one page in the order of ids, all jobs that changed lately are gone through, which may be many more.
    """

    ahead: int = 2_000
    _since: datetime | None = field(default=None, init=False)
    _ids: list[str] = field(default_factory=list, init=False)
    _is_last: bool = field(default=False, init=False)

    def behind(self, transaction: Transaction, after: UUID | None, since: datetime, limit: int) -> Sequence[UUID]:
        """Tell which jobs come next, as they were when they were read ahead."""
        place = 0 if after is None or since != self._since else bisect_right(self._ids, str(after))
        left = len(self._ids) - place
        # In front of the first and behind the last there may be others.
        if not place or not left or (left < limit and not self._is_last):
            # Whoever asks for a page asks for the first of the next one too.
            most = max(limit, self.ahead + 1)
            ids = _watched(transaction, since, most, after)
            self._since, self._ids, self._is_last, place = since, ids, len(ids) < most, 0
        return [UUID(job_id) for job_id in self._ids[place : place + limit]]


def recent_ledgers(
    transaction: Transaction, roll: Roll, *, since: datetime, limit: int, after: UUID | None
) -> RecentLedgers:
    """Read a page of the jobs that may have fired since."""
    found = roll.behind(transaction, after, since, limit + 1)
    jobs = read_shared_jobs(transaction, found[:limit])
    ids = [job.id for job in jobs]
    entries = _entries(transaction, ids, since, LARGEST)
    versions = _versions(transaction, entries, since)
    return RecentLedgers(
        ledgers=[JobLedger(job=job, versions=versions[job.id], entries=entries[job.id]) for job in jobs],
        now=transaction.now,
        next_after=found[limit - 1] if len(found) > limit else None,
    )


def recent_jobs(transaction: Transaction, since: datetime, limit: int, after: UUID | None) -> list[UUID]:
    """Tell which jobs may have fired since."""
    return [UUID(job_id) for job_id in _watched(transaction, since, limit, after)]


def stretch(transaction: Transaction, job: ScheduledJob, window: Window, limit: int) -> LedgerStretch:
    """Read a job's ledger from the beginning of a window on."""
    # Beside the window's own, the one before it and the first behind it.
    read = _entries(transaction, [job.id], window.after, limit + 2)[job.id]
    entries, until = cut(read, window, limit)
    versions = _versions(transaction, {job.id: entries}, window.after)[job.id]
    made_before, made_after = _made_around(transaction, job.id, entries) if names_limit(job, versions) else (None, 0)
    ledger = JobLedger(job=job, versions=versions, entries=entries, made_before=made_before, made_after=made_after)
    return LedgerStretch(ledger=ledger, until=until, now=transaction.now)


def _watched(transaction: Transaction, since: datetime, limit: int, after: UUID | None) -> list[str]:
    return transaction.column(
        _AUDIT["watched_jobs"],
        after="" if after is None else str(after),
        since=to_micros(since),
        readable=_READABLE,
        limit=limit,
    )


def _entries(transaction: Transaction, ids: Sequence[UUID], since: datetime, limit: int) -> Mapping[UUID, list[Entry]]:
    rows = transaction.rows(_AUDIT["entries"], ids=array(ids), since=to_micros(since), limit=limit)
    entries = {UUID(job_id): [*map(_entry_of, of_job)] for job_id, of_job in groupby(rows, key=itemgetter("job_id"))}
    return {job_id: entries.get(job_id, []) for job_id in ids}


def _versions(
    transaction: Transaction, entries: Mapping[UUID, Sequence[Entry]], since: datetime
) -> Mapping[UUID, list[JobChange]]:
    floors = (
        (str(job_id), min((entry.job_version for entry in rows), default=None)) for job_id, rows in entries.items()
    )
    rows = transaction.rows(_AUDIT["versions_since"], floors=array(floors), since=to_micros(since))
    by_job = {UUID(job_id): [*of_job] for job_id, of_job in groupby(rows, key=itemgetter("job_id"))}
    return {job_id: changes_of(job_id, by_job.get(job_id, ())) for job_id in entries}


def _made_around(transaction: Transaction, job_id: UUID, entries: Sequence[Entry]) -> tuple[int, int]:
    if not entries:
        return 0, 0
    [made] = transaction.rows(
        _AUDIT["made_around"],
        job_id=str(job_id),
        first=to_micros(entries[0].scheduled_at),
        last=to_micros(entries[-1].scheduled_at),
    )
    return made["made_before"], made["made_after"]


def _entry_of(row: Row) -> Entry:
    return _Entry(
        id=UUID(row["id"]),
        job_version=row["job_version"],
        status=ExecutionStatus(row["status"]),
        scheduled_at=from_micros(row["scheduled_at"]),
        created_at=from_micros(row["created_at"]),
        first_start=from_micros(row["first_start"]),
        skip_reason=row["skip_reason"],
        covers_until=from_micros(row["covers_until"]),
        covers_count=row["covers_count"],
    )
