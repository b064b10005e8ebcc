"""A day at the shop, played through in seconds: every fire of it is a real one, on a clock that is moved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tests.dashboard import work
from tocsin import ExecutionFilter, ExecutionStatus, JobDefinition, JobExecution, JobFilter, JobType
from tocsin.adapters.http import HttpScheduler
from tocsin.adapters.system import ManualClock
from tocsin.application.parts import Role
from tocsin.bootstrap import Assembly, assemble
from tocsin.domain.job import MisfirePolicy, OverlapPolicy
from tocsin.ports.queries import SortBy, SortOrder
from tocsin.settings import load_settings

HOURS: Final = 24
LOOPS: Final = (Role.TIMER, Role.EXECUTOR, Role.SWEEPER)
OUTAGE: Final = (timedelta(hours=15), timedelta(minutes=40))
"""When in the day no node ran, and for how long."""

UNENDED: Final = (ExecutionStatus.PENDING, ExecutionStatus.RUNNING)

STOCK: Final = JobDefinition(
    name="Sync stock with the warehouse",
    key="stock",
    description="Reads what lies on the shelves, so that nobody buys what is not there.",
    type=JobType.INTERVAL,
    schedule="every 15m",
    handler_name="shop.flaky",
    tags=("stock", "warehouse"),
    max_retries=1,
    retry_delay_ms=5000,
)
CARDS: Final = JobDefinition(
    name="Charge cards of subscribers",
    key="cards",
    type=JobType.INTERVAL,
    schedule="every 10m",
    handler_name="shop.slow_bank",
    tags=("money",),
    timeout_ms=1000,
    max_retries=0,
    priority=100,
    misfire_policy=MisfirePolicy.RUN_ONCE,
)
INDEX: Final = JobDefinition(
    name="Rebuild the search index",
    key="search-index",
    type=JobType.CRON,
    schedule="*/30 * * * *",
    timezone="America/New_York",
    handler_name="shop.heavy",
    tags=("search",),
)
CARTS: Final = JobDefinition(
    name="Remind of open carts",
    type=JobType.CRON,
    schedule="*/20 * * * *",
    timezone="Europe/Berlin",
    handler_name="shop.steady",
    tags=("mail", "marketing"),
    misfire_policy=MisfirePolicy.SKIP,
)
BACKUP: Final = JobDefinition(
    name="Nightly backup",
    key="backup",
    type=JobType.CRON,
    schedule="30 2 * * *",
    timezone="Europe/Berlin",
    handler_name="shop.heavy",
    tags=("database", "night"),
    priority=75,
)
RATES: Final = JobDefinition(
    name="Import exchange rates",
    type=JobType.CRON,
    schedule="5 * * * *",
    timezone="Europe/London",
    handler_name="shop.steady",
    tags=("money",),
)
SESSIONS: Final = JobDefinition(
    name="Purge old sessions",
    type=JobType.INTERVAL,
    schedule="every 1h",
    handler_name="shop.steady",
    tags=("database",),
)
REPORT: Final = JobDefinition(
    name="Sales report for the board",
    type=JobType.CRON,
    schedule="0 7 * * 1",
    timezone="Asia/Tokyo",
    handler_name="shop.heavy",
    tags=("report",),
)
PICTURES: Final = JobDefinition(
    name="Resize product pictures",
    key="pictures",
    type=JobType.EVENT,
    handler_name="shop.steady",
    tags=("pictures",),
    overlap_policy=OverlapPolicy.ALLOW_ALL,
)
PHOTOS: Final = JobDefinition(
    name="Move customer photos to the new store",
    key="photos",
    type=JobType.EVENT,
    handler_name="shop.long",
    tags=("pictures", "once"),
    timeout_ms=3_600_000,
)
CACHE: Final = JobDefinition(
    name="Warm the cache",
    type=JobType.INTERVAL,
    schedule="every 5m",
    handler_name="shop.steady",
    tags=("search",),
)
QUEUE: Final = JobDefinition(
    name="Read the payment queue",
    type=JobType.INTERVAL,
    schedule="every 10s",
    handler_name="shop.steady",
    tags=("money",),
    max_retries=0,
)
SALE: Final = JobDefinition(
    name="Prices of the winter sale",
    type=JobType.ONE_TIME,
    schedule="2100-01-02T08:00:00+00:00",
    timezone="Europe/Berlin",
    handler_name="shop.steady",
    tags=("money", "marketing"),
)
ALL_DAY: Final = (SESSIONS, BACKUP, RATES, INDEX, CARTS, CARDS, STOCK)


async def play(database: Path, *, hours: int = HOURS) -> None:
    """Leave a database as it is after these hours, which end now."""
    clock = ManualClock(datetime.now(UTC) - timedelta(hours=hours))
    named = {"database_url": f"sqlite:///{database}", "roles": LOOPS, "log_level": "error", "worker_name": "till-1"}
    settings = load_settings({**named, "handlers": (work.__name__,)}, environment={})

    async def pass_time(seconds: float) -> None:
        clock.advance(seconds)

    async with assemble(settings, clock) as assembly:
        work.Pace.wait = staticmethod(pass_time)
        try:
            await assembly.start()
            await _make(assembly, [PICTURES, *ALL_DAY])
            await _fire(assembly, clock, until=datetime.now(UTC))
            await _make(assembly, [SALE, REPORT, PHOTOS])
            paused = await assembly.scheduler.schedule(CACHE, enabled=False)
            assert paused.next_run is None
        finally:
            work.Pace.wait = staticmethod(asyncio.sleep)
            await assembly.node.stop()


async def _make(assembly: Assembly, definitions: Sequence[JobDefinition]) -> None:
    for definition in definitions:
        await assembly.scheduler.schedule(definition)


async def _fire(assembly: Assembly, clock: ManualClock, *, until: datetime) -> None:
    """Move the clock from one thing that is due to the next, but for an outage over which it jumps."""
    after, length = OUTAGE
    outage = clock.now() + after
    while (due := await _next_due(assembly)) < until:
        if clock.now() < outage <= due:
            due, outage = outage + length, until
        # As late as nodes are: by what a loop takes to look, here between 2 and 60 ms.
        clock.move_to(max(due, clock.now()) + timedelta(milliseconds=2 + (due.minute * 7 + due.hour * 13) % 59))
        await _settled(assembly, clock)
    clock.move_to(max(until, clock.now()))


async def _next_due(assembly: Assembly) -> datetime:
    soonest = JobFilter(limit=1, sort_by=SortBy.NEXT_RUN, sort_order=SortOrder.ASC)
    [job] = (await assembly.scheduler.list_jobs(soonest)).items
    waiting = [_goes_on_at(execution) for execution in await _unended(assembly)]
    return min(waiting if job.next_run is None else [job.next_run, *waiting])


async def _settled(assembly: Assembly, clock: ManualClock) -> None:
    """Wait until what is due has been fired and has ended, or waits for a retry, or for its time if it fired ahead."""
    while True:
        due = (await assembly.scheduler.list_jobs(JobFilter(next_run_before=clock.now(), limit=1))).items
        # Asked second, so that what is fired between the two questions is seen.
        unended = await _unended(assembly)
        if not due and all(_goes_on_at(each) > clock.now() for each in unended):
            return
        for loop in ("timer", "sweeper", "executor", "finisher"):
            assembly.node.wake(loop)


def _goes_on_at(execution: JobExecution) -> datetime:
    return execution.next_retry_at or execution.scheduled_at


async def _unended(assembly: Assembly) -> Sequence[JobExecution]:
    return (await assembly.scheduler.list_executions(ExecutionFilter(status=UNENDED))).items


async def open_shop(url: str) -> None:
    """Give a running node what goes on while one looks at it: a job every few seconds, and work that takes long."""
    async with HttpScheduler(url) as scheduler:
        await scheduler.schedule(QUEUE)
        [photos] = (await scheduler.list_jobs(JobFilter(key=(PHOTOS.key or "",)))).items
        await scheduler.trigger_job(photos.id)
