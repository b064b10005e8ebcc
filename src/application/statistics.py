"""Figures for people, computed from what is stored; nothing here is kept in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from ..domain.execution import ExecutionStatus
from ..domain.job import ScheduledJob
from ..domain.lateness import percentile
from ..ports.reports import BusyHour, Durations, JobStatistics, Lateness, QueueState
from ..ports.stores import ExecutionFigures, QueueFigures

BUSIEST: Final = 5


def success_rate(by_status: Mapping[str, int]) -> float | None:
    """Share of successes among the executions that ran to an end, 0..1; None before the first."""
    succeeded = by_status.get(ExecutionStatus.SUCCESS, 0)
    ended = succeeded + by_status.get(ExecutionStatus.FAILED, 0) + by_status.get(ExecutionStatus.TIMEOUT, 0)
    return succeeded / ended if ended else None


def durations(ascending: Sequence[int]) -> Durations:
    """Sum up durations of successes, in ms, given ascending."""
    return Durations(
        avg_duration_ms=sum(ascending) / len(ascending) if ascending else None,
        min_duration_ms=ascending[0] if ascending else None,
        max_duration_ms=ascending[-1] if ascending else None,
        p50_duration_ms=percentile(ascending, 50),
        p95_duration_ms=percentile(ascending, 95),
        p99_duration_ms=percentile(ascending, 99),
    )


def lateness(ascending: Sequence[int]) -> Lateness:
    """Sum up the lateness of schedule fires, in ms, given ascending."""
    return Lateness(
        p50_lateness_ms=percentile(ascending, 50),
        p95_lateness_ms=percentile(ascending, 95),
        p99_lateness_ms=percentile(ascending, 99),
    )


def job_statistics(job: ScheduledJob, figures: ExecutionFigures) -> JobStatistics:
    """Put one job's figures into the shape that callers read."""
    counts = figures.by_status
    return JobStatistics(
        job_id=job.id,
        total_executions=sum(counts.values()),
        successful=counts.get(ExecutionStatus.SUCCESS, 0),
        failed=counts.get(ExecutionStatus.FAILED, 0),
        timeout=counts.get(ExecutionStatus.TIMEOUT, 0),
        cancelled=counts.get(ExecutionStatus.CANCELLED, 0),
        skipped=counts.get(ExecutionStatus.SKIPPED, 0),
        success_rate=success_rate(counts),
        durations=durations(figures.durations_ms),
        last_execution=figures.last_started_at,
        next_execution=job.next_run,
        failure_patterns=sorted(figures.failures, key=lambda failure: (-failure.count, failure.error_type)),
        busiest_hours=busiest_hours(figures.by_hour),
    )


def busiest_hours(by_hour: Sequence[int]) -> list[BusyHour]:
    """Pick the hours of the UTC day in which most executions started, the busiest first."""
    hours = [BusyHour(hour=hour, count=count) for hour, count in enumerate(by_hour) if count]
    return sorted(hours, key=lambda busy: (-busy.count, busy.hour))[:BUSIEST]


def queue_state(queue: QueueFigures, now: datetime) -> QueueState:
    """Turn what waits into counts and ages."""
    return QueueState(
        ready=queue.ready,
        waiting=queue.waiting,
        retrying=queue.retrying,
        running=queue.running,
        due_jobs=queue.due_jobs,
        oldest_due_seconds=_age(queue.oldest_due, now),
        oldest_ready_seconds=_age(queue.oldest_ready, now),
        unclaimed=queue.unclaimed,
    )


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
