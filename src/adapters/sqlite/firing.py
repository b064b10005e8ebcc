"""Fire: due jobs, planned and written in one transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ...domain.execution import ExecutionStatus
from ...domain.job import ScheduledJob
from ...domain.lifecycle import unplannable
from ...domain.plan import Plan
from ...ports.ledger import Fired, Planner
from .accounts import Accounts
from .definitions import UnreadableDefinition
from .instants import from_micros
from .plans import write_plans
from .statements import statements
from .transaction import Transaction

_JOBS: Final = statements("jobs")


def fire(transaction: Transaction, planner: Planner, limit: int) -> Fired:
    """Write the plans of due jobs."""
    accounts = Accounts(transaction)
    due = transaction.column(_JOBS["due_jobs"], now=transaction.now_micros, limit=limit)
    plans = [_plan(job, transaction.now, planner) for job in accounts.load(due)]
    written = write_plans(accounts, plans)
    skips = sum(row.status is ExecutionStatus.SKIPPED for row in written.executions)
    [next_due] = transaction.column(_JOBS["next_due"])
    return Fired(
        dispatches=written.dispatches,
        jobs=len(plans),
        executions=len(written.executions) - skips,
        skips=skips,
        next_due=from_micros(next_due),
        now=transaction.now,
    )


def _plan(job: ScheduledJob, now: datetime, planner: Planner) -> Plan:
    """Plan a job; one whose row cannot be read is set aside, so that the others go on."""
    if isinstance(job.definition, UnreadableDefinition):
        return unplannable(job, now, job.definition.problem)
    return planner(job, now)
