"""Plans as they are written: new executions, the job, and what a cancelled job still had open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts, Nominal
from ...domain.execution import ExecutionStatus, JobExecution, Origin
from ...domain.plan import Plan
from ...ports.dispatcher import Dispatch
from .accounts import settle
from .execution_rows import execution_of, execution_row
from .statements import statements
from .transaction import Parameters, Transaction

_EXECUTIONS: Final = statements("executions")
_INSERTED: Final = _EXECUTIONS["insert_executions"].parameters


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
    await transaction.run_for(_EXECUTIONS["insert_executions"], [_inserted(row) for row in fresh])
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


async def cancel(transaction: Transaction, accounts: Accounts, rows: Sequence[JobExecution]) -> list[UUID]:
    """End locked executions of jobs that are loaded; answer the running ones, which keep slot and lease for now."""
    stopped = accounts.cancel(rows)
    await transaction.run(_EXECUTIONS["cancel_executions"], ids=[row.id for row in rows], now=transaction.now)
    return stopped


async def _cancel_open(transaction: Transaction, accounts: Accounts, job_ids: Collection[UUID]) -> list[UUID]:
    if not job_ids:
        return []
    rows = await transaction.rows(_EXECUTIONS["lock_open_executions"], job_ids=list(job_ids))
    return await cancel(transaction, accounts, [execution_of(row) for row in rows])


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


def _inserted(execution: JobExecution) -> Parameters:
    row = execution_row(execution)
    return {name: row[name] for name in _INSERTED}
