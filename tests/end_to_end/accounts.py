"""The ledger as an account: which nominal times of a span it has, lacks, or has twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from tocsin.domain.execution import JobExecution, Origin
from tocsin.ports.queries import ExecutionFilter
from tocsin.ports.scheduler import IScheduler

SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What is wrong with a ledger; nothing at all, unless named."""

    missing: tuple[datetime, ...] = ()
    doubled: tuple[datetime, ...] = ()


SETTLED: Final = Account()
"""Every nominal time is recorded exactly once."""


def account(executions: Iterable[JobExecution], *, first: datetime, last: datetime, every: timedelta) -> Account:
    """
    Hold the executions of one job against its nominal times from `first` to `last`, both included.

    A time out of this row counts as doubled: nobody asked for it.
    """
    recorded = Counter(at for execution in executions for at in nominal_times(execution, every))
    due = list(steps(first, last, every))
    expected = Counter(due)
    return Account(
        missing=tuple(at for at in due if not recorded[at]),
        doubled=tuple(sorted((recorded - expected).elements())),
    )


def nominal_times(execution: JobExecution, every: timedelta) -> list[datetime]:
    """List the nominal times that one row stands for: none for a manual run, several for a row of skips."""
    if execution.origin is not Origin.SCHEDULE:
        return []
    times = list(steps(execution.scheduled_at, execution.covers_until or execution.scheduled_at, every))
    if len(times) != (execution.covers_count or 1):
        raise ValueError(f"{execution.id} covers {execution.covers_count} nominal times, but they are {len(times)}")
    return times


def steps(first: datetime, last: datetime, every: timedelta) -> Iterator[datetime]:
    """List the instants from `first` to `last`, both included."""
    return (first + index * every for index in range((last - first) // every + 1))


async def ledger_of(scheduler: IScheduler, job_id: UUID) -> list[JobExecution]:
    """Read every execution of a job, newest nominal time first."""
    found: list[JobExecution] = []
    cursor: str | None = None
    while True:
        page = await scheduler.get_job_history(job_id, ExecutionFilter(limit=250, cursor=cursor))
        found.extend(page.items)
        if page.next_cursor is None:
            return found
        cursor = page.next_cursor
