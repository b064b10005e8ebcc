"""The table of executions, with the indexes that keep the loops from walking through the past."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

from ...domain.execution import ExecutionStatus, JobExecution, Origin


class ExecutionRows:
    """Executions by id; what is open (pending, running or unreleased) and what waits is found without a scan."""

    def __init__(self) -> None:
        self._rows: dict[UUID, JobExecution] = {}
        self._open: dict[UUID, JobExecution] = {}
        self._of_job: defaultdict[UUID, dict[UUID, JobExecution]] = defaultdict(dict)
        self._waiting: defaultdict[UUID, list[UUID]] = defaultdict(list)
        self._nominal: dict[tuple[UUID, datetime], UUID] = {}
        self._keys: dict[tuple[UUID, str], UUID] = {}

    def __iter__(self) -> Iterator[JobExecution]:
        return iter(self._rows.values())

    def get(self, execution_id: UUID) -> JobExecution | None:
        """Find an execution."""
        return self._rows.get(execution_id)

    def held(self, execution_id: UUID, attempt: int) -> JobExecution | None:
        """Find an execution if that attempt is its latest."""
        row = self._rows.get(execution_id)
        return row if row is not None and row.attempt == attempt else None

    def open(self) -> Iterable[JobExecution]:
        """Go through the executions that are pending, running, or ended without having released their slot."""
        return self._open.values()

    def of_job(self, job_id: UUID) -> Iterable[JobExecution]:
        """Go through the executions of a job."""
        return self._of_job[job_id].values() if job_id in self._of_job else ()

    def waiting(self, job_id: UUID, limit: int) -> list[JobExecution]:
        """Find the oldest executions of a job that wait for a slot."""
        return [self._rows[execution_id] for execution_id in self._waiting.get(job_id, ())[:limit]]

    def at(self, job_id: UUID, nominal: datetime) -> JobExecution | None:
        """Find the execution with which the schedule of a job accounted for a nominal time."""
        found = self._nominal.get((job_id, nominal))
        return None if found is None else self._rows[found]

    def with_key(self, job_id: UUID, idempotency_key: str) -> JobExecution | None:
        """Find the execution of a job with an idempotency key."""
        found = self._keys.get((job_id, idempotency_key))
        return None if found is None else self._rows[found]

    def put(self, row: JobExecution) -> None:
        """Insert or replace an execution."""
        self._unwait(self._rows.get(row.id))
        self._rows[row.id] = self._of_job[row.job_id][row.id] = row
        if row.origin is Origin.SCHEDULE:
            self._nominal[row.job_id, row.scheduled_at] = row.id
        if row.idempotency_key is not None:
            self._keys[row.job_id, row.idempotency_key] = row.id
        if _waits(row):
            insort(self._waiting[row.job_id], row.id)
        if row.status.terminal and row.lease_expires_at is None:
            self._open.pop(row.id, None)
        else:
            self._open[row.id] = row

    def remove(self, row: JobExecution) -> None:
        """Forget an execution that has ended and released its slot."""
        del self._rows[row.id]
        del self._of_job[row.job_id][row.id]
        if not self._of_job[row.job_id]:
            del self._of_job[row.job_id]
        if row.origin is Origin.SCHEDULE:
            del self._nominal[row.job_id, row.scheduled_at]
        if row.idempotency_key is not None:
            del self._keys[row.job_id, row.idempotency_key]

    def _unwait(self, row: JobExecution | None) -> None:
        if row is None or not _waits(row):
            return
        ids = self._waiting[row.job_id]
        del ids[bisect_left(ids, row.id)]
        if not ids:
            del self._waiting[row.job_id]


def _waits(row: JobExecution) -> bool:
    return row.status is ExecutionStatus.PENDING and row.available_at is None
