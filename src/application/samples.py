"""The sample jobs of `make run`: real work, so that a newcomer sees fires within seconds."""

from __future__ import annotations

from ..domain.job import JobDefinition, JobType
from ..ports.conflicts import OnConflict
from ..ports.scheduler import IScheduler


def sample_jobs(base_url: str | None) -> tuple[JobDefinition, ...]:
    """Define what a node can do for itself: watch its health, probe its HTTP face if it has one, tidy up at night."""
    health = JobDefinition(
        name="Health check of this node",
        key="sample:health",
        type=JobType.INTERVAL,
        schedule="every 30s",
        handler_name="tocsin.health_check",
        tags=("sample",),
        max_retries=0,
    )
    retention = JobDefinition(
        name="Retention",
        key="sample:retention",
        type=JobType.CRON,
        schedule="30 3 * * *",
        handler_name="tocsin.retention",
        tags=("sample",),
    )
    return (health, retention) if base_url is None else (health, _probe(base_url), retention)


def _probe(base_url: str) -> JobDefinition:
    return JobDefinition(
        name="Probe of this node's /health",
        key="sample:probe",
        type=JobType.CRON,
        schedule="*/15 * * * * *",
        handler_name="tocsin.http_probe",
        payload={"url": f"{base_url}/health", "max_latency_ms": 1000},
        tags=("sample",),
        max_retries=0,
    )


async def add_samples(scheduler: IScheduler, base_url: str | None) -> None:
    """Make the sample jobs, without a probe where a job can call no such address; existing ones are redefined."""
    for definition in sample_jobs(base_url):
        await scheduler.schedule(definition, on_conflict=OnConflict.REPLACE)
