"""Fire: due jobs, planned and written in one transaction."""

from __future__ import annotations

from typing import Final

from ...domain.accounts import Accounts
from ...domain.execution import ExecutionStatus
from ...domain.plan import at_once
from ...domain.unreadable import planned
from ...ports.ledger import Fired, Planner
from .accounts import load
from .instants import from_micros
from .plans import write_plans
from .statements import statements
from .transaction import Transaction

_JOBS: Final = statements("jobs")


def fire(transaction: Transaction, planner: Planner, limit: int) -> Fired:
    """Write the plans of due jobs."""
    accounts = Accounts(transaction.now)
    due = transaction.column(_JOBS["due_jobs"], now=transaction.now_micros, limit=limit)
    plans = at_once(planned(job, transaction.now, planner) for job in load(transaction, accounts, due))
    written = write_plans(transaction, accounts, plans)
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
