"""What Tocsin tells about itself, computed from what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from uuid import UUID

from ..domain.execution import SkipReason
from .stores import FailureFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedFire:
    """
    One nominal time to come, in UTC and as its zone's wall clock shows it.

    `note` says in words what is shifted, doubled or left out and why; a skipped one has its reason.
    """

    scheduled_at: datetime
    local: datetime
    note: str | None = None
    skipped: bool = False
    skip_reason: SkipReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The next fires of a schedule, earliest first, and the schedule in words."""

    fires: Sequence[PreviewedFire]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyHour:
    """An hour of the day in UTC, 0 to 23, and how many executions started in it."""

    hour: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Durations of successful executions in ms; percentiles by nearest rank; all None without any."""

    avg_duration_ms: float | None
    min_duration_ms: int | None
    max_duration_ms: int | None
    p50_duration_ms: int | None
    p95_duration_ms: int | None
    p99_duration_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatistics:
    """
    One job's ledger in numbers.

    `total_executions` counts every recorded nominal time and run by hand; `success_rate`, in 0..1, is
    the share of successes among success, failed and timeout, None before the first. Failure patterns are
    sorted by count, busiest hours likewise.
    """

    job_id: UUID
    total_executions: int
    successful: int
    failed: int
    timeout: int
    cancelled: int
    skipped: int
    success_rate: float | None
    durations: Durations
    last_execution: datetime | None
    next_execution: datetime | None
    failure_patterns: Sequence[FailureFigures]
    busiest_hours: Sequence[BusyHour]


class Period(StrEnum):
    """How far back metrics look."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def span(self) -> timedelta:
        """The period as a duration."""
        return _SPANS[self]


_SPANS: Final = MappingProxyType(
    {
        Period.HOUR: timedelta(hours=1),
        Period.DAY: timedelta(days=1),
        Period.WEEK: timedelta(days=7),
        Period.MONTH: timedelta(days=30),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """From nominal time to start of schedule fires, in ms; percentiles by nearest rank."""

    p50_lateness_ms: int | None
    p95_lateness_ms: int | None
    p99_lateness_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """
    What waits now; ages in seconds, 0 when nothing does.

    `unclaimed` counts by capability what nobody has taken for too long (`QueueFigures`).
    """

    ready: int
    waiting: int
    retrying: int
    running: int
    due_jobs: int
    oldest_due_seconds: float
    oldest_ready_seconds: float
    unclaimed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemState:
    """The live nodes behind it: how many, what they can hold and hold now, and what they found amiss in the ledger."""

    live_workers: int
    capacity: int
    running: int
    anomalies: int
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """
    One tenant's figures over a period; queue and system are of this moment.

    `jobs` maps status to count, `executions` status to count over the period, with `total`.
    """

    jobs: Mapping[str, int]
    executions: Mapping[str, int]
    success_rate: float | None
    durations: Durations
    lateness: Lateness
    queue: QueueState
    system: SystemState
    time_range: Period
    since: datetime
    generated_at: datetime


class HealthStatus(StrEnum):
    """How a component, or the whole, is doing; only unhealthy answers 503."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentHealth:
    """One part: its status, and in words what is wrong."""

    status: HealthStatus
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The worst of the components decides; `issues` lists every detail that is not healthy."""

    status: HealthStatus
    components: Mapping[str, ComponentHealth]
    issues: Sequence[str]
    timestamp: datetime
    uptime_seconds: float
