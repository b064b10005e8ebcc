"""Many jobs at once, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from ...domain.job import ScheduledJob
from ...domain.plan import Decision, Plan, first_version
from ...domain.unreadable import decided, decided_each
from ...ports.batches import Added, ChangedJobs, Meeting
from .database import MemoryDatabase
from .documents import detached_execution, detached_job
from .jobs import unique_name
from .transactions import Written, write


class MemoryBatches:
    """Many jobs of one tenant in one transaction."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def add(self, jobs: Sequence[ScheduledJob], meet: Meeting) -> Added:
        """Insert jobs; where another one has a key, decide about that."""
        now = self._database.now()
        names = {name for job in jobs if (name := unique_name(job)) is not None}
        every = self._database.jobs.values() if names else ()
        holders = {name: job for job in every if (name := unique_name(job)) in names}
        met = {job.id: holders[name] for job in jobs if (name := unique_name(job)) in holders}
        plans = [decided(met[job.id], now, meet(job)) for job in jobs if job.id in met]
        written = self._written(plans)
        for job in jobs:
            if job.id not in met:
                stored = detached_job(job)
                self._database.save(Plan(job=stored, change=first_version(stored)))
        stand = [self._database.jobs[met[job.id].id if job.id in met else job.id] for job in jobs]
        return Added(
            jobs=[detached_job(job) for job in stand],
            dispatches=[dispatch for each in written for dispatch in each.dispatches],
            stopped=[execution_id for each in written for execution_id in each.stopped],
        )

    async def read(self, tenant_id: str, job_ids: Sequence[UUID]) -> Sequence[ScheduledJob]:
        """Read those of the jobs that are there."""
        return [detached_job(job) for job in self._found(tenant_id, job_ids)]

    async def change(self, tenant_id: str, job_ids: Sequence[UUID], decide: Decision) -> ChangedJobs:
        """Decide about each of the jobs that are there."""
        jobs = list(self._found(tenant_id, job_ids))
        plans, refused = decided_each(jobs, self._database.now(), decide)
        written = self._written(plans)
        return ChangedJobs(
            jobs=[detached_job(self._database.jobs[plan.job.id]) for plan in plans],
            refused=refused,
            dispatches=[dispatch for each in written for dispatch in each.dispatches],
            stopped=[execution_id for each in written for execution_id in each.stopped],
        )

    def _found(self, tenant_id: str, job_ids: Sequence[UUID]) -> Iterator[ScheduledJob]:
        found = (self._database.jobs.get(job_id) for job_id in job_ids)
        return (job for job in found if job is not None and job.tenant_id == tenant_id and job.deleted_at is None)

    def _written(self, plans: Sequence[Plan]) -> list[Written]:
        now = self._database.now()
        rows = {plan.job.id: tuple(detached_execution(row) for row in plan.executions) for plan in plans}
        own = [replace(plan, job=detached_job(plan.job), executions=rows[plan.job.id]) for plan in plans]
        return [write(self._database, plan, now) for plan in own]
