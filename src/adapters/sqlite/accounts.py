"""The jobs that one transaction moves: read once, counted by the domain's rules, written once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Final
from uuid import UUID

from ...domain.counters import JobCounters
from ...domain.execution import ExecutionStatus, Origin
from ...domain.job import ScheduledJob
from ...domain.plan import JobChange, Plan, concluded, with_outcome
from ...ports.dispatcher import Dispatch
from .definitions import own_definition, shared_definition
from .execution_rows import dispatch_of
from .job_rows import change_row, counters_row, job_of, state_row
from .statements import statements
from .transaction import Transaction, array

_JOBS: Final = statements("jobs")
_EXECUTIONS: Final = statements("executions")
_STATE: Final = attrgetter(
    "status", "next_run", "last_run", "last_nominal", "exhausted", "outcome", "updated_at", "deleted_at", "version"
)
"""What `save_state` writes that can change by itself."""


def read_jobs(transaction: Transaction, ids: str) -> list[ScheduledJob]:
    """Read jobs, for whoever asked, in the order of a JSON array of ids; deleted ones too."""
    return [job_of(row, own_definition(row["definition"])) for row in transaction.rows(_JOBS["jobs_by_ids"], ids=ids)]


def read_dispatches(transaction: Transaction, ids: Iterable[object]) -> list[Dispatch]:
    """Word what an executor needs in order to claim these, in their order."""
    return [dispatch_of(row) for row in transaction.rows(_EXECUTIONS["dispatches"], ids=array(ids))]


@dataclass(slots=True)
class Accounts:
    """Some jobs while their executions are being written; `settle` is the last thing that a transaction does."""

    transaction: Transaction
    _jobs: dict[UUID, ScheduledJob] = field(default_factory=dict)
    _stored: dict[UUID, ScheduledJob] = field(default_factory=dict)
    _changes: list[JobChange] = field(default_factory=list)

    def load(self, job_ids: Iterable[object]) -> Sequence[ScheduledJob]:
        """Read jobs with one statement, and answer them in the order of the ids."""
        rows = self.transaction.rows(_JOBS["jobs_by_ids"], ids=array(dict.fromkeys(job_ids)))
        jobs = [job_of(row, shared_definition(row["definition"])) for row in rows]
        self._stored |= {job.id: job for job in jobs}
        self._jobs |= self._stored
        return jobs

    def job(self, job_id: UUID) -> ScheduledJob:
        """Tell how a job stands by now."""
        return self._jobs[job_id]

    def plan(self, plan: Plan) -> None:
        """Take a job as a decision leaves it, with the version that the decision makes, if any."""
        self._jobs[plan.job.id] = plan.job
        if plan.change is not None:
            self._changes.append(plan.change)

    def count(self, job_id: UUID, counters: JobCounters) -> None:
        """Move the counters of a job."""
        self._jobs[job_id] = replace(self._jobs[job_id], counters=counters)

    def note(self, job_id: UUID, status: ExecutionStatus, *, origin: Origin, scheduled_at: datetime) -> None:
        """Let a job know how one of its executions stands."""
        self._jobs[job_id] = with_outcome(self._jobs[job_id], status, origin=origin, scheduled_at=scheduled_at)

    def settle(self) -> list[Dispatch]:
        """Admit waiting work where there are slots, end the jobs that are over, and write what moved."""
        dispatches = self._admit()
        for job in list(self._jobs.values()):
            self.plan(concluded(job, self.transaction.now))
        moved = [(job, self._stored[job.id]) for job in self._jobs.values() if job is not self._stored[job.id]]
        self.transaction.run_many(
            _JOBS["save_state"],
            (state_row(job) for job, stored in moved if _STATE(job) != _STATE(stored)),
        )
        self.transaction.run_many(
            _JOBS["save_counters"],
            (counters_row(job) for job, stored in moved if job.counters != stored.counters),
        )
        self.transaction.run_many(_JOBS["insert_version"], map(change_row, self._changes))
        return dispatches

    def _admit(self) -> list[Dispatch]:
        slots = {job.id: job.admissible for job in self._jobs.values()}
        vacancies = [(str(job_id), free) for job_id, free in slots.items() if free]
        if not vacancies:
            return []
        rows = self.transaction.rows(_EXECUTIONS["oldest_waiting"], vacancies=array(vacancies))
        ids = [row["id"] for row in rows]
        self.transaction.run(_EXECUTIONS["admit_executions"], ids=array(ids), now=self.transaction.now_micros)
        for job_id, admitted in Counter(row["job_id"] for row in rows).items():
            job = self._jobs[UUID(job_id)]
            self.count(job.id, job.counters.admitted(admitted))
        return read_dispatches(self.transaction, ids)
