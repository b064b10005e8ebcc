"""Facts, told to whoever listens in the transaction that makes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from ...domain.event import Event
from ...domain.execution import JobExecution
from ...domain.facts import Interest, fact_of_change, fact_of_execution, name_of_change
from ...domain.job import ScheduledJob
from ...domain.patterns import matches
from ...domain.stored import shared_definition
from .event_rows import outgoing_row
from .execution_rows import execution_of
from .job_rows import job_of
from .statements import statements
from .transaction import Transaction

_JOBS: Final = statements("jobs")
_EXECUTIONS: Final = statements("executions")
_OUTBOX: Final = statements("outbox")

_BATCH: Final = 1000
"""How many facts one statement writes: with a job any number of executions may end."""


async def tell(transaction: Transaction) -> None:
    """Append the news of a transaction to the outbox, as far as anybody listens; its last step, which locks nothing."""
    news = transaction.news
    if not news:
        return
    interest = await interest_of(transaction)
    heard = _heard(interest, {*news.executions.values(), *(name_of_change(change) for change, _ in news.changes)})
    if not heard:
        return
    ids = [id_ for id_, name in news.executions.items() if name in heard]
    for first in range(0, len(ids), _BATCH):
        await append(transaction, interest, await _facts_of_executions(transaction, ids[first : first + _BATCH]))
    changes = [fact_of_change(change, job, transaction.now) for change, job in news.changes]
    await append(transaction, interest, changes)


async def interest_of(transaction: Transaction) -> Interest:
    """Read who listens at present."""
    rows = await transaction.rows(_OUTBOX["listeners"], now=transaction.now)
    return Interest(tuple((row["tenant_id"], row["pattern"]) for row in rows))


async def append(transaction: Transaction, interest: Interest, facts: Sequence[Event]) -> None:
    """Append the facts that somebody listens to."""
    await let_out(transaction, [fact for fact in facts if interest.wants(fact.tenant_id, fact.name)])


async def let_out(transaction: Transaction, events: Sequence[Event]) -> None:
    """Append events, whoever listens."""
    await transaction.run_for(_OUTBOX["append"], [outgoing_row(event) for event in events], now=transaction.now)


def _heard(interest: Interest, names: Collection[str]) -> set[str]:
    """Tell which names anybody listens to, of whatever tenant."""
    return {name for name in names if any(matches(pattern, name) for _, pattern in interest.listeners)}


async def _facts_of_executions(transaction: Transaction, ids: Sequence[UUID]) -> list[Event]:
    executions = [execution_of(row) for row in await transaction.rows(_EXECUTIONS["executions_by_ids"], ids=ids)]
    jobs = await _jobs_of(transaction, executions)
    facts = [fact_of_execution(jobs[row.job_id], row, transaction.now) for row in executions]
    return [fact for fact in facts if fact is not None]


async def _jobs_of(transaction: Transaction, executions: Sequence[JobExecution]) -> dict[UUID, ScheduledJob]:
    rows = await transaction.rows(_JOBS["jobs_by_ids"], ids=list({row.job_id for row in executions}))
    return {row["id"]: job_of(row, row, shared_definition(row["definition"])) for row in rows}
