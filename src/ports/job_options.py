"""The fields of a job's definition as keyword arguments, for callers that prefer them (`domain.job.JobDefinition`)."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from ..domain.job import Backoff, HandlerType, JobType, MisfirePolicy, OverlapPolicy
from ..domain.json import Json


class RunOptions(TypedDict, total=False):
    """What a job may say beside when it runs, and what."""

    description: str | None
    payload: Json
    metadata: Json
    tags: tuple[str, ...]
    priority: int
    concurrency: int
    overlap_policy: OverlapPolicy
    misfire_policy: MisfirePolicy
    misfire_grace_seconds: int
    catchup_window_seconds: int
    max_catchup: int
    max_retries: int
    retry_delay_ms: int
    backoff: Backoff
    retry_jitter: float
    timeout_ms: int
    lock_timeout_seconds: int


class JobOptions(RunOptions, total=False):
    """The optional fields of a definition."""

    handler_type: HandlerType
    key: str | None
    timezone: str
    start_date: datetime | None
    end_date: datetime | None
    max_executions: int | None


class JobChanges(JobOptions, total=False):
    """The fields of a definition that an update may name."""

    name: str
    type: JobType
    schedule: str | None
    handler_name: str
