"""Workers, statistics, metrics and health over the wire."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Literal
from uuid import UUID

from ....ports.reports import (
    BusyHour,
    ComponentHealth,
    Durations,
    Health,
    HealthStatus,
    JobStatistics,
    Lateness,
    Metrics,
    Period,
    QueueState,
    SystemState,
)
from ....ports.stores import FailureFigures, Worker
from .fields import ShownInstant
from .model import Output


class WorkerOut(Output):
    """
    A node that runs loops, as its last heartbeat told: live, draining, drained, stopped, or dead.

    `drain_requested` is what it was asked to do, which it follows at its next heartbeat. `anomalies` counts what it
    found amiss in the ledger; its log tells each.
    """

    id: str
    name: str
    roles: tuple[str, ...]
    capabilities: tuple[str, ...]
    version: str
    capacity: int
    running: int
    status: str
    started_at: ShownInstant
    heartbeat_at: ShownInstant
    drain_requested: bool
    anomalies: int

    @classmethod
    def of(cls, worker: Worker) -> WorkerOut:
        """Show a worker."""
        return cls.model_validate(worker)

    def value(self) -> Worker:
        """Read a worker as it was shown."""
        return Worker(**{field.name: getattr(self, field.name) for field in fields(Worker)})


class DurationsOut(Output):
    """Durations of successful executions in ms; percentiles by nearest rank; null without any."""

    avg_duration_ms: float | None
    min_duration_ms: int | None
    max_duration_ms: int | None
    p50_duration_ms: int | None
    p95_duration_ms: int | None
    p99_duration_ms: int | None

    def durations(self) -> Durations:
        """Read the durations as they were shown."""
        return Durations(**{name: getattr(self, name) for name in DurationsOut.model_fields})


class FailurePatternOut(Output):
    """How often one type of error ended an execution, and what it last said."""

    error_type: str
    count: int
    last_seen: ShownInstant
    last_error: str | None


class BusyHourOut(Output):
    """An hour of the day in UTC, and how many executions started in it."""

    hour: int
    count: int


class StatsOut(DurationsOut):
    """One job's ledger in numbers; `success_rate` is in 0..1."""

    job_id: UUID
    total_executions: int
    successful: int
    failed: int
    timeout: int
    cancelled: int
    skipped: int
    success_rate: float | None
    last_execution: ShownInstant | None
    next_execution: ShownInstant | None
    failure_patterns: tuple[FailurePatternOut, ...]
    busiest_hours: tuple[BusyHourOut, ...]

    @classmethod
    def of(cls, statistics: JobStatistics) -> StatsOut:
        """Show a job's statistics."""
        shown = asdict(statistics)
        return cls(**shown.pop("durations"), **shown)

    def value(self) -> JobStatistics:
        """Read statistics as they were shown."""
        nested = {*DurationsOut.model_fields, "failure_patterns", "busiest_hours"}
        return JobStatistics(
            **{name: getattr(self, name) for name in StatsOut.model_fields if name not in nested},
            durations=self.durations(),
            failure_patterns=[FailureFigures(**shown.__dict__) for shown in self.failure_patterns],
            busiest_hours=[BusyHour(**shown.__dict__) for shown in self.busiest_hours],
        )


class PerformanceOut(DurationsOut):
    """How well and how fast work was done, and how late it began, in ms."""

    success_rate: float | None
    p50_lateness_ms: int | None
    p95_lateness_ms: int | None
    p99_lateness_ms: int | None


class QueueOut(Output):
    """
    What waits now; ages in seconds.

    `unclaimed` counts, by what it takes to run them, executions that nobody has taken for more than a minute.
    """

    ready: int
    waiting: int
    retrying: int
    running: int
    due_jobs: int
    oldest_due_seconds: float
    oldest_ready_seconds: float
    unclaimed: dict[str, int]


class SystemOut(Output):
    """The live nodes behind it; `anomalies` counts what they found amiss in the ledger of late."""

    live_workers: int
    capacity: int
    running: int
    anomalies: int
    version: str


class MetricsOut(Output):
    """Figures over a period; queue and system are of this moment."""

    jobs: dict[str, int]
    executions: dict[str, int]
    performance: PerformanceOut
    queue: QueueOut
    system: SystemOut
    time_range: Period
    since: ShownInstant
    generated_at: ShownInstant

    @classmethod
    def of(cls, metrics: Metrics) -> MetricsOut:
        """Show metrics."""
        performance = PerformanceOut(
            **asdict(metrics.durations), **asdict(metrics.lateness), success_rate=metrics.success_rate
        )
        return cls(
            jobs=dict(metrics.jobs),
            executions=dict(metrics.executions),
            performance=performance,
            queue=QueueOut.model_validate(metrics.queue),
            system=SystemOut.model_validate(metrics.system),
            time_range=metrics.time_range,
            since=metrics.since,
            generated_at=metrics.generated_at,
        )

    def value(self) -> Metrics:
        """Read metrics as they were shown."""
        performance = self.performance
        return Metrics(
            jobs=self.jobs,
            executions=self.executions,
            success_rate=performance.success_rate,
            durations=performance.durations(),
            lateness=Lateness(**{field.name: getattr(performance, field.name) for field in fields(Lateness)}),
            queue=QueueState(**self.queue.model_dump()),
            system=SystemState(**self.system.model_dump()),
            time_range=self.time_range,
            since=self.since,
            generated_at=self.generated_at,
        )


class ComponentOut(Output):
    """One part: its status, and in words what is wrong."""

    status: HealthStatus
    detail: str | None


class HealthOut(Output):
    """How the node that answers is doing."""

    status: HealthStatus
    components: dict[str, ComponentOut]
    issues: tuple[str, ...]
    timestamp: ShownInstant
    uptime_seconds: float

    @classmethod
    def of(cls, health: Health) -> HealthOut:
        """Show a node's health."""
        return cls.model_validate(health)

    def value(self) -> Health:
        """Read health as it was shown."""
        components = {
            name: ComponentHealth(status=shown.status, detail=shown.detail) for name, shown in self.components.items()
        }
        return Health(
            status=self.status,
            components=components,
            issues=list(self.issues),
            timestamp=self.timestamp,
            uptime_seconds=self.uptime_seconds,
        )


class LiveOut(Output):
    """The process serves requests; nothing is said about what stands behind it."""

    status: Literal["live"] = "live"
    version: str


class ReadyOut(Output):
    """The node takes work."""

    status: Literal["ready"] = "ready"
