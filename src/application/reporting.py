"""Reports that callers ask for: one job's statistics, one tenant's metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from ..domain.job import ScheduledJob
from ..ports.reports import JobStatistics, Metrics, Period, SystemState
from ..ports.storage import Storage
from .statistics import durations, job_statistics, lateness, queue_state, success_rate


@dataclass(frozen=True, slots=True)
class Reports:
    """Reads figures from the stores and puts them into shape."""

    storage: Storage
    tenant_id: str

    async def job(self, job: ScheduledJob) -> JobStatistics:
        """Add up one job's ledger."""
        figures = await self.storage.executions.figures(self.tenant_id, job_id=job.id, since=None)
        return job_statistics(job, figures)

    async def metrics(self, period: Period) -> Metrics:
        """Add up the tenant's executions of a period, and what waits at this moment."""
        now = await self.storage.jobs.now()
        since = now - period.span
        figures = await self.storage.executions.figures(self.tenant_id, job_id=None, since=since)
        queue = await self.storage.executions.queue(self.tenant_id)
        return Metrics(
            jobs=queue.jobs_by_status,
            executions={**figures.by_status, "total": sum(figures.by_status.values())},
            success_rate=success_rate(figures.by_status),
            durations=durations(figures.durations_ms),
            lateness=lateness(figures.lateness_ms),
            queue=queue_state(queue, now),
            system=await self._system(now),
            time_range=period,
            since=since,
            generated_at=now,
        )

    async def _system(self, now: datetime) -> SystemState:
        live = [worker for worker in await self.storage.workers.list() if worker.is_live(now)]
        return SystemState(
            live_workers=len(live),
            capacity=sum(worker.capacity for worker in live),
            running=sum(worker.running for worker in live),
            anomalies=sum(worker.anomalies for worker in live),
            version=version("tocsin"),
        )
