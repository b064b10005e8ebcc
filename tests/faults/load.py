"""Work for a cluster: jobs that fire every second for a while, and jobs of one time amid them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tests.faults.cluster import within
from tests.faults.sizes import Size
from tests.makers import a_job
from tocsin.adapters.postgres import Access, open_postgres
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.job import JobStatus, JobType, OverlapPolicy, ScheduledJob
from tocsin.ports.storage import Storage

AHEAD: Final = timedelta(seconds=1)
STORING: Final = timedelta(seconds=0.01)
"""About what it takes to store one job while nodes start."""

WRITERS: Final = 8
WORK_SECONDS: Final = (0.05, 0.2, 0.5, 1.2)
"""How long executions run, in turn: the longest are still at it when their job fires again."""

RETRIES: Final = 100
"""As many as there may be: no execution may fail for having lost its node too often."""

POLICIES: Final = (OverlapPolicy.SKIP, OverlapPolicy.QUEUE_ONE, OverlapPolicy.QUEUE_ALL, OverlapPolicy.ALLOW_ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Jobs that were stored, and the stretch in which they fire: `first` and `last` are nominal times."""

    jobs: Sequence[ScheduledJob]
    first: datetime
    last: datetime


@asynccontextmanager
async def storage_of(database_url: str) -> AsyncIterator[Storage]:
    """Open the database beside the nodes, as another program that uses it."""
    async with open_postgres(Access(url=database_url)) as storage:
        yield storage


def a_short_lease_job(size: Size, **fields: object) -> ScheduledJob:
    """A job with a lease below the bound of the API, so that a crash is noticed soon."""
    defaults = {"handler_name": "work", "max_retries": RETRIES, "lock_timeout_seconds": size.lease}
    return a_job(**defaults | fields)


def one_time_job(size: Size, at: datetime, **fields: object) -> ScheduledJob:
    """A job that fires at that instant."""
    return a_short_lease_job(size, name="once", type=JobType.ONE_TIME, schedule=at.isoformat(), **fields)


async def store_load(storage: Storage, size: Size, seconds: float) -> Load:
    """Store the jobs of a load that begins in a moment, with every overlap policy in turn."""
    now = await storage.jobs.now()
    first = now.replace(microsecond=0) + AHEAD + STORING * (size.jobs + size.one_time_jobs)
    last = first + timedelta(seconds=seconds)
    clocks = [
        a_short_lease_job(
            size,
            name=f"clock {number}",
            type=JobType.RECURRING,
            schedule="* * * * * *",
            start_date=first,
            end_date=last,
            overlap_policy=POLICIES[number % len(POLICIES)],
            payload=WORK_SECONDS[number // len(POLICIES) % len(WORK_SECONDS)],
            created_at=now,
        )
        for number in range(size.jobs)
    ]
    amid = [first + (last - first) * (number / size.one_time_jobs) for number in range(size.one_time_jobs)]
    once = [one_time_job(size, at, payload=WORK_SECONDS[-1], created_at=now) for at in amid]
    await store(storage, [*clocks, *once])
    return Load(jobs=[*clocks, *once], first=first, last=last)


async def store(storage: Storage, jobs: Sequence[ScheduledJob]) -> None:
    """Store jobs, some at a time."""
    waiting = iter(jobs)

    async def writer() -> None:
        for job in waiting:
            await storage.jobs.add(job)

    async with asyncio.TaskGroup() as writers:
        for _ in range(WRITERS):
            writers.create_task(writer())


async def begun(storage: Storage, load: Load) -> None:
    """Wait until the load has been firing for a second or two."""
    lead = load.first - await storage.jobs.now() + timedelta(seconds=1.5)
    await asyncio.sleep(max(lead.total_seconds(), 0))


async def done(storage: Storage, load: Load, size: Size) -> None:
    """Wait until no job can fire any more and nothing runs or waits to; a store that is away is waited for."""

    async def look() -> bool | None:
        try:
            queue = await storage.executions.queue(None)
        except StoreUnavailable:
            return None
        active = queue.jobs_by_status.get(JobStatus.ACTIVE, 0)
        return None if any((active, queue.ready, queue.waiting, queue.retrying, queue.running)) else True

    await within((load.last - load.first).total_seconds() + size.patience, look, every=0.25)
