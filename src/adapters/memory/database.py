"""The tables of one process, and how they are looked into."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from ...domain.errors import ExecutionNotFound, JobNotFound
from ...domain.execution import JobExecution
from ...domain.job import ScheduledJob
from ...domain.plan import JobChange, Plan
from ...ports.clock import Clock
from ...ports.dispatcher import Dispatch
from ...ports.ledger import LogLine
from ...ports.stores import Worker
from .execution_rows import ExecutionRows


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

    def save(self, plan: Plan) -> None:
        """Write a plan's job, and the version that the plan makes, if any."""
        self.jobs[plan.job.id] = plan.job
        if plan.change is not None:
            self.versions.setdefault(plan.job.id, []).append(plan.change)

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
