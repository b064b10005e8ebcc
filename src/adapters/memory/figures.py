"""What rows add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from heapq import nsmallest
from typing import Final
from uuid import UUID

from ...domain.execution import ExecutionStatus, JobExecution
from ...domain.job import JobStatus, ScheduledJob
from ...domain.lateness import lateness_ms
from ...ports.stores import UNCLAIMED_AFTER, UNCLAIMED_SAMPLE, ExecutionFigures, FailureFigures, QueueFigures

_SAMPLE: Final = 10_000
_FAILURES: Final = frozenset({ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT})


def execution_figures(rows: Sequence[JobExecution]) -> ExecutionFigures:
    """Add up executions, whatever their order."""
    newest_first = sorted(rows, key=lambda row: row.id, reverse=True)
    by_status: Counter[str] = Counter()
    for row in rows:
        by_status[row.status.value] += row.covers_count or 1
    started = [row.started_at for row in rows if row.started_at is not None]
    hours = Counter(at.astimezone(UTC).hour for at in started)
    return ExecutionFigures(
        by_status=dict(by_status),
        durations_ms=_sample(newest_first, _duration_ms),
        lateness_ms=_sample(newest_first, _lateness_ms),
        failures=_failures(rows),
        by_hour=[hours[hour] for hour in range(24)],
        last_started_at=max(started, default=None),
    )


def queue_figures(jobs: Sequence[ScheduledJob], rows: Iterable[JobExecution], now: datetime) -> QueueFigures:
    """Count what jobs, none of them deleted, and their open executions wait for."""
    every = list(rows)
    pending = [row for row in every if row.status is ExecutionStatus.PENDING]
    ready = [row.available_at for row in pending if row.available_at is not None and row.available_at <= now]
    waiting = sum(row.available_at is None for row in pending)
    due = [job.next_run for job in jobs if job.status is JobStatus.ACTIVE and job.next_run and job.next_run <= now]
    return QueueFigures(
        jobs_by_status=dict(Counter(job.status.value for job in jobs)),
        ready=len(ready),
        waiting=waiting,
        retrying=len(pending) - waiting - len(ready),
        running=sum(row.status is ExecutionStatus.RUNNING for row in every),
        due_jobs=len(due),
        oldest_due=min(due, default=None),
        oldest_ready=min(ready, default=None),
        unclaimed=_unclaimed(jobs, pending, now - UNCLAIMED_AFTER),
    )


def _unclaimed(jobs: Iterable[ScheduledJob], pending: Iterable[JobExecution], before: datetime) -> dict[str, int]:
    """Count what has been ready since before an instant, by what it takes to run it."""
    capabilities = {job.id: job.definition.capability for job in jobs}
    stale = [row for row in pending if row.available_at is not None and row.available_at < before]
    first = nsmallest(UNCLAIMED_SAMPLE, stale, key=_dispatch_order)
    return dict(Counter(capabilities[row.job_id] for row in first))


def _dispatch_order(row: JobExecution) -> tuple[bool, datetime | None, datetime | None, UUID]:
    return row.dispatched_at is not None, row.dispatched_at or row.available_at, row.available_at, row.id


def _sample(newest_first: Iterable[JobExecution], measure: Callable[[JobExecution], int | None]) -> list[int]:
    measured = [value for row in newest_first if (value := measure(row)) is not None]
    return sorted(measured[:_SAMPLE])


def _duration_ms(row: JobExecution) -> int | None:
    return row.duration_ms if row.status is ExecutionStatus.SUCCESS else None


def _lateness_ms(row: JobExecution) -> int | None:
    return lateness_ms(row.origin, row.scheduled_at, row.first_start)


def _failures(rows: Iterable[JobExecution]) -> list[FailureFigures]:
    """Group failures by their type, the most frequent first."""
    by_type: dict[str, list[JobExecution]] = {}
    for row in rows:
        if row.status in _FAILURES and row.error_type is not None:
            by_type.setdefault(row.error_type, []).append(row)
    figures = [_failure(error_type, failed) for error_type, failed in by_type.items()]
    return sorted(figures, key=lambda figure: (-figure.count, figure.error_type))


def _failure(error_type: str, failed: Sequence[JobExecution]) -> FailureFigures:
    last = max(failed, key=lambda row: (row.completed_at or row.created_at, row.id))
    return FailureFigures(
        error_type=error_type,
        count=len(failed),
        last_seen=last.completed_at or last.created_at,
        last_error=last.error,
    )
