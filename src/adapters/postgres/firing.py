"""Fire: due jobs, planned and written in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ...domain.accounts import Accounts
from ...domain.execution import ExecutionStatus
from ...domain.plan import at_once
from ...domain.unreadable import planned
from ...ports.ledger import Fired, Planner
from .accounts import load
from .filters import EVER
from .plans import write_plans
from .statements import statements
from .transaction import Transaction

_JOBS: Final = statements("jobs")

_MARGIN: Final = timedelta(minutes=2)
"""Twice as far as anything can become due in the past: a job that runs once, at an instant up to a minute ago."""
_FULL_LOOK: Final = timedelta(minutes=1)
"""Between two looks that read everything."""


@dataclass(slots=True)
class Frontier:
    """
    Before when nothing is due, as far as one node knows.

    Each fire leaves an entry in the index that leads to no job any more and that nobody may remove while somebody,
    such as a backup, looks at an old state. A look at what is due would read them all, hours of them. So it begins
    at the earliest next_run that the last one left, less a margin; once a minute it reads everything all the same,
    in case somebody wrote a next_run of his own.
    """

    _next_due: datetime = EVER
    _full_look: datetime = EVER

    def since(self, now: datetime) -> datetime:
        """Tell where a look that is made now begins; the clock may have been set back."""
        if self._full_look <= now < self._full_look + _FULL_LOOK:
            return min(self._next_due, now - _MARGIN)
        return EVER

    def move(self, fired: Fired, since: datetime) -> None:
        """Take note of a look that was committed."""
        self._next_due = fired.now if fired.next_due is None else fired.next_due
        if since == EVER:
            self._full_look = fired.now


async def fire(transaction: Transaction, planner: Planner, limit: int, since: datetime) -> Fired:
    """Write the plans of jobs that are due, of those not due before `since`."""
    accounts = Accounts(transaction.now)
    due = await transaction.rows(_JOBS["lock_due_jobs"], since=since, now=transaction.now, limit=limit)
    jobs = await load(transaction, accounts, due)
    plans = at_once(planned(job, transaction.now, planner) for job in jobs)
    written = await write_plans(transaction, accounts, plans)
    skips = sum(row.status is ExecutionStatus.SKIPPED for row in written.executions)
    [next_due] = await transaction.column(_JOBS["next_due"], since=since)
    return Fired(
        dispatches=written.dispatches,
        jobs=len(plans),
        executions=len(written.executions) - skips,
        skips=skips,
        next_due=next_due,
        now=transaction.now,
    )
