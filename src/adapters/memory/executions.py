"""Executions as requests see them, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ...domain.execution import ExecutionStatus, JobExecution
from ...ports.cursors import Position
from ...ports.ledger import LogLine
from ...ports.queries import ExecutionFilter
from ...ports.stores import Changed, ExecutionFigures, Page, QueueFigures
from .database import MemoryDatabase
from .documents import detached, detached_execution, detached_job
from .figures import execution_figures, queue_figures
from .paging import page
from .transactions import cancel, settle


class MemoryExecutions:
    """Executions at rest, each call scoped to one tenant."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def get(self, tenant_id: str, execution_id: UUID) -> JobExecution:
        """Read one execution."""
        return detached_execution(self._database.execution(tenant_id, execution_id))

    async def list(self, tenant_id: str, query: ExecutionFilter) -> Page[JobExecution]:
        """Read the executions that match, newest nominal time first."""
        found = page(
            (row for row in self._rows(tenant_id, query.job_id) if _matches(query, row)),
            query,
            lambda row: Position(value=row.scheduled_at, id=row.id),
            descending=True,
        )
        return replace(found, items=[detached_execution(row) for row in found.items])

    async def cancel(self, tenant_id: str, execution_id: UUID) -> Changed:
        """End one pending or running execution as cancelled."""
        now = self._database.now()
        row = self._database.execution(tenant_id, execution_id)
        row.status.to(ExecutionStatus.CANCELLED)
        stopped = cancel(self._database, row.job_id, [row], now)
        dispatches = settle(self._database, row.job_id, now)
        return Changed(
            job=detached_job(self._database.jobs[row.job_id]),
            dispatches=dispatches,
            execution=detached_execution(self._database.execution(tenant_id, execution_id)),
            stopped=stopped,
        )

    async def logs(self, tenant_id: str, execution_id: UUID, *, after: int, limit: int) -> Page[LogLine]:
        """Read log lines in order."""
        self._database.execution(tenant_id, execution_id)
        kept = self._database.logs.get(execution_id, {})
        lines = [replace(kept[place], fields=detached(kept[place].fields)) for place in sorted(kept)]
        shown = lines[after : after + limit]
        return Page(items=shown, total=len(lines), limit=limit, offset=after, next_cursor=None)

    async def figures(self, tenant_id: str, *, job_id: UUID | None, since: datetime | None) -> ExecutionFigures:
        """Add up executions."""
        rows = self._rows(tenant_id, job_id)
        return execution_figures([row for row in rows if since is None or row.created_at >= since])

    async def queue(self, tenant_id: str | None) -> QueueFigures:
        """Count what waits now."""
        jobs = [job for job in self._database.jobs.values() if job.deleted_at is None]
        rows = self._database.executions.open()
        return queue_figures(
            [job for job in jobs if tenant_id in {None, job.tenant_id}],
            [row for row in rows if tenant_id in {None, row.tenant_id}],
            self._database.now(),
        )

    def _rows(self, tenant_id: str, job_id: UUID | None) -> Sequence[JobExecution]:
        table = self._database.executions
        rows = table if job_id is None else table.of_job(job_id)
        return [row for row in rows if row.tenant_id == tenant_id]


def _matches(query: ExecutionFilter, row: JobExecution) -> bool:
    return (
        query.event_id in {None, row.event_id}
        and (not query.status or row.status in query.status)
        and (not query.origin or row.origin in query.origin)
        and (query.scheduled_after is None or row.scheduled_at >= query.scheduled_after)
        and (query.scheduled_before is None or row.scheduled_at <= query.scheduled_before)
    )
