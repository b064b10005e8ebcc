"""Plans as they are written: new executions, the job, and what a cancelled job still had open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts, Nominal
from ...domain.execution import ExecutionStatus, JobExecution, OpenExecution, Origin
from ...domain.facts import EXECUTION_FACTS
from ...domain.plan import Plan
from ...ports.dispatcher import Dispatch
from .accounts import settle
from .execution_rows import new_execution_columns, open_execution_of
from .statements import statements
from .transaction import Transaction

_EXECUTIONS: Final = statements("executions")
_INSERTED: Final = _EXECUTIONS["insert_executions"].parameters

_DEADLINE_SECONDS: Final = 60.0
"""Of a transaction that ends all that a job has open."""
_BATCH: Final = 1000
"""How many of these one statement ends, so that neither its limit nor the event loop feels how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What plans came to: the rows that are new, what may be claimed now, and the running work that was stopped."""

    executions: Sequence[JobExecution]
    dispatches: Sequence[Dispatch]
    stopped: Sequence[UUID]


async def write_plans(transaction: Transaction, accounts: Accounts, plans: Sequence[Plan]) -> Written:
    """Write the plans of jobs that are loaded, but for nominal times that the ledger has already."""
    known = await _known_nominals(transaction, plans)
    fresh = [row for plan in plans for row in accounts.take(plan, known)]
    if fresh:
        await transaction.run(_EXECUTIONS["insert_executions"], **new_execution_columns(fresh, _INSERTED))
    transaction.news.made(fresh)
    ended = {plan.job.id for plan in plans if plan.cancels_open}
    stopped = await _cancel_open(transaction, accounts, ended)
    dispatches = [
        Dispatch(
            execution_id=row.id,
            capability=accounts.job(row.job_id).definition.capability,
            priority=row.priority,
        )
        for row in fresh
        if row.dispatched_at is not None and row.job_id not in ended
    ]
    return Written(executions=fresh, dispatches=[*dispatches, *await settle(transaction, accounts)], stopped=stopped)


async def cancel(
    transaction: Transaction, accounts: Accounts, rows: Sequence[OpenExecution | JobExecution]
) -> list[UUID]:
    """End locked executions of jobs that are loaded; answer the running ones, which keep slot and lease for now."""
    stopped = accounts.cancel(rows)
    ids = [row.id for row in rows]
    await transaction.run(_EXECUTIONS["cancel_executions"], ids=ids, now=transaction.now)
    transaction.news.happened(EXECUTION_FACTS[ExecutionStatus.CANCELLED], ids)
    return stopped


async def _cancel_open(transaction: Transaction, accounts: Accounts, job_ids: Collection[UUID]) -> list[UUID]:
    if not job_ids:
        return []
    # Unlike all else that one transaction does, this is as much as there happens to be.
    transaction.take_longer(_DEADLINE_SECONDS)
    rows = await transaction.rows(_EXECUTIONS["lock_open_executions"], job_ids=list(job_ids))
    stopped: list[UUID] = []
    for first in range(0, len(rows), _BATCH):
        batch = [open_execution_of(row) for row in rows[first : first + _BATCH]]
        stopped += await cancel(transaction, accounts, batch)
    return stopped


async def _known_nominals(transaction: Transaction, plans: Sequence[Plan]) -> Mapping[Nominal, ExecutionStatus]:
    """Find which nominal times have a row already, and how that row stands."""
    wanted = [row for plan in plans for row in plan.executions if row.origin is Origin.SCHEDULE]
    if not wanted:
        return {}
    rows = await transaction.rows(
        _EXECUTIONS["known_nominals"],
        job_ids=[row.job_id for row in wanted],
        scheduled_at=[row.scheduled_at for row in wanted],
    )
    return {(row["job_id"], row["scheduled_at"]): ExecutionStatus(row["status"]) for row in rows}
