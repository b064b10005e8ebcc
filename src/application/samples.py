"""The sample jobs of `make run`: real work, so that a newcomer sees fires within seconds."""

from __future__ import annotations

from ..domain.job import JobDefinition, JobType
from ..ports.scheduler import IScheduler, OnConflict


def sample_jobs(base_url: str) -> tuple[JobDefinition, ...]:
    """Define what a node can do for itself: watch its health, probe its own HTTP face, tidy up at night."""
    return (
        JobDefinition(
            name="Health check of this node",
            key="sample:health",
            type=JobType.INTERVAL,
            schedule="every 30s",
            handler_name="tocsin.health_check",
            tags=("sample",),
            max_retries=0,
        ),
        JobDefinition(
            name="Probe of this node's /health",
            key="sample:probe",
            type=JobType.CRON,
            schedule="*/15 * * * * *",
            handler_name="tocsin.http_probe",
            payload={"url": f"{base_url}/health", "max_latency_ms": 1000},
            tags=("sample",),
            max_retries=0,
        ),
        JobDefinition(
            name="Retention",
            key="sample:retention",
            type=JobType.CRON,
            schedule="30 3 * * *",
            handler_name="tocsin.retention",
            tags=("sample",),
        ),
    )


async def add_samples(scheduler: IScheduler, base_url: str) -> None:
    """Make the sample jobs; those that exist get their newest definition."""
    for definition in sample_jobs(base_url):
        await scheduler.schedule(definition, on_conflict=OnConflict.REPLACE)
