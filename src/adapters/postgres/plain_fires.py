"""
Fires from which nothing follows but one execution: nearly all there are.

One statement for a batch moves their jobs on, counts and makes the executions. It words what `domain.new_execution`
makes and counts for this case alone (`domain.plan.is_plain_fire`), so that little crosses but what was decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...domain.facts import EXECUTION_CREATED
from ...domain.plan import Plan
from ...ports.dispatcher import Dispatch
from .instants import microseconds
from .statements import statements
from .transaction import Transaction

_LEDGER: Final = statements("ledger")


async def write_plain_fires(transaction: Transaction, plans: Sequence[Plan]) -> Sequence[Dispatch]:
    """
    Write such plans of jobs that are locked with their counters.

    Raises:
        UniqueViolationError: the ledger has one of the nominal times already.
    """
    if not plans:
        return []
    rows = [plan.executions[0] for plan in plans]
    ids = [row.id for row in rows]
    await transaction.run(
        _LEDGER["fire"],
        now=transaction.now,
        ids=ids,
        job_ids=[row.job_id for row in rows],
        scheduled_us=microseconds(row.scheduled_at for row in rows),
        next_us=microseconds(plan.job.next_run for plan in plans),
        priorities=[row.priority for row in rows],
        max_retries=[row.max_retries for row in rows],
        trace_ids=" ".join(str(row.trace_id) for row in rows),
        span_ids=" ".join(str(row.span_id) for row in rows),
    )
    transaction.news.happened(EXECUTION_CREATED, ids)
    return [
        Dispatch(plan.executions[0].id, plan.job.definition.capability, plan.executions[0].priority) for plan in plans
    ]
