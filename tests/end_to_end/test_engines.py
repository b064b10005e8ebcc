"""One node with all its loops, on each setup of engines: jobs of every kind, from their making to a clean ledger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from aiohttp.test_utils import TestServer

import tocsin
from tests.end_to_end.waiting import DEADLINE_SECONDS, eventually, until
from tocsin.adapters.http import HttpScheduler, Node, create_app
from tocsin.adapters.system import SystemClock
from tocsin.bootstrap import Assembly, assemble
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin
from tocsin.domain.job import JobDefinition, JobStatus, JobType, ScheduledJob
from tocsin.domain.ledger import Fate
from tocsin.ports.queries import ExecutionFilter
from tocsin.ports.scheduler import IScheduler
from tocsin.settings import Settings


class Work:
    """What the jobs of one test run, under names of its own: the registry is the process's."""

    def __init__(self) -> None:
        self.held, self.let_go = asyncio.Event(), asyncio.Event()
        self.is_broken = True
        self._suffix = uuid4().hex
        for function in (self.report, self.hold, self.stumble):
            tocsin.handler(self.name(function.__name__))(function)

    def name(self, function: str) -> str:
        return f"{function}-{self._suffix}"

    async def report(self, context: tocsin.HandlerContext) -> dict[str, object]:
        context.logger.info("reported")
        return {"attempt": context.attempt}

    async def hold(self) -> None:
        self.held.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.let_go.set()

    async def stumble(self) -> None:
        if self.is_broken:
            self.is_broken = False
            raise ValueError("no luck")


@pytest.fixture(params=["sqlite", "postgres", "postgres and redis"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    if request.param == "sqlite":
        return Settings(database_url=f"sqlite:///{tmp_path / 'tocsin.db'}", drain_seconds=5)
    access = request.getfixturevalue("postgres_access")
    redis = request.getfixturevalue("redis_server").url if request.param == "postgres and redis" else None
    return Settings(database_url=access.url, database_pooler=access.pooler, redis_url=redis, drain_seconds=5)


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
async def assembly(
    settings: Settings,
    work: Work,  # noqa: ARG001 - a node says at its start what it can run
) -> AsyncIterator[Assembly]:
    async with assemble(settings, SystemClock()) as assembled:
        await assembled.node.start()
        yield assembled
        await assembled.node.stop()


@pytest.fixture
async def scheduler(assembly: Assembly) -> AsyncIterator[IScheduler]:
    async def ready() -> bool:
        return assembly.node.live

    face = Node(scheduler=assembly.scheduler, ready=ready, telemetry=assembly.node.parts.telemetry, version="1")
    async with TestServer(create_app(face)) as server, HttpScheduler(str(server.make_url("/"))) as client:
        yield client


async def ended(scheduler: IScheduler, execution_id: UUID) -> JobExecution:
    """Wait for the end of an execution."""

    async def look() -> JobExecution | None:
        execution = await scheduler.get_execution(execution_id)
        return execution if execution.status.terminal else None

    return await eventually(look)


async def successes(scheduler: IScheduler, job: ScheduledJob) -> int:
    query = ExecutionFilter(status=(ExecutionStatus.SUCCESS,), limit=1)
    return (await scheduler.get_job_history(job.id, query)).total


async def ran(scheduler: IScheduler, job: ScheduledJob, times: int) -> None:
    """Wait until a job has succeeded that often."""

    async def often_enough() -> bool:
        return await successes(scheduler, job) >= times

    await until(often_enough)


async def at_rest(scheduler: IScheduler, job: ScheduledJob) -> None:
    """Wait until nothing of a job is pending or running."""

    async def nothing_left() -> bool:
        statuses = (ExecutionStatus.PENDING, ExecutionStatus.RUNNING)
        return (await scheduler.get_job_history(job.id, ExecutionFilter(status=statuses))).total == 0

    await until(nothing_left)


async def test_jobs_of_every_kind_fire_run_and_are_all_accounted_for(scheduler: IScheduler, work: Work) -> None:
    soon, handler = datetime.now(UTC) + timedelta(seconds=1), work.name("report")
    cron = await scheduler.schedule_recurring("cron", schedule="* * * * * *", handler_name=handler)
    interval = await scheduler.schedule_recurring("interval", schedule="every 1s", handler_name=handler)
    twice = await scheduler.schedule_recurring("twice", schedule="every 1s", handler_name=handler, max_executions=2)
    once = await scheduler.schedule_once("once", execute_at=soon, handler_name=handler)
    jobs = [cron, interval, twice, once]
    assert [job.definition.type for job in jobs] == [
        JobType.CRON,
        JobType.INTERVAL,
        JobType.RECURRING,
        JobType.ONE_TIME,
    ]

    for job, times in zip(jobs, (2, 2, 2, 1), strict=True):
        await ran(scheduler, job, times)
    await scheduler.pause_job(interval.id)
    await at_rest(scheduler, interval)
    before = await successes(scheduler, interval)
    await ran(scheduler, cron, await successes(scheduler, cron) + 2)
    assert await successes(scheduler, interval) == before
    await scheduler.resume_job(interval.id)
    await ran(scheduler, interval, before + 1)
    for job in (cron, interval):
        await scheduler.cancel_job(job.id)
        await at_rest(scheduler, job)

    assert [(await scheduler.get_job(job.id)).status for job in jobs] == [
        JobStatus.CANCELLED,
        JobStatus.CANCELLED,
        JobStatus.COMPLETED,
        JobStatus.COMPLETED,
    ]
    assert [await successes(scheduler, job) for job in (twice, once)] == [2, 1]
    for job in jobs:
        report = await scheduler.verify_ledger(job.id)
        assert (report.findings, report.is_clean) == ((), True)
        assert report.totals.of(Fate.RAN) + report.totals.of(Fate.RAN_LATE) == await successes(scheduler, job)


async def test_a_run_by_hand_is_made_once_cancelled_while_it_runs_and_retried(
    scheduler: IScheduler, work: Work
) -> None:
    async def an_event_job(function: str) -> ScheduledJob:
        name = work.name(function)
        definition = JobDefinition(name=function, type=JobType.EVENT, handler_name=name, max_retries=0)
        return await scheduler.schedule(definition)

    reporting, holding, stumbling = [await an_event_job(name) for name in ("report", "hold", "stumble")]

    first = await scheduler.trigger_job(reporting.id, idempotency_key="key")
    done = await ended(scheduler, first.id)
    again = await scheduler.trigger_job(reporting.id, idempotency_key="key")
    assert (done.status, done.result, again.id) == (ExecutionStatus.SUCCESS, {"attempt": 1}, first.id)
    assert (await scheduler.get_job_history(reporting.id)).total == 1
    assert [line.message for line in (await scheduler.get_execution_logs(first.id)).items] == ["reported"]

    held = await scheduler.trigger_job(holding.id)
    async with asyncio.timeout(DEADLINE_SECONDS):
        await work.held.wait()
        await scheduler.cancel_execution(held.id)
        await work.let_go.wait()
    assert (await ended(scheduler, held.id)).status is ExecutionStatus.CANCELLED

    failed = await ended(scheduler, (await scheduler.trigger_job(stumbling.id)).id)
    retried = await ended(scheduler, (await scheduler.retry_job(stumbling.id)).id)
    assert (failed.status, failed.error_type) == (ExecutionStatus.FAILED, "ValueError")
    assert (retried.status, retried.origin, retried.retry_of) == (ExecutionStatus.SUCCESS, Origin.RETRY, failed.id)

    for job in (reporting, holding, stumbling):
        assert (await scheduler.verify_ledger(job.id)).is_clean


async def test_a_node_that_ends_says_so(assembly: Assembly) -> None:
    [worker] = await assembly.scheduler.list_workers()
    await assembly.node.stop()

    [later] = await assembly.scheduler.list_workers()
    assert (worker.status, later.status, later.id) == ("live", "stopped", worker.id)


async def test_the_calls_of_every_engine_are_measured(
    settings: Settings, assembly: Assembly, scheduler: IScheduler, work: Work
) -> None:
    name = work.name("report")
    job = await scheduler.schedule(JobDefinition(name="figures", type=JobType.EVENT, handler_name=name))
    await ended(scheduler, (await scheduler.trigger_job(job.id)).id)

    figures = assembly.telemetry.exposition().decode()

    assert 'tocsin_store_time_seconds_count{operation="ledger.claim"}' in figures
    assert f'tocsin_dispatch_time_seconds_count{{handler="{name}",handler_type="function"}} 1.0' in figures
    assert ("tocsin_pool_size " in figures) is settings.uses_postgres
    assert ('tocsin_pipe_time_seconds_count{operation="dispatch"}' in figures) is (settings.redis_url is not None)
