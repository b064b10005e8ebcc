"""Jobs as requests see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, cast
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.errors import JobNotFound, VersionConflict
from ...domain.execution import JobExecution
from ...domain.job import ScheduledJob
from ...domain.ledger import Window
from ...domain.plan import Decision, JobChange
from ...domain.stored import UnreadableDefinition, own_definition
from ...domain.unreadable import decided
from ...ports.cursors import Position, read_cursor, write_cursor
from ...ports.queries import JobFilter, SortOrder
from ...ports.stores import Changed, LedgerStretch, Page
from . import audit, filters
from .accounts import load_own, read_jobs
from .database import Database
from .execution_rows import execution_of
from .job_rows import changes_of, definition_row, job_of
from .new_jobs import insert_jobs, refuse_taken_key
from .plans import write_plans
from .races import again_if_raced
from .statements import statements
from .transaction import Parameters, Row, Transaction

_JOBS: Final = statements("jobs")
_EXECUTIONS: Final = statements("executions")


class PostgresJobs:
    """Jobs at rest, each call scoped to one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        """Read the store's clock."""
        [row] = await self._database.rows(_JOBS["now"], now=self._database.now)
        return cast("datetime", row["now"])

    async def add(self, job: ScheduledJob) -> ScheduledJob:
        """Insert a job with its first recorded version."""

        async def work(transaction: Transaction) -> ScheduledJob:
            await refuse_taken_key(transaction, job)
            await insert_jobs(transaction, [job])
            return (await read_jobs(transaction, [job.id]))[0]

        return await again_if_raced(partial(self._database.change, work))

    async def get(self, tenant_id: str, job_id: UUID) -> ScheduledJob:
        """Read one job."""
        rows = await self._database.rows(_JOBS["jobs_by_ids"], ids=[job_id])
        return _existing(rows, tenant_id, job_id)

    async def list(self, tenant_id: str, query: JobFilter) -> Page[ScheduledJob]:
        """Read the jobs that match."""
        parameters = _conditions(query)

        async def work(transaction: Transaction) -> Page[ScheduledJob]:
            [found] = await transaction.rows(_JOBS["matching_jobs"], tenant_id=tenant_id, **parameters)
            rows = await transaction.rows(_JOBS["jobs_by_ids"], ids=found["ids"][: query.limit])
            more = len(found["ids"]) > len(rows)
            return Page(
                items=[_job(row) for row in rows],
                total=found["total"],
                limit=query.limit,
                offset=query.offset,
                next_cursor=write_cursor(query, _position(query, rows[-1])) if more else None,
            )

        return await self._database.read(work)

    async def ids(self, tenant_id: str, query: JobFilter, *, at_most: int) -> Page[UUID]:
        """Read the ids of the jobs that match."""
        parameters = {**_conditions(replace(query, offset=None, cursor=None)), "limit": at_most}

        async def work(transaction: Transaction) -> Page[UUID]:
            [found] = await transaction.rows(_JOBS["matching_jobs"], tenant_id=tenant_id, **parameters)
            return Page(items=found["ids"], total=found["total"], limit=at_most, offset=None, next_cursor=None)

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

        async def work(transaction: Transaction) -> Changed:
            row = await transaction.row(_JOBS["lock_job"], id=job_id, tenant_id=tenant_id)
            if row is None:
                raise JobNotFound(job_id)
            accounts = Accounts(transaction.now)
            [job] = await load_own(transaction, accounts, [row])
            known = await _execution_with_key(transaction, job_id, idempotency_key)
            if known is not None:
                return Changed(job=job, dispatches=(), execution=known)
            if expected_version not in {None, job.version}:
                raise VersionConflict(expected_version or 0, job.version)
            return await _decide(transaction, accounts, job, decide)

        return await again_if_raced(partial(self._database.change, work))

    async def versions(
        self, tenant_id: str, job_id: UUID, *, limit: int, before_version: int | None = None
    ) -> Page[JobChange]:
        """Read a job's recorded versions, newest first."""
        below = filters.LARGEST if before_version is None else filters.number(before_version)
        # One more than the page tells whether it ends there.
        rows = await self._database.rows(
            _JOBS["versions"], job_id=job_id, tenant_id=tenant_id, below=below, limit=limit + 1
        )
        if not rows:
            raise JobNotFound(job_id)
        shown = changes_of(row for row in reversed(rows) if row["version"] is not None)[::-1][:limit]
        return Page(
            items=shown,
            total=rows[0]["total"],
            limit=limit,
            offset=None,
            next_cursor=str(shown[-1].version) if len(rows) > limit else None,
        )

    async def ledger(self, tenant_id: str, job_id: UUID, *, window: Window, limit: int) -> LedgerStretch:
        """Read a job's ledger from the beginning of a window on."""

        async def work(transaction: Transaction) -> LedgerStretch:
            rows = await transaction.rows(_JOBS["jobs_by_ids"], ids=[job_id])
            return await audit.stretch(transaction, _existing(rows, tenant_id, job_id), window, limit)

        return await self._database.read(work)


def _existing(rows: Sequence[Row], tenant_id: str, job_id: UUID) -> ScheduledJob:
    """Give the job that was looked for by its id, or raise JobNotFound."""
    if not rows or rows[0]["tenant_id"] != tenant_id or rows[0]["deleted_at"] is not None:
        raise JobNotFound(job_id)
    return _job(rows[0])


def _job(row: Row) -> ScheduledJob:
    return job_of(row, row, own_definition(row["definition"]))


async def _execution_with_key(transaction: Transaction, job_id: UUID, key: str | None) -> JobExecution | None:
    """Find what a request with this key made the first time; its job is locked, so that no other is making it now."""
    if key is None:
        return None
    row = await transaction.row(_EXECUTIONS["execution_with_key"], job_id=job_id, idempotency_key=filters.text(key))
    return None if row is None else execution_of(row)


async def _decide(transaction: Transaction, accounts: Accounts, job: ScheduledJob, decide: Decision) -> Changed:
    plan = decided(job, transaction.now, decide)
    await refuse_taken_key(transaction, plan.job)
    written = await write_plans(transaction, accounts, [plan])
    if plan.change is not None and not isinstance(job.definition, UnreadableDefinition):
        await transaction.run(_JOBS["save_definition"], **definition_row(plan.job))
    newest = [row.id for row in written.executions[-1:]]
    executions = await transaction.rows(_EXECUTIONS["executions_by_ids"], ids=newest) if newest else []
    return Changed(
        job=(await read_jobs(transaction, [job.id]))[0],
        dispatches=written.dispatches,
        execution=execution_of(executions[0]) if executions else None,
        stopped=written.stopped,
    )


def _conditions(query: JobFilter) -> Parameters:
    """Write a filter as the parameters of `matching_jobs`; one item more than the page tells whether it ends there."""
    cursor = read_cursor(query)
    any_of = ("type", "status", "tags", "tags_all", "handler_name", "key", "created_by")
    instants = ("created_after", "created_before", "next_run_after", "next_run_before")
    return {
        **{name: filters.any_of(getattr(query, name)) for name in any_of},
        **{name: filters.instant(getattr(query, name)) for name in instants},
        **_after(cursor),
        "name_contains": filters.text(query.name_contains),
        "sort_by": query.sort_by.value,
        "descending": query.sort_order is SortOrder.DESC,
        "limit": query.limit + 1,
        "offset": filters.number(query.offset or 0),
    }


def _after(cursor: Position | None) -> Parameters:
    """Write where a page ended: the value in the parameter of its type."""
    value = cursor.value if cursor else None
    return {
        "cursor_id": cursor.id if cursor else None,
        "cursor_instant": value if isinstance(value, datetime) else None,
        "cursor_name": filters.text(value) if isinstance(value, str) else None,
        "cursor_number": value if isinstance(value, int) else None,
    }


def _position(query: JobFilter, row: Row) -> Position:
    """Say where a row stands, by the column that the list is sorted by."""
    return Position(value=row[query.sort_by.value], id=row["id"])
