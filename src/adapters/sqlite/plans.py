"""Plans as they are written: new executions, the job, and what a cancelled job still had open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts, Nominal
from ...domain.execution import ExecutionStatus, JobExecution, Origin
from ...domain.facts import EXECUTION_FACTS
from ...domain.plan import Plan
from ...ports.dispatcher import Dispatch
from .accounts import settle
from .execution_rows import execution_row, open_execution_of
from .facts import News, tell_of, tell_of_new
from .instants import from_micros, to_micros
from .statements import statements
from .transaction import Row, Transaction, array, object_of

_EXECUTIONS: Final = statements("executions")
_CANCELLED: Final = EXECUTION_FACTS[ExecutionStatus.CANCELLED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What plans came to: the rows that are new, what may be claimed now, and the running work that was stopped."""

    executions: Sequence[JobExecution]
    dispatches: Sequence[Dispatch]
    stopped: Sequence[UUID]


def write_plans(transaction: Transaction, accounts: Accounts, plans: Sequence[Plan]) -> Written:
    """Write the plans of jobs that are loaded, but for nominal times that the ledger has already."""
    known = _known_nominals(transaction, plans)
    fresh = [row for plan in plans for row in accounts.take(plan, known)]
    transaction.run_many(_EXECUTIONS["insert_execution"], map(execution_row, fresh))
    tell_of_new(transaction, [(accounts.job(row.job_id), row) for row in fresh])
    ended = {plan.job.id for plan in plans if plan.cancels_open}
    stopped = _cancel_open(transaction, accounts, ended)
    dispatches = [
        Dispatch(
            execution_id=row.id,
            capability=accounts.job(row.job_id).definition.capability,
            priority=row.priority,
        )
        for row in fresh
        if row.dispatched_at is not None and row.job_id not in ended
    ]
    return Written(executions=fresh, dispatches=[*dispatches, *settle(transaction, accounts)], stopped=stopped)


def cancel(transaction: Transaction, accounts: Accounts, ids: Iterable[object]) -> list[UUID]:
    """End executions of jobs that are loaded; answer the running ones, which keep slot and lease for now."""
    wanted = array(ids)
    rows = transaction.rows(_EXECUTIONS["counted_executions"], ids=wanted)
    stopped = accounts.cancel(map(open_execution_of, rows))
    transaction.run(_EXECUTIONS["cancel_executions"], ids=wanted, now=transaction.now_micros)
    tell_of(transaction, (_cancelled(accounts, row) for row in rows))
    return stopped


def _cancelled(accounts: Accounts, row: Row) -> News:
    tenant_id = accounts.job(UUID(row["job_id"])).tenant_id
    return News(execution_id=UUID(row["id"]), tenant_id=tenant_id, name=_CANCELLED)


def _cancel_open(transaction: Transaction, accounts: Accounts, job_ids: Collection[UUID]) -> list[UUID]:
    if not job_ids:
        return []
    return cancel(transaction, accounts, transaction.column(_EXECUTIONS["open_executions"], job_ids=array(job_ids)))


def _known_nominals(transaction: Transaction, plans: Iterable[Plan]) -> Mapping[Nominal, ExecutionStatus]:
    """Find which nominal times have a row already, and how that row stands."""
    rows = (row for plan in plans for row in plan.executions if row.origin is Origin.SCHEDULE)
    nominals = object_of((str(row.job_id), to_micros(row.scheduled_at)) for row in rows)
    return {
        (UUID(job_id), from_micros(scheduled_at)): ExecutionStatus(status)
        for job_id, scheduled_at, status in transaction.tuples(_EXECUTIONS["known_nominals"], nominals=nominals)
    }
