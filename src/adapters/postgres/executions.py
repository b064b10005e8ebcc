"""Executions as requests see them."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.errors import ExecutionNotFound
from ...domain.execution import ExecutionStatus, JobExecution
from ...ports.cursors import Position, read_cursor, write_cursor
from ...ports.ledger import LogLine
from ...ports.queries import ExecutionFilter
from ...ports.stores import Changed, ExecutionFigures, Page, QueueFigures
from . import filters
from .accounts import load, lock_jobs, read_jobs, settle
from .database import Database
from .execution_rows import execution_of
from .figures import execution_figures, queue_figures
from .log_rows import log_line_of
from .plans import cancel
from .statements import statements
from .transaction import Parameters, Row, Transaction

_OPEN: Final = frozenset({ExecutionStatus.PENDING, ExecutionStatus.RUNNING})
_FAILED: Final = frozenset({ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT})
"""What is few among many, and has indexes of its own."""

_JOBS: Final = statements("jobs")
_EXECUTIONS: Final = statements("executions")


class PostgresExecutions:
    """Executions at rest, each call scoped to one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, tenant_id: str, execution_id: UUID) -> JobExecution:
        """Read one execution."""
        rows = await self._database.rows(_EXECUTIONS["executions_by_ids"], ids=[execution_id])
        return execution_of(_existing(rows, tenant_id, execution_id))

    async def list(self, tenant_id: str, query: ExecutionFilter) -> Page[JobExecution]:
        """Read the executions that match, newest nominal time first."""
        parameters = _conditions(query)

        async def work(transaction: Transaction) -> Page[JobExecution]:
            [found] = await transaction.rows(_EXECUTIONS["matching_executions"], tenant_id=tenant_id, **parameters)
            rows = await transaction.rows(_EXECUTIONS["executions_by_ids"], ids=found["ids"][: query.limit])
            more = len(found["ids"]) > len(rows)
            return Page(
                items=[execution_of(row) for row in rows],
                total=found["total"],
                limit=query.limit,
                offset=query.offset,
                next_cursor=write_cursor(query, _position(rows[-1])) if more else None,
            )

        return await self._database.read(work)

    async def cancel(self, tenant_id: str, execution_id: UUID) -> Changed:
        """End one pending or running execution as cancelled."""

        async def work(transaction: Transaction) -> Changed:
            job_id = (await _found(transaction, tenant_id, execution_id))["job_id"]
            await lock_jobs(transaction, [job_id])
            accounts = Accounts(transaction.now)
            await load(transaction, accounts, await transaction.rows(_JOBS["jobs"], ids=[job_id]))
            # Retention may have removed it while its job was waited for.
            locked = await transaction.rows(_EXECUTIONS["lock_executions"], ids=[execution_id])
            row = execution_of(_existing(locked, tenant_id, execution_id))
            row.status.to(ExecutionStatus.CANCELLED)
            stopped = await cancel(transaction, accounts, [row])
            dispatches = await settle(transaction, accounts)
            return Changed(
                job=(await read_jobs(transaction, [job_id]))[0],
                dispatches=dispatches,
                execution=execution_of(await _found(transaction, tenant_id, execution_id)),
                stopped=stopped,
            )

        return await self._database.change(work)

    async def logs(self, tenant_id: str, execution_id: UUID, *, after: int, limit: int) -> Page[LogLine]:
        """Read log lines in order."""

        async def work(transaction: Transaction) -> Page[LogLine]:
            await _found(transaction, tenant_id, execution_id)
            lines = await transaction.rows(
                _EXECUTIONS["logs"], execution_id=execution_id, after=filters.number(after), limit=limit
            )
            [total] = await transaction.column(_EXECUTIONS["count_logs"], execution_id=execution_id)
            return Page(
                items=[log_line_of(line) for line in lines], total=total, limit=limit, offset=after, next_cursor=None
            )

        return await self._database.read(work)

    async def figures(self, tenant_id: str, *, job_id: UUID | None, since: datetime | None) -> ExecutionFigures:
        """Add up executions."""
        parameters: Parameters = {
            "tenant_id": tenant_id,
            "job_id": job_id,
            "since": filters.EVER if since is None else filters.instant(since),
        }
        return await self._database.read(lambda transaction: execution_figures(transaction, parameters))

    async def queue(self, tenant_id: str | None) -> QueueFigures:
        """Count what waits now."""
        return await self._database.read(lambda transaction: queue_figures(transaction, tenant_id))


async def _found(transaction: Transaction, tenant_id: str, execution_id: UUID) -> Row:
    """Read an execution of a tenant, or raise ExecutionNotFound."""
    rows = await transaction.rows(_EXECUTIONS["executions_by_ids"], ids=[execution_id])
    return _existing(rows, tenant_id, execution_id)


def _existing(rows: list[Row], tenant_id: str, execution_id: UUID) -> Row:
    if not rows or rows[0]["tenant_id"] != tenant_id:
        raise ExecutionNotFound(execution_id)
    return rows[0]


def _conditions(query: ExecutionFilter) -> Parameters:
    """Write a filter as parameters; one item more than the page tells whether it ends there."""
    cursor = read_cursor(query)
    return {
        "job_id": query.job_id,
        "event_id": query.event_id,
        "status": filters.any_of(query.status),
        "is_open": bool(query.status) and _OPEN.issuperset(query.status),
        "has_failed": bool(query.status) and _FAILED.issuperset(query.status),
        "origin": filters.any_of(query.origin),
        "scheduled_after": filters.instant(query.scheduled_after),
        "scheduled_before": filters.instant(query.scheduled_before),
        "cursor_id": cursor.id if cursor else None,
        "cursor_instant": cursor.value if cursor else None,
        "limit": query.limit + 1,
        "offset": filters.number(query.offset or 0),
    }


def _position(row: Row) -> Position:
    return Position(value=row["scheduled_at"], id=row["id"])
