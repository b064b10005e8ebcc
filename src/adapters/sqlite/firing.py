"""Fire: due jobs, planned and written in one transaction."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from ...domain.accounts import Accounts
from ...domain.execution import ExecutionStatus
from ...domain.plan import at_once, is_postponed
from ...domain.unreadable import planned
from ...ports.ledger import Fired, Planner
from .accounts import load
from .instants import from_micros, to_micros
from .plans import write_plans
from .statements import statements
from .transaction import Transaction

_JOBS: Final = statements("jobs")


def fire(transaction: Transaction, planner: Planner, limit: int, ahead: timedelta) -> Fired:
    """Write the plans of jobs that are due, or will be within `ahead`."""
    accounts, now = Accounts(transaction.now), transaction.now
    due = transaction.column(_JOBS["due_jobs"], until=to_micros(now + ahead), limit=limit)
    jobs = load(transaction, accounts, due)
    made = at_once(planned(job, now, planner) for job in jobs)
    plans = [plan for job, plan in zip(jobs, made, strict=False) if not is_postponed(job, plan, now)]
    written = write_plans(transaction, accounts, plans)
    skips = sum(row.status is ExecutionStatus.SKIPPED for row in written.executions)
    [next_due] = transaction.column(_JOBS["next_due"])
    return Fired(
        dispatches=written.dispatches,
        jobs=len(plans),
        executions=len(written.executions) - skips,
        skips=skips,
        next_due=from_micros(next_due),
        now=now,
        postponed=len(made) - len(plans),
    )
