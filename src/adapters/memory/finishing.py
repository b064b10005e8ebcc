"""A batch of finishes while it is being written."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ...domain.attempt import Finish, refuse
from ...domain.event import HandlerCounters
from ...domain.execution import ExecutionStatus, JobExecution
from ...ports.dispatcher import Dispatch
from ...ports.ledger import Finished, Hold
from .attempts import finished, is_current
from .database import MemoryDatabase
from .documents import detached_finish
from .transactions import note_end, settle


class FinishBatch:
    """Writes finishes one by one; what their jobs can do with the freed slots is settled once, at the end."""

    def __init__(self, database: MemoryDatabase, now: datetime) -> None:
        self._database = database
        self._now = now
        self._rejected: list[Hold] = []
        self._set_aside: list[Hold] = []
        self._returned: list[JobExecution] = []
        self._ended: dict[UUID, None] = {}

    def write(self, finish: Finish) -> None:
        """Write one finish, if its attempt still holds its row."""
        row = self._database.executions.get(finish.execution_id)
        if row is None or not is_current(row, finish):
            self._rejected.append((finish.execution_id, finish.attempt))
            return
        after = finished(row, self._storable(finish), self._now)
        self._database.executions.put(after)
        self._database.tell(after, self._now)
        if after.status.terminal:
            self._count(row, after)
        elif after.dispatched_at is not None:
            self._returned.append(after)

    def settled(self) -> Finished:
        """Admit waiting work, end jobs that are over, and say what the batch came to."""
        admitted: list[Dispatch] = []
        for job_id in self._ended:
            admitted += settle(self._database, job_id, self._now)
        return Finished(
            rejected=self._rejected,
            dispatches=[*self._database.dispatches(self._returned), *admitted],
            set_aside=self._set_aside,
        )

    def _storable(self, finish: Finish) -> Finish:
        try:
            return detached_finish(finish)
        # What JSON or UTF-8 has no form for shows as one of these.
        except (ValueError, TypeError, RecursionError):
            self._set_aside.append((finish.execution_id, finish.attempt))
            return refuse(finish)

    def _count(self, before: JobExecution, after: JobExecution) -> None:
        job = self._database.jobs[after.job_id]
        counters = job.counters.ended(after.status, after.duration_ms or 0)
        freed = counters.released(before.holds_slot - after.holds_slot)
        self._database.jobs[job.id] = replace(job, counters=freed)
        note_end(self._database, after)
        self._count_for_handler(after)
        self._ended[job.id] = None

    def _count_for_handler(self, after: JobExecution) -> None:
        if after.event_handler_id is not None:
            has_succeeded = after.status is ExecutionStatus.SUCCESS
            ends = HandlerCounters(succeeded=int(has_succeeded), failed=int(not has_succeeded))
            self._database.count(after.event_handler_id, ends)
