"""One decision about one job, as it is written."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.errors import Conflict
from ...domain.job import JobStatus, ScheduledJob
from ...domain.plan import Decision
from ...domain.stored import UnreadableDefinition
from ...domain.unreadable import decided
from .accounts import load
from .job_rows import definition_row
from .plans import Written, write_plans
from .statements import statements
from .transaction import Transaction

_JOBS: Final = statements("jobs")


def write_decision(transaction: Transaction, job: ScheduledJob, decide: Decision) -> Written:
    """Decide about a job as it is stored, and write the plan with the definition, if that is another."""
    plan = decided(job, transaction.now, decide)
    refuse_taken_key(transaction, plan.job)
    accounts = Accounts(transaction.now)
    load(transaction, accounts, [job.id])
    written = write_plans(transaction, accounts, [plan])
    if plan.change is not None and not isinstance(job.definition, UnreadableDefinition):
        transaction.run(_JOBS["save_definition"], **definition_row(plan.job))
    return written


def refuse_taken_key(transaction: Transaction, job: ScheduledJob) -> None:
    """Raise Conflict if another job has the key already."""
    definition = job.definition
    if definition.key is None or job.status is JobStatus.CANCELLED or job.deleted_at is not None:
        return
    taken = transaction.column(
        _JOBS["job_with_key"],
        id=str(job.id),
        tenant_id=job.tenant_id,
        handler_name=definition.handler_name,
        key=definition.key,
    )
    if taken:
        raise Conflict(f"another job has the key {definition.key!r}", UUID(taken[0]))
