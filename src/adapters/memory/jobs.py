"""Jobs as requests see them, in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from string import ascii_lowercase, ascii_uppercase
from typing import Final
from uuid import UUID

from ...domain.errors import Conflict, JobNotFound, VersionConflict
from ...domain.job import JobStatus, ScheduledJob
from ...domain.ledger import Window
from ...domain.plan import Decision, JobChange, Plan, first_version
from ...ports.cursors import Position, SortValue
from ...ports.queries import LIMIT_BOUNDS, JobFilter, SortBy, SortOrder
from ...ports.stores import Changed, LedgerStretch, Page
from .audit import stretch
from .database import MemoryDatabase
from .documents import detached_execution, detached_job
from .paging import page
from .transactions import write

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


class MemoryJobs:
    """Jobs at rest, each call scoped to one tenant."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def now(self) -> datetime:
        """Read the store's clock."""
        return self._database.now()

    async def add(self, job: ScheduledJob) -> ScheduledJob:
        """Insert a job with its first recorded version."""
        refuse_taken_key(self._database, job)
        stored = detached_job(job)
        self._database.save(Plan(job=stored, change=first_version(stored)))
        return detached_job(stored)

    async def get(self, tenant_id: str, job_id: UUID) -> ScheduledJob:
        """Read one job."""
        return detached_job(self._database.job(tenant_id, job_id))

    async def list(self, tenant_id: str, query: JobFilter) -> Page[ScheduledJob]:
        """Read the jobs that match."""
        jobs = (job for job in self._database.jobs.values() if job.tenant_id == tenant_id and job.deleted_at is None)
        found = page(
            (job for job in jobs if _matches(query, job)),
            query,
            lambda job: Position(value=_sort_value(query.sort_by, job), id=job.id),
            descending=query.sort_order is SortOrder.DESC,
        )
        return replace(found, items=[detached_job(job) for job in found.items])

    async def ids(self, tenant_id: str, query: JobFilter, *, at_most: int) -> Page[UUID]:
        """Read the ids of the jobs that match."""
        every = replace(query, limit=LIMIT_BOUNDS[1], offset=None, cursor=None)
        found = await self.list(tenant_id, every)
        ids = [job.id for job in found.items]
        while found.next_cursor is not None and len(ids) < at_most:
            found = await self.list(tenant_id, replace(every, cursor=found.next_cursor))
            ids += [job.id for job in found.items]
        return Page(items=ids[:at_most], total=found.total, limit=at_most, offset=None, next_cursor=None)

    async def change(
        self,
        tenant_id: str,
        job_id: UUID,
        decide: Decision,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Changed:
        """Decide about a job and write the plan."""
        now = self._database.now()
        job = self._database.job(tenant_id, job_id)
        if idempotency_key is not None and (known := self._database.executions.with_key(job_id, idempotency_key)):
            return Changed(job=detached_job(job), dispatches=(), execution=detached_execution(known))
        if expected_version not in {None, job.version}:
            raise VersionConflict(expected_version or 0, job.version)
        plan = decide(job, now)
        refuse_taken_key(self._database, plan.job)
        rows = tuple(detached_execution(row) for row in plan.executions)
        written = write(self._database, replace(plan, job=detached_job(plan.job), executions=rows), now)
        newest = self._database.executions.get(written.executions[-1].id) if written.executions else None
        return Changed(
            job=detached_job(self._database.jobs[job_id]),
            dispatches=written.dispatches,
            execution=None if newest is None else detached_execution(newest),
            stopped=written.stopped,
        )

    async def versions(
        self, tenant_id: str, job_id: UUID, *, limit: int, before_version: int | None = None
    ) -> Page[JobChange]:
        """Read recorded versions of a job, newest first."""
        job = self._database.jobs.get(job_id)
        if job is None or job.tenant_id != tenant_id:
            raise JobNotFound(job_id)
        changes = self._database.versions[job_id]
        lower = [change for change in reversed(changes) if before_version is None or change.version < before_version]
        shown = lower[:limit]
        return Page(
            items=shown,
            total=len(changes),
            limit=limit,
            offset=None,
            next_cursor=str(shown[-1].version) if len(lower) > len(shown) else None,
        )

    async def ledger(self, tenant_id: str, job_id: UUID, *, window: Window, limit: int) -> LedgerStretch:
        """Read a job's ledger from the beginning of a window on."""
        return stretch(self._database, self._database.job(tenant_id, job_id), window, limit)


def refuse_taken_key(database: MemoryDatabase, job: ScheduledJob) -> None:
    """
    See that no other job has the key of one already.

    Raises:
        Conflict: another has it; `existing_id` names that.
    """
    name = unique_name(job)
    for other in database.jobs.values() if name else ():
        if other.id != job.id and unique_name(other) == name:
            raise Conflict(f"another job has the key {job.definition.key!r}", other.id)


def unique_name(job: ScheduledJob) -> tuple[str, str, str] | None:
    """Tell what no two jobs may share; None for a job that is in nobody's way."""
    key = job.definition.key
    if key is None or job.status is JobStatus.CANCELLED or job.deleted_at is not None:
        return None
    return job.tenant_id, job.definition.handler_name, key


def _matches(query: JobFilter, job: ScheduledJob) -> bool:
    definition = job.definition
    return (
        _is_any(definition.type, query.type)
        and _is_any(job.status, query.status)
        and _is_any(definition.handler_name, query.handler_name)
        and _is_any(definition.key, query.key)
        and _is_any(job.created_by, query.created_by)
        and (not query.tags or not set(query.tags).isdisjoint(definition.tags))
        and set(query.tags_all).issubset(definition.tags)
        and (query.name_contains or "").translate(_LOWER) in definition.name.translate(_LOWER)
        and _lies_within(job.created_at, query.created_after, query.created_before)
        and _lies_within(job.next_run, query.next_run_after, query.next_run_before)
    )


def _is_any(value: object, wanted: Collection[object]) -> bool:
    return not wanted or value in wanted


def _lies_within(at: datetime | None, after: datetime | None, before: datetime | None) -> bool:
    if at is None:
        return after is None and before is None
    return (after is None or at >= after) and (before is None or at <= before)


def _sort_value(sort_by: SortBy, job: ScheduledJob) -> SortValue:
    match sort_by:
        case SortBy.CREATED_AT:
            return job.created_at
        case SortBy.NEXT_RUN:
            return job.next_run
        case SortBy.NAME:
            return job.definition.name
        case SortBy.PRIORITY:
            return job.definition.priority
