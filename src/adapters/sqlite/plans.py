"""Plans as they are written: new executions, the job, and what a cancelled job still had open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from ...domain.execution import ExecutionStatus, JobExecution, Origin
from ...domain.plan import Plan
from ...ports.dispatcher import Dispatch
from .accounts import Accounts
from .execution_rows import execution_of, execution_row
from .instants import from_micros, to_micros
from .statements import statements
from .transaction import Transaction, array

Nominal: TypeAlias = tuple[UUID, datetime]
"""A job and a nominal time of its schedule."""

_EXECUTIONS: Final = statements("executions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What plans came to: the rows that are new, what may be claimed now, and the running work that was stopped."""

    executions: Sequence[JobExecution]
    dispatches: Sequence[Dispatch]
    stopped: Sequence[UUID]


def write_plans(accounts: Accounts, plans: Sequence[Plan]) -> Written:
    """Write the plans of jobs that are loaded, but for nominal times that the ledger has already."""
    transaction = accounts.transaction
    known = _known_nominals(transaction, plans)
    fresh = [row for plan in plans for row in _take(accounts, plan, known)]
    transaction.run_many(_EXECUTIONS["insert_execution"], map(execution_row, fresh))
    stopped = [id_ for plan in plans if plan.cancels_open for id_ in _cancel_open(accounts, plan.job.id)]
    ended = {plan.job.id for plan in plans if plan.cancels_open}
    dispatches = [
        Dispatch(
            execution_id=row.id,
            capability=accounts.job(row.job_id).definition.capability,
            priority=row.priority,
        )
        for row in fresh
        if row.dispatched_at is not None and row.job_id not in ended
    ]
    return Written(executions=fresh, dispatches=[*dispatches, *accounts.settle()], stopped=stopped)


def cancel(accounts: Accounts, ids: Iterable[object]) -> list[UUID]:
    """End executions of jobs that are loaded; answer the running ones, which keep slot and lease for now."""
    transaction = accounts.transaction
    wanted = array(ids)
    stopped = []
    for row in map(execution_of, transaction.rows(_EXECUTIONS["executions_by_ids"], ids=wanted)):
        counters = accounts.job(row.job_id).counters
        if row.status is ExecutionStatus.RUNNING:
            accounts.count(row.job_id, counters.ended(ExecutionStatus.CANCELLED, 0))
            stopped.append(row.id)
        else:
            accounts.count(row.job_id, counters.withdrawn(row))
        accounts.note(row.job_id, ExecutionStatus.CANCELLED, origin=row.origin, scheduled_at=row.scheduled_at)
    transaction.run(_EXECUTIONS["cancel_executions"], ids=wanted, now=transaction.now_micros)
    return stopped


def _cancel_open(accounts: Accounts, job_id: UUID) -> list[UUID]:
    return cancel(accounts, accounts.transaction.column(_EXECUTIONS["open_executions"], job_id=str(job_id)))


def _take(accounts: Accounts, plan: Plan, known: Mapping[Nominal, ExecutionStatus]) -> list[JobExecution]:
    """Enter a plan into the accounts, and answer the rows of it that are new."""
    accounts.plan(plan)
    fresh = []
    for row in plan.executions:
        standing = known.get((row.job_id, row.scheduled_at)) if row.origin is Origin.SCHEDULE else None
        if standing is None:
            fresh.append(row)
        else:
            accounts.count(row.job_id, accounts.job(row.job_id).counters.unplanned(row))
            accounts.note(row.job_id, standing, origin=row.origin, scheduled_at=row.scheduled_at)
    return fresh


def _known_nominals(transaction: Transaction, plans: Iterable[Plan]) -> Mapping[Nominal, ExecutionStatus]:
    """Find which nominal times have a row already, and how that row stands."""
    rows = (row for plan in plans for row in plan.executions if row.origin is Origin.SCHEDULE)
    nominals = array((str(row.job_id), to_micros(row.scheduled_at)) for row in rows)
    return {
        (UUID(row["job_id"]), from_micros(row["scheduled_at"])): ExecutionStatus(row["status"])
        for row in transaction.rows(_EXECUTIONS["known_nominals"], nominals=nominals)
    }
