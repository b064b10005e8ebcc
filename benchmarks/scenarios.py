"""What is measured: each scenario runs the real program on a database of its own, a SQLite file unless it says more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final

from tocsin import ExecutionFilter, JobDefinition, JobType, OverlapPolicy, open_scheduler
from tocsin.application.scheduler import Scheduler
from tocsin.domain.execution import ExecutionStatus, JobExecution

from .figures import Figure
from .fleet import fleet

Scenario = Callable[[Path], Coroutine[Any, Any, Sequence[Figure]]]

SECONDS: Final = 10
ACTIVE_JOBS: Final = 10_000
DUE_JOBS: Final = 1_000
DRAINED: Final = 20_000
LEAD: Final = timedelta(seconds=5)


async def every_second(database: Path) -> Sequence[Figure]:
    """Fire one job each second for ten seconds, on an idle machine."""
    async with open_scheduler(f"sqlite:///{database}", run_loops=True) as scheduler:
        job = await scheduler.schedule(_noop("every second", JobType.CRON, "* * * * * *"))
        await asyncio.sleep(SECONDS + 1.5)
        await scheduler.pause_job(job.id)
        history = (await scheduler.get_job_history(job.id, ExecutionFilter(limit=250))).items
    seconds = [execution.scheduled_at for execution in reversed(history)]
    gaps = [later - earlier for earlier, later in pairwise(seconds)]
    if set(gaps) != {timedelta(seconds=1)}:
        raise AssertionError(f"a second is missing or doubled: {seconds}")
    return [Figure(name="lateness of the start", unit="ms", values=[_lateness_ms(each) for each in history])]


async def same_second(database: Path) -> Sequence[Figure]:
    """Keep 10,000 active jobs, of which 1,000 are due in the same second."""
    url = f"sqlite:///{database}"
    due = datetime.now(UTC)
    async with open_scheduler(url) as scheduler:
        started = time.perf_counter()
        for number in range(ACTIVE_JOBS - DUE_JOBS):
            await scheduler.schedule(_noop(f"later {number}", JobType.CRON, "0 4 1 1 *"))
        creating = (ACTIVE_JOBS - DUE_JOBS) / (time.perf_counter() - started)
        due = (datetime.now(UTC) + LEAD + timedelta(seconds=DUE_JOBS / creating)).replace(microsecond=0)
        for number in range(DUE_JOBS):
            await scheduler.schedule(_noop(f"now {number}", JobType.ONE_TIME, due.isoformat()))
    async with open_scheduler(url, run_loops=True) as scheduler:
        await _settled(scheduler, DUE_JOBS)
        history = await _all(scheduler)
    return [
        Figure(name="jobs created", unit="1/s", values=[creating]),
        Figure(name="nominal time to fire", unit="ms", values=[_ms(each.created_at, due) for each in history]),
        Figure(name="nominal time to start", unit="ms", values=[_lateness_ms(each) for each in history]),
    ]


async def drain(database: Path) -> Sequence[Figure]:
    """Run 20,000 stored executions of one job that knows no slots."""
    url = f"sqlite:///{database}"
    async with open_scheduler(url) as scheduler:
        definition = _noop("drain", JobType.EVENT, None, overlap_policy=OverlapPolicy.ALLOW_ALL)
        job = await scheduler.schedule(definition)
        for _ in range(DRAINED):
            await scheduler.trigger_job(job.id)
    started = time.perf_counter()
    async with open_scheduler(url, run_loops=True, concurrency=1000) as scheduler:
        await _settled(scheduler, DRAINED)
        elapsed = time.perf_counter() - started
    return [Figure(name="executions", unit="1/s", values=[DRAINED / elapsed])]


SCENARIOS: Final[Mapping[str, Scenario]] = MappingProxyType(
    {"every-second": every_second, "same-second": same_second, "drain": drain, "fleet": fleet}
)


async def measure(scenario: Scenario) -> Sequence[Figure]:
    """Run a scenario on a database of its own."""
    with TemporaryDirectory() as folder:
        return await scenario(Path(folder, "benchmark.db"))


def _noop(name: str, kind: JobType, schedule: str | None, **fields: Any) -> JobDefinition:  # noqa: ANN401 - a definition's
    return JobDefinition(name=name, type=kind, schedule=schedule, handler_name="tocsin.noop", **fields)


def _lateness_ms(execution: JobExecution) -> float:
    if execution.started_at is None:
        raise AssertionError(f"execution {execution.id} never started")
    return _ms(execution.started_at, execution.scheduled_at)


def _ms(later: datetime, earlier: datetime) -> float:
    return (later - earlier) / timedelta(milliseconds=1)


async def _settled(scheduler: Scheduler, executions: int) -> None:
    done = ExecutionFilter(status=(ExecutionStatus.SUCCESS,), limit=1)
    # No event of this process says so: the executions may be another's.
    while (await scheduler.list_executions(done)).total < executions:  # noqa: ASYNC110
        await asyncio.sleep(0.2)


async def _all(scheduler: Scheduler) -> Sequence[JobExecution]:
    found: list[JobExecution] = []
    page = await scheduler.list_executions(ExecutionFilter(limit=250))
    found.extend(page.items)
    while page.next_cursor is not None:
        page = await scheduler.list_executions(ExecutionFilter(limit=250, cursor=page.next_cursor))
        found.extend(page.items)
    return found
