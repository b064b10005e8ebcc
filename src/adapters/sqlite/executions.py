"""Executions as requests see them."""

from __future__ import annotations

import json
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
from .accounts import load, read_jobs, settle
from .database import Database
from .execution_rows import execution_of
from .figures import execution_figures, queue_figures
from .instants import to_micros
from .log_rows import log_line_of
from .plans import cancel
from .statements import statements
from .transaction import LARGEST, Parameters, Transaction, array

_EXECUTIONS: Final = statements("executions")
_FIRST: Final = -LARGEST


class SqliteExecutions:
    """Executions at rest, each call scoped to one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, tenant_id: str, execution_id: UUID) -> JobExecution:
        """Read one execution."""
        return await self._database.read(lambda transaction: _existing(transaction, tenant_id, execution_id))

    async def list(self, tenant_id: str, query: ExecutionFilter) -> Page[JobExecution]:
        """Read the executions that match, newest nominal time first."""
        parameters = {**_conditions(query), "tenant_id": tenant_id}
        statement = _EXECUTIONS["matching_of_tenant"]
        if query.event_id is not None:
            statement = _EXECUTIONS["matching_of_event"]
        elif query.job_id is not None:
            statement = _EXECUTIONS["matching_of_job"]

        def work(transaction: Transaction) -> Page[JobExecution]:
            [found] = transaction.rows(statement, **parameters)
            ids = json.loads(found["ids"])
            rows = transaction.rows(_EXECUTIONS["executions_by_ids"], ids=array(ids[: query.limit]))
            shown = [execution_of(row) for row in rows]
            return Page(
                items=shown,
                total=found["total"],
                limit=query.limit,
                offset=query.offset,
                next_cursor=write_cursor(query, _position(shown[-1])) if len(ids) > len(shown) else None,
            )

        return await self._database.read(work)

    async def cancel(self, tenant_id: str, execution_id: UUID) -> Changed:
        """End one pending or running execution as cancelled."""

        def work(transaction: Transaction) -> Changed:
            row = _existing(transaction, tenant_id, execution_id)
            row.status.to(ExecutionStatus.CANCELLED)
            accounts = Accounts(transaction.now)
            load(transaction, accounts, [row.job_id])
            stopped = cancel(transaction, accounts, [row.id])
            dispatches = settle(transaction, accounts)
            return Changed(
                job=read_jobs(transaction, array([row.job_id]))[0],
                dispatches=dispatches,
                execution=_existing(transaction, tenant_id, execution_id),
                stopped=stopped,
            )

        return await self._database.write(work)

    async def logs(self, tenant_id: str, execution_id: UUID, *, after: int, limit: int) -> Page[LogLine]:
        """Read log lines in order."""

        def work(transaction: Transaction) -> Page[LogLine]:
            row = _existing(transaction, tenant_id, execution_id)
            lines = transaction.rows(
                _EXECUTIONS["logs"], execution_id=str(row.id), after=min(after, LARGEST), limit=limit
            )
            [total] = transaction.column(_EXECUTIONS["count_logs"], execution_id=str(row.id))
            return Page(
                items=[log_line_of(line) for line in lines], total=total, limit=limit, offset=after, next_cursor=None
            )

        return await self._database.read(work)

    async def figures(self, tenant_id: str, *, job_id: UUID | None, since: datetime | None) -> ExecutionFigures:
        """Add up executions."""
        parameters: Parameters = {
            "tenant_id": tenant_id,
            "job_id": None if job_id is None else str(job_id),
            "since": _FIRST if since is None else to_micros(since),
        }
        return await self._database.read(lambda transaction: execution_figures(transaction, parameters))

    async def queue(self, tenant_id: str | None) -> QueueFigures:
        """Count what waits now."""
        return await self._database.read(lambda transaction: queue_figures(transaction, tenant_id))


def _existing(transaction: Transaction, tenant_id: str, execution_id: UUID) -> JobExecution:
    """Read an execution of a tenant, or raise ExecutionNotFound."""
    row = transaction.row(_EXECUTIONS["executions_by_ids"], ids=array([execution_id]))
    if row is None or row["tenant_id"] != tenant_id:
        raise ExecutionNotFound(execution_id)
    return execution_of(row)


def _conditions(query: ExecutionFilter) -> Parameters:
    """Write a filter as parameters; one item more than the page tells whether it ends there."""
    cursor = read_cursor(query)
    value = cursor.value if cursor else None
    return {
        "job_id": None if query.job_id is None else str(query.job_id),
        "event_id": None if query.event_id is None else str(query.event_id),
        "status": array(query.status) if query.status else None,
        "origin": array(query.origin) if query.origin else None,
        "scheduled_after": _FIRST if query.scheduled_after is None else to_micros(query.scheduled_after),
        "scheduled_before": LARGEST if query.scheduled_before is None else to_micros(query.scheduled_before),
        "cursor_id": str(cursor.id) if cursor else None,
        "cursor_value": to_micros(value) if isinstance(value, datetime) else None,
        "limit": query.limit + 1,
        "offset": min(query.offset or 0, LARGEST),
    }


def _position(row: JobExecution) -> Position:
    return Position(value=row.scheduled_at, id=row.id)
