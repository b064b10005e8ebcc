"""What may still be done to a job whose stored definition cannot be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from .errors import Conflict, TocsinError
from .job import JobStatus, ScheduledJob
from .lifecycle import unplannable
from .plan import Decision, Plan
from .stored import UnreadableDefinition


def planned(job: ScheduledJob, now: datetime, planner: Decision) -> Plan:
    """Plan what is due of a job; one that cannot be read is set aside as failed, so that the others go on."""
    if isinstance(job.definition, UnreadableDefinition):
        return unplannable(job, now, job.definition.problem)
    return planner(job, now)


def decided(job: ScheduledJob, now: datetime, decide: Decision) -> Plan:
    """
    Ask for a plan; for a job that cannot be read no other than one that leaves it alone, or its end.

    Neither needs anything of its definition.

    Raises:
        Conflict: such a job can only be cancelled or deleted.
    """
    if not isinstance(job.definition, UnreadableDefinition):
        return decide(job, now)
    # Nobody knows its nominal times any more, so there is none to account for.
    bare = replace(job, next_run=None)
    plan = decide(bare, now)
    if plan == Plan(job=bare):
        return Plan(job=job)
    if plan.job.status is not JobStatus.CANCELLED and plan.job.deleted_at is None:
        raise Conflict(f"{job.definition.problem}; such a job can only be cancelled or deleted")
    return plan


def decided_each(
    jobs: Iterable[ScheduledJob], now: datetime, decide: Decision
) -> tuple[list[Plan], list[tuple[ScheduledJob, TocsinError]]]:
    """Ask for a plan of each of several jobs; those of which there can be none come with the reason."""
    plans, refused = [], []
    for job in jobs:
        try:
            plans.append(decided(job, now, decide))
        except TocsinError as error:
            refused.append((job, error))
    return plans, refused
