"""Tocsin's own facts, appended to the outbox where they are made, and only if somebody listens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ...domain.event import Event
from ...domain.event_documents import event_document
from ...domain.execution import JobExecution
from ...domain.facts import Interest, fact_of_change, fact_of_execution, name_of_change, name_of_execution
from ...domain.job import ScheduledJob
from ...domain.json import encoded
from ...domain.plan import JobChange
from ...domain.stored import shared_definition
from .execution_rows import execution_of
from .job_rows import job_of
from .statements import statements
from .transaction import Transaction, array

_OUTBOX: Final = statements("outbox")
_EXECUTIONS: Final = statements("executions")
_JOBS: Final = statements("jobs")
_BATCH: Final = 1000
"""Executions that are read at once: with a job any number of them may end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """An execution of which there is news: `name` is that of the fact, None if it is none."""

    execution_id: UUID
    tenant_id: str
    name: str | None


def interest(transaction: Transaction) -> Interest:
    """Read who listens to facts."""
    rows = transaction.rows(_OUTBOX["listeners"], now=transaction.now_micros)
    return Interest(tuple(dict.fromkeys((row["tenant_id"], row["pattern"]) for row in rows)))


def append(transaction: Transaction, events: Iterable[Event]) -> None:
    """Let events out, whoever listens."""
    rows = (
        {"tenant_id": event.tenant_id, "at": transaction.now_micros, "event": encoded(event_document(event))}
        for event in events
    )
    transaction.run_many(_OUTBOX["append"], rows)


def tell_of_changes(transaction: Transaction, changes: Sequence[tuple[JobChange, ScheduledJob]]) -> None:
    """Tell of versions of jobs that were recorded."""
    if not changes or not (listeners := interest(transaction)):
        return
    append(
        transaction,
        [
            fact_of_change(change, job, transaction.now)
            for change, job in changes
            if listeners.wants(job.tenant_id, name_of_change(change))
        ],
    )


def tell_of_new(transaction: Transaction, rows: Sequence[tuple[ScheduledJob, JobExecution]]) -> None:
    """Tell of executions that were made, each with its job."""
    if rows and (listeners := interest(transaction)):
        _tell(transaction, listeners, rows)


def tell_of(transaction: Transaction, news: Iterable[News]) -> None:
    """Tell how executions stand now that they are written; nothing of them is read that nobody wants to hear."""
    if not (listeners := interest(transaction)):
        return
    ids = [each.execution_id for each in news if each.name and listeners.wants(each.tenant_id, each.name)]
    for first in range(0, len(ids), _BATCH):
        _tell(transaction, listeners, _read(transaction, ids[first : first + _BATCH]))


def _read(transaction: Transaction, ids: Sequence[UUID]) -> Iterator[tuple[ScheduledJob, JobExecution]]:
    executions = [execution_of(row) for row in transaction.rows(_EXECUTIONS["executions_by_ids"], ids=array(ids))]
    job_ids = array(dict.fromkeys(each.job_id for each in executions))
    rows = transaction.rows(_JOBS["jobs_by_ids"], ids=job_ids)
    jobs = {UUID(row["id"]): job_of(row, shared_definition(row["definition"])) for row in rows}
    return ((jobs[each.job_id], each) for each in executions)


def _tell(transaction: Transaction, listeners: Interest, rows: Iterable[tuple[ScheduledJob, JobExecution]]) -> None:
    facts = (
        fact_of_execution(job, row, transaction.now)
        for job, row in rows
        if (name := name_of_execution(row)) is not None and listeners.wants(row.tenant_id, name)
    )
    append(transaction, [fact for fact in facts if fact is not None])
