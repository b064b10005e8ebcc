"""Jobs as requests see them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from ...domain.errors import JobNotFound, VersionConflict
from ...domain.job import ScheduledJob
from ...domain.json import clean_text
from ...domain.ledger import Window
from ...domain.plan import Decision, JobChange
from ...ports.cursors import Position, SortValue, read_cursor, write_cursor
from ...ports.queries import JobFilter, SortBy, SortOrder
from ...ports.stores import Changed, LedgerStretch, Page
from . import audit
from .accounts import insert, read_jobs
from .database import Database
from .decisions import refuse_taken_key, write_decision
from .execution_rows import execution_of
from .instants import to_micros
from .statements import statements
from .transaction import LARGEST, Parameters, Transaction, array
from .version_rows import changes_of

_JOBS: Final = statements("jobs")
_EXECUTIONS: Final = statements("executions")


class SqliteJobs:
    """Jobs at rest, each call scoped to one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        """Read the store's clock."""
        return self._database.now()

    async def add(self, job: ScheduledJob) -> ScheduledJob:
        """Insert a job with its first recorded version."""

        def work(transaction: Transaction) -> ScheduledJob:
            refuse_taken_key(transaction, job)
            insert(transaction, [job])
            return read_jobs(transaction, array([job.id]))[0]

        return await self._database.write(work)

    async def get(self, tenant_id: str, job_id: UUID) -> ScheduledJob:
        """Read one job."""
        return await self._database.read(lambda transaction: _existing(transaction, tenant_id, job_id))

    async def list(self, tenant_id: str, query: JobFilter) -> Page[ScheduledJob]:
        """Read the jobs that match."""
        parameters = _conditions(query)

        def work(transaction: Transaction) -> Page[ScheduledJob]:
            [found] = transaction.rows(_JOBS["matching_jobs"], tenant_id=tenant_id, **parameters)
            ids = json.loads(found["ids"])
            shown = read_jobs(transaction, array(ids[: query.limit]))
            return Page(
                items=shown,
                total=found["total"],
                limit=query.limit,
                offset=query.offset,
                next_cursor=write_cursor(query, _position(query, shown[-1])) if len(ids) > len(shown) else None,
            )

        return await self._database.read(work)

    async def ids(self, tenant_id: str, query: JobFilter, *, at_most: int) -> Page[UUID]:
        """Read the ids of the jobs that match."""
        parameters = {**_conditions(replace(query, offset=None, cursor=None)), "limit": at_most}

        def work(transaction: Transaction) -> Page[UUID]:
            [found] = transaction.rows(_JOBS["matching_jobs"], tenant_id=tenant_id, **parameters)
            ids = [UUID(job_id) for job_id in json.loads(found["ids"])]
            return Page(items=ids, total=found["total"], limit=at_most, offset=None, next_cursor=None)

        return await self._database.read(work)

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

        def work(transaction: Transaction) -> Changed:
            job = _existing(transaction, tenant_id, job_id)
            known = transaction.column(
                _EXECUTIONS["execution_with_key"], job_id=str(job_id), idempotency_key=idempotency_key
            )
            if known:
                [execution] = transaction.rows(_EXECUTIONS["executions_by_ids"], ids=array(known))
                return Changed(job=job, dispatches=(), execution=execution_of(execution))
            if expected_version not in {None, job.version}:
                raise VersionConflict(expected_version or 0, job.version)
            return _write(transaction, job, decide)

        return await self._database.write(work)

    async def versions(
        self, tenant_id: str, job_id: UUID, *, limit: int, before_version: int | None = None
    ) -> Page[JobChange]:
        """Read recorded versions of a job, newest first."""
        below = LARGEST if before_version is None else max(min(before_version, LARGEST), -LARGEST)

        def work(transaction: Transaction) -> Page[JobChange]:
            [total] = transaction.column(_JOBS["count_versions"], job_id=str(job_id), tenant_id=tenant_id)
            if not total:
                raise JobNotFound(job_id)
            rows = transaction.rows(_JOBS["versions"], job_id=str(job_id), below=below, limit=limit + 1)
            shown = changes_of(job_id, reversed(rows))[::-1][:limit]
            next_cursor = str(shown[-1].version) if len(rows) > len(shown) else None
            return Page(items=shown, total=total, limit=limit, offset=None, next_cursor=next_cursor)

        return await self._database.read(work)

    async def ledger(self, tenant_id: str, job_id: UUID, *, window: Window, limit: int) -> LedgerStretch:
        """Read a job's ledger from the beginning of a window on."""

        def work(transaction: Transaction) -> LedgerStretch:
            return audit.stretch(transaction, _existing(transaction, tenant_id, job_id), window, limit)

        return await self._database.read(work)


def _existing(transaction: Transaction, tenant_id: str, job_id: UUID) -> ScheduledJob:
    """Read a job of a tenant, or raise JobNotFound."""
    found = read_jobs(transaction, array([job_id]))
    if not found or found[0].tenant_id != tenant_id or found[0].deleted_at is not None:
        raise JobNotFound(job_id)
    return found[0]


def _write(transaction: Transaction, job: ScheduledJob, decide: Decision) -> Changed:
    written = write_decision(transaction, job, decide)
    newest = array(row.id for row in written.executions[-1:])
    executions = transaction.rows(_EXECUTIONS["executions_by_ids"], ids=newest)
    return Changed(
        job=read_jobs(transaction, array([job.id]))[0],
        dispatches=written.dispatches,
        execution=execution_of(executions[0]) if executions else None,
        stopped=written.stopped,
    )


def _conditions(query: JobFilter) -> Parameters:
    """Write a filter as the parameters of `matching_jobs`; one item more than the page tells whether it ends there."""
    cursor = read_cursor(query)
    any_of = ("type", "status", "tags", "tags_all", "handler_name", "key", "created_by")
    value = cursor.value if cursor else None
    return {
        **{name: array(values) if (values := getattr(query, name)) else None for name in any_of},
        "name_contains": None if query.name_contains is None else clean_text(query.name_contains),
        "created_after": to_micros(query.created_after),
        "created_before": to_micros(query.created_before),
        "next_run_after": to_micros(query.next_run_after),
        "next_run_before": to_micros(query.next_run_before),
        "sort_by": query.sort_by.value,
        "descending": query.sort_order is SortOrder.DESC,
        "cursor_id": str(cursor.id) if cursor else None,
        "cursor_value": to_micros(value) if isinstance(value, datetime) else value,
        "limit": query.limit + 1,
        "offset": min(query.offset or 0, LARGEST),
    }


def _position(query: JobFilter, job: ScheduledJob) -> Position:
    return Position(value=_sort_value(query.sort_by, job), id=job.id)


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
