"""Databases as a run finds them: jobs and executions stored, nothing of them running yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from tocsin import ExecutionFilter, ExecutionStatus, JobDefinition, JobExecution, JobType, OverlapPolicy
from tocsin.adapters.system import Uuid7Sequence
from tocsin.application.scheduler import Scheduler
from tocsin.ports.dispatcher import Dispatch
from tocsin.ports.stores import QueueFigures

from .cloning import Found, Row, Tables, Template, clone, found, tables_of
from .engines import Engine, Place
from .handlers import NOOP
from .nodes import client

HANDED_ON: Final = 500
VERIFIED: Final = 20
GLANCE: Final = 0.002
"""Seconds between two looks whether all is written."""

LONG_AGO: Final = timedelta(minutes=1)
"""Before when what was dispatched to a node that is gone counts as lost."""


def new_ids(amount: int) -> Sequence[UUID]:
    """Make ids that sort as they are made."""
    make, now = Uuid7Sequence(), datetime.now(UTC)
    return [make(now) for _ in range(amount)]


def event_job(name: str = "drain", handler_name: str = NOOP) -> JobDefinition:
    """Describe a job that runs when it is asked to, as often at once as it is asked to."""
    return JobDefinition(
        name=name, type=JobType.EVENT, handler_name=handler_name, overlap_policy=OverlapPolicy.ALLOW_ALL
    )


@dataclass(slots=True, kw_only=True)
class Backlog:
    """Executions of one job as triggers leave them: stored, and handed on to whoever runs them."""

    place: Place
    scheduler: Scheduler
    tables: Tables
    template: JobExecution
    counted: Mapping[str, int]
    rows: Found
    stored: int = 1

    async def grow(self, amount: int) -> None:
        """Add that many."""
        tables, template, ids, now = self.tables, self.template, new_ids(amount), datetime.now(UTC)
        sent = tables.instant(now - LONG_AGO if self.place.engine is Engine.SQLITE else now)

        def change(number: int) -> Row:
            at = tables.instant(template.scheduled_at + timedelta(microseconds=self.stored + number))
            return {"scheduled_at": at, "created_at": at, "available_at": at, "dispatched_at": sent}

        await clone(tables, Template(kind="execution", id=template.id, change=change), ids, self.rows)
        counted = {name: value * amount for name, value in self.counted.items()}
        await tables.add("job_counters", "job_id", template.job_id, counted)
        self.stored += amount
        if self.place.redis_url is not None:
            await _hand_on(self.scheduler, ids, template.priority)

    async def ended(self) -> int:
        """Tell how many have succeeded."""
        return (await self.scheduler.get_job(self.template.job_id)).counters.success_count


@asynccontextmanager
async def backlog(place: Place, scheduler: Scheduler) -> AsyncIterator[Backlog]:
    """Begin one, with a single execution that the program itself has stored."""
    definition = replace(event_job(), lock_timeout_seconds=30)
    job = await scheduler.schedule(definition, allow_unknown_handler=True)
    async with tables_of(place) as tables:
        before = await _counters(tables, job.id)
        template = await scheduler.trigger_job(job.id)
        after = await _counters(tables, job.id)
        counted = {name: value - before[name] for name, value in after.items()}
        # A node that runs the template changes its rows.
        rows = await found(tables, "execution", template.id)
        yield Backlog(place=place, scheduler=scheduler, tables=tables, template=template, counted=counted, rows=rows)


async def store_executions(place: Place, amount: int) -> UUID:
    """Leave a backlog of that many executions, and tell whose they are."""
    async with client(place) as scheduler, backlog(place, scheduler) as stock:
        await stock.grow(amount - 1)
        await stock.tables.settle()
        return stock.template.job_id


async def store_jobs(
    place: Place, definition: JobDefinition, amount: int, *, instants: Sequence[datetime] = ()
) -> Sequence[UUID]:
    """
    Store that many jobs like one that the program has stored; where there are `instants`, each fires first at its own.

    The instant of the first is then what the definition says, as its schedule or as its start.
    """
    async with client(place) as scheduler, tables_of(place) as tables:
        first = await scheduler.schedule(definition)
        words = [instant.isoformat() for instant in instants]

        def change(number: int) -> Row:
            return {"next_run": tables.instant(instants[number + 1])} if instants else {}

        template = Template(
            kind="job",
            id=first.id,
            change=change,
            word=words[0] if words else "",
            worded=(lambda number: words[number + 1]) if words else None,
        )
        ids = new_ids(amount - 1)
        await clone(tables, template, ids)
        await tables.settle()
    return [first.id, *ids]


async def assert_fired_once(place: Place, ids: Sequence[UUID]) -> None:
    """
    Find one success for each job and nothing else.

    That no nominal time is doubled the ledger's own index sees to, and each job had one, so that it is enough to count;
    a few are verified as an operator would.
    """
    await assert_amount(place, len(ids))
    async with client(place) as scheduler:
        for job_id in ids[:: max(1, len(ids) // VERIFIED)]:
            report = await scheduler.verify_ledger(job_id)
            if not report.is_clean:
                raise AssertionError(f"the ledger of {job_id} is amiss: {report.findings}")


async def assert_amount(place: Place, amount: int) -> None:
    """Find that many executions, all of them successes."""
    async with client(place) as scheduler:
        totals = [
            (await scheduler.list_executions(ExecutionFilter(status=status, limit=1))).total
            for status in ((), (ExecutionStatus.SUCCESS,))
        ]
    if totals != [amount, amount]:
        raise AssertionError(f"of {totals[0]} executions {totals[1]} are successes, not {amount} of as many")


async def all_written(scheduler: Scheduler, job_id: UUID, amount: int) -> None:
    """Wait until that many successes are written."""
    # What other loops of this node write rings no bell for us.
    while (await scheduler.get_job(job_id)).counters.success_count < amount:  # noqa: ASYNC110
        await asyncio.sleep(GLANCE)


async def quiet(scheduler: Scheduler) -> None:
    """Wait until nothing runs, and nothing waits to."""
    # What other loops of this node write rings no bell for us.
    while any(_unfinished(await scheduler.storage.executions.queue(None))):  # noqa: ASYNC110
        await asyncio.sleep(GLANCE)


def _unfinished(queue: QueueFigures) -> Sequence[int]:
    return queue.ready, queue.waiting, queue.retrying, queue.running


async def assert_ended(place: Place, job_id: UUID, amount: int) -> None:
    """Find as many successes as there were executions, in the rows and in the counters, and nothing left over."""
    async with client(place) as scheduler:
        counters = (await scheduler.get_job(job_id)).counters
        totals = [
            (await scheduler.list_executions(ExecutionFilter(job_id=job_id, status=status, limit=1))).total
            for status in ((), (ExecutionStatus.SUCCESS,))
        ]
    seen = (*totals, counters.executions_count, counters.success_count, counters.live, counters.slots_taken)
    if seen != (amount, amount, amount, amount, 0, 0):
        raise AssertionError(f"not {amount} successes and nothing else: {seen}")


async def _counters(tables: Tables, job_id: UUID) -> Row:
    [row] = await tables.rows("job_counters", "job_id", job_id)
    return {name: value for name, value in row.items() if name != "job_id"}


async def _hand_on(scheduler: Scheduler, ids: Sequence[UUID], priority: int) -> None:
    capability = f"function/{NOOP}"
    for first in range(0, len(ids), HANDED_ON):
        some = ids[first : first + HANDED_ON]
        await scheduler.dispatcher.dispatch(
            [Dispatch(execution_id=each, capability=capability, priority=priority) for each in some]
        )
