"""What a claim and a finish make of an execution's row."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime, timedelta

from ...domain.attempt import Attempt, Finish, Wait
from ...domain.execution import ExecutionStatus, JobExecution
from ...domain.firing import LOOK_AHEAD, begins_at
from ...domain.job import ScheduledJob
from .documents import detached


def is_claimable(row: JobExecution) -> bool:
    """Tell whether a row waits for nothing but an executor; it was dispatched, whatever the clock says since."""
    return row.status is ExecutionStatus.PENDING and row.dispatched_at is not None


def is_doubtful(row: JobExecution, now: datetime) -> bool:
    """Tell whether a lease is over, or began in what is the future since the clock was set back."""
    if row.lease_expires_at is None:
        return False
    return row.lease_expires_at <= now or (row.started_at is not None and row.started_at > now + LOOK_AHEAD)


def lease_end(job: ScheduledJob, now: datetime) -> datetime:
    """Tell how long a lease that starts now holds."""
    return now + timedelta(seconds=job.definition.lock_timeout_seconds)


def claimed(row: JobExecution, job: ScheduledJob, now: datetime, *, worker_id: str) -> JobExecution:
    """Give a row to a worker, who starts it now, or at its nominal time if it fired just ahead of that."""
    start = begins_at(row.available_at, row.dispatched_at, now)
    return replace(
        row,
        status=row.status.to(ExecutionStatus.RUNNING),
        attempt=row.attempt + 1,
        started_at=start,
        next_retry_at=None,
        worker_id=worker_id,
        lease_expires_at=lease_end(job, start),
    )


def attempt_of(row: JobExecution, job: ScheduledJob, *, claimed_at: datetime | None = None) -> Attempt:
    """Word a claimed row as its worker, or a sweeper, needs it."""
    held = {field.name: getattr(row, field.name) for field in fields(row)}
    had_begun = any(past.started_at is not None for past in row.past_attempts)
    return Attempt.of(
        job.definition, held | {"payload": detached(row.payload)}, claimed_at=claimed_at, had_begun=had_begun
    )


def is_current(row: JobExecution | None, finish: Finish) -> bool:
    """Tell whether an attempt still holds its row, with the lease that its finish was made for."""
    if row is None or row.status is not ExecutionStatus.RUNNING:
        return False
    return finish.is_of(row.attempt, row.lease_expires_at)


def finished(row: JobExecution, finish: Finish, now: datetime) -> JobExecution:
    """Write an attempt's end, or its wait for another attempt, into its row."""
    past = finish.past_attempt
    written = replace(
        row,
        status=row.status.to(finish.status),
        failures=finish.failures,
        error=finish.error,
        error_type=finish.error_type,
        error_stack=finish.error_stack,
        past_attempts=(*row.past_attempts, replace(past, worker_id=row.worker_id)) if past else row.past_attempts,
    )
    if finish.status is ExecutionStatus.PENDING:
        return _waiting(replace(written, started_at=finish.started_at), finish.wait(row.failures, now))
    ended = replace(
        written,
        started_at=finish.started_at or row.started_at,
        completed_at=finish.completed_at,
        duration_ms=finish.duration_ms,
        result=finish.result,
    )
    return released(ended) if finish.releases_slot else ended


def released(row: JobExecution) -> JobExecution:
    """Let an ended row go of its slot and lease."""
    return replace(row, holds_slot=False, lease_expires_at=None)


def _waiting(row: JobExecution, wait: Wait) -> JobExecution:
    return replace(
        row,
        available_at=wait.available_at,
        next_retry_at=wait.next_retry_at,
        dispatched_at=wait.dispatched_at,
        worker_id=None,
        lease_expires_at=None,
    )
