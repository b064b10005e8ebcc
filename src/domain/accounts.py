"""The jobs that one transaction of a store moves: read once, counted by these rules, written once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from .attempt import Finish
from .counters import JobCounters
from .execution import ExecutionStatus, JobExecution, OpenExecution, Origin
from .job import JobType, ScheduledJob
from .plan import JobChange, Plan, concluded, with_outcome

Nominal: TypeAlias = tuple[UUID, datetime]
"""A job and a nominal time of its schedule."""


class Ended(NamedTuple):
    """The end of one execution that held `slots` slots of its job."""

    job_id: UUID
    finish: Finish
    slots: int
    origin: Origin
    scheduled_at: datetime


_STATE: Final = attrgetter(
    "status", "next_run", "last_run", "last_nominal", "exhausted", "outcome", "updated_at", "deleted_at", "version"
)
"""What of a job's own row can change while its definition stays."""


@dataclass(slots=True)
class Accounts:
    """
    How jobs stand while their executions are being written.

    A store reads jobs with their counters under their locks, enters what it does to their executions, admits
    waiting work into `vacancies`, and writes what `conclude` then leaves in `states`, `counters` and `changes`.
    """

    now: datetime
    _jobs: dict[UUID, ScheduledJob] = field(default_factory=dict)
    _stored: dict[UUID, ScheduledJob] = field(default_factory=dict)
    _changes: list[JobChange] = field(default_factory=list)

    def enter(self, jobs: Iterable[ScheduledJob]) -> None:
        """Take jobs in as they are stored."""
        for job in jobs:
            self._jobs[job.id] = self._stored[job.id] = job

    def job(self, job_id: UUID) -> ScheduledJob:
        """Tell how a job stands by now."""
        return self._jobs[job_id]

    def stored(self, job_id: UUID) -> ScheduledJob:
        """Tell how a job is stored."""
        return self._stored[job_id]

    def take(self, plan: Plan, known: Mapping[Nominal, ExecutionStatus]) -> list[JobExecution]:
        """
        Enter a plan, and answer the rows of it that are new.

        `known` says how those nominal times stand that have a row already: such a row is not made again, and
        the job still advances.
        """
        self._plan(plan)
        fresh = []
        for row in plan.executions:
            standing = known.get((row.job_id, row.scheduled_at)) if row.origin is Origin.SCHEDULE else None
            if standing is None:
                fresh.append(row)
            else:
                self._count(row.job_id, self.job(row.job_id).counters.unplanned(row))
                self._note(row.job_id, standing, row.origin, row.scheduled_at)
        return fresh

    def cancel(self, rows: Iterable[OpenExecution | JobExecution]) -> list[UUID]:
        """Enter that pending and running executions end as cancelled; answer the running ones, which keep slot."""
        stopped = []
        for row in rows:
            counters = self.job(row.job_id).counters
            if row.status is ExecutionStatus.RUNNING:
                self._count(row.job_id, counters.ended(ExecutionStatus.CANCELLED, 0))
                stopped.append(row.id)
            else:
                self._count(row.job_id, counters.withdrawn(row))
            self._note(row.job_id, ExecutionStatus.CANCELLED, row.origin, row.scheduled_at)
        return stopped

    def end(self, ends: Iterable[Ended]) -> None:
        """Enter the ends of executions, in that order: a batch costs each job little more than one."""
        by_job: defaultdict[UUID, list[Ended]] = defaultdict(list)
        for each in ends:
            by_job[each.job_id].append(each)
        for job_id, of_job in by_job.items():
            counters = self.job(job_id).counters.with_ends(
                (each.finish.status, each.finish.duration_ms) for each in of_job
            )
            freed = sum(each.slots for each in of_job if each.finish.releases_slot)
            self._count(job_id, counters.released(freed))
            if self.job(job_id).definition.type is JobType.ONE_TIME:
                for each in of_job:
                    self._note(job_id, each.finish.status, each.origin, each.scheduled_at)

    def release(self, job_id: UUID, slots: int) -> None:
        """Enter that the handler of an ended execution is gone."""
        self._count(job_id, self.job(job_id).counters.released(slots))

    @property
    def vacancies(self) -> Mapping[UUID, int]:
        """How many waiting executions of which job may be admitted."""
        return {job.id: free for job in self._jobs.values() if job.counters.waiting and (free := job.admissible)}

    def admit(self, job_id: UUID, executions: int) -> None:
        """Enter that waiting executions got their slots."""
        self._count(job_id, self.job(job_id).counters.admitted(executions))

    def conclude(self) -> None:
        """End the jobs that have nothing left (`domain.plan.conclude`)."""
        for job in [job for job in self._jobs.values() if job.exhausted]:
            self._plan(concluded(job, self.now))

    @property
    def states(self) -> Sequence[ScheduledJob]:
        """The jobs whose own rows are another than stored, their counters aside."""
        pairs = ((job, self._stored[job.id]) for job in self._jobs.values())
        return [job for job, stored in pairs if job is not stored and _STATE(job) != _STATE(stored)]

    @property
    def counters(self) -> Sequence[ScheduledJob]:
        """The jobs whose counters are other than stored."""
        pairs = ((job, self._stored[job.id].counters) for job in self._jobs.values())
        return [job for job, stored in pairs if job.counters is not stored and job.counters != stored]

    @property
    def changes(self) -> Sequence[JobChange]:
        """The versions that were made on the way."""
        return self._changes

    def _plan(self, plan: Plan) -> None:
        self._jobs[plan.job.id] = plan.job
        if plan.change is not None:
            self._changes.append(plan.change)

    def _count(self, job_id: UUID, counters: JobCounters) -> None:
        self._jobs[job_id] = replace(self._jobs[job_id], counters=counters)

    def _note(self, job_id: UUID, status: ExecutionStatus, origin: Origin, scheduled_at: datetime) -> None:
        self._jobs[job_id] = with_outcome(self._jobs[job_id], status, origin=origin, scheduled_at=scheduled_at)
