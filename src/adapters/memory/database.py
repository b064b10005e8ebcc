"""The tables of one process, and how they are looked into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ...domain.errors import EventHandlerNotFound, ExecutionNotFound, JobNotFound
from ...domain.event import EventHandler, HandlerCounters
from ...domain.execution import JobExecution
from ...domain.facts import fact_of_change, fact_of_execution, name_of_change, name_of_execution
from ...domain.job import ScheduledJob
from ...domain.plan import JobChange, Plan
from ...ports.clock import Clock
from ...ports.dispatcher import Dispatch
from ...ports.ledger import LogLine
from ...ports.stores import Worker
from .event_rows import EventRows
from .execution_rows import ExecutionRows
from .outbox_rows import OutboxRows


class MemoryDatabase:
    """
    All that one process remembers.

    A transaction is a stretch of code without `await`, on one event loop, so nobody sees half of it. It
    checks before it writes, so there is never anything to undo.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.jobs: dict[UUID, ScheduledJob] = {}
        self.versions: dict[UUID, list[JobChange]] = {}
        self.executions = ExecutionRows()
        self.redispatches: dict[UUID, int] = {}
        self.logs: dict[UUID, dict[tuple[int, int], LogLine]] = {}
        self.workers: dict[str, Worker] = {}
        self.events = EventRows()
        self.handlers: dict[UUID, EventHandler] = {}
        self.revision = 0
        self.outbox = OutboxRows()

    def now(self) -> datetime:
        """Read the clock that every row is stamped by."""
        return self._clock.now()

    def job(self, tenant_id: str, job_id: UUID) -> ScheduledJob:
        """
        Find a job of a tenant.

        Raises:
            JobNotFound: the tenant has none, or it was deleted.
        """
        job = self.jobs.get(job_id)
        if job is None or job.tenant_id != tenant_id or job.deleted_at is not None:
            raise JobNotFound(job_id)
        return job

    def execution(self, tenant_id: str, execution_id: UUID) -> JobExecution:
        """
        Find an execution of a tenant.

        Raises:
            ExecutionNotFound: the tenant has none.
        """
        row = self.executions.get(execution_id)
        if row is None or row.tenant_id != tenant_id:
            raise ExecutionNotFound(execution_id)
        return row

    def handler(self, tenant_id: str, handler_id: UUID) -> EventHandler:
        """
        Find an event handler of a tenant.

        Raises:
            EventHandlerNotFound: the tenant has none.
        """
        handler = self.handlers.get(handler_id)
        if handler is None or handler.tenant_id != tenant_id:
            raise EventHandlerNotFound(handler_id)
        return handler

    def count(self, handler_id: UUID, more: HandlerCounters) -> None:
        """Add to the counters of an event handler, if it is still there."""
        handler = self.handlers.get(handler_id)
        if handler is None:
            return
        before = handler.counters
        counters = HandlerCounters(
            triggered=before.triggered + more.triggered,
            matched=before.matched + more.matched,
            succeeded=before.succeeded + more.succeeded,
            failed=before.failed + more.failed,
            last_triggered=more.last_triggered or before.last_triggered,
        )
        self.handlers[handler_id] = replace(handler, counters=counters)

    def save(self, plan: Plan) -> None:
        """Write a plan's job, and the version that the plan makes, if any."""
        self.jobs[plan.job.id] = plan.job
        if plan.change is not None:
            self.versions.setdefault(plan.job.id, []).append(plan.change)
            now = self.now()
            if self.outbox.interest(now).wants(plan.job.tenant_id, name_of_change(plan.change)):
                self.outbox.append(fact_of_change(plan.change, plan.job, now), now)

    def tell(self, row: JobExecution, now: datetime) -> None:
        """Let out how an execution has just come to stand, if that is news and somebody listens."""
        name = name_of_execution(row)
        if name is None or not self.outbox.interest(now).wants(row.tenant_id, name):
            return
        fact = fact_of_execution(self.jobs[row.job_id], row, now)
        if fact is not None:
            self.outbox.append(fact, now)

    def dispatches(self, rows: Iterable[JobExecution]) -> list[Dispatch]:
        """Word what an executor needs in order to claim these."""
        return [
            Dispatch(
                execution_id=row.id,
                capability=self.jobs[row.job_id].definition.capability,
                priority=row.priority,
            )
            for row in rows
        ]
