"""How soon what a dashboard shows is there when the history is long."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from tocsin import ExecutionFilter, ExecutionStatus, JobFilter
from tocsin.application.scheduler import Scheduler
from tocsin.ports.reports import Period

from ..cloning import Row, Template, clone, tables_of
from ..engines import Engine, Place
from ..figures import Figure, spread
from ..handlers import tally
from ..measuring import measured
from ..nodes import client, node
from ..scenario import Case, Options, Scenario
from ..stored import event_job, new_ids, quiet

JOBS: Final = 100
AT_ONCE: Final = 200_000
SPAN: Final = timedelta(days=30)
FAILED_EACH: Final = 100
"""One execution in so many is a failure."""

Question = Callable[[], Awaitable[object]]


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    ids = await _store_history(place, options["executions"])
    async with client(place) as scheduler:
        if (found := (await scheduler.list_executions(ExecutionFilter(limit=1))).total) < options["executions"]:
            raise AssertionError(f"{found} executions are there, not {options['executions']}")
        figures: list[Figure] = []
        with measured(place):
            for name, question in (await _questions(scheduler, ids)).items():
                figures += spread(name, await _asked(question, options["times"]), "ms")
    return figures


async def _questions(scheduler: Scheduler, ids: Sequence[UUID]) -> Mapping[str, Question]:
    page = await scheduler.list_executions()
    failed = ExecutionFilter(status=(ExecutionStatus.FAILED,))
    return {
        "jobs, first page": lambda: scheduler.list_jobs(JobFilter()),
        "executions, first page": scheduler.list_executions,
        "executions, next page": lambda: scheduler.list_executions(ExecutionFilter(cursor=page.next_cursor)),
        "executions that failed": lambda: scheduler.list_executions(failed),
        "executions of one job": lambda: scheduler.get_job_history(ids[0]),
        "figures of one job": lambda: scheduler.get_job_stats(ids[0]),
        "figures of a day": lambda: scheduler.get_metrics(Period.DAY),
        "queue": lambda: scheduler.storage.executions.queue(None),
    }


async def _asked(question: Question, times: int) -> list[float]:
    """Ask once for the sake of caches, then tell how many ms each further answer took."""
    await question()
    took = []
    for _ in range(times):
        started = time.perf_counter()
        await question()
        took.append((time.perf_counter() - started) * 1000)
    return took


async def _store_history(place: Place, amount: int) -> Sequence[UUID]:
    """Spread ended executions like one that has really run over jobs and over the last 30 days."""
    tally.expect(1)
    async with node(place) as assembly:
        await assembly.start()
        scheduler = assembly.scheduler
        jobs = [(await scheduler.schedule(event_job(f"job {number}"))).id for number in range(JOBS)]
        template = (await scheduler.trigger_job(jobs[0])).id
        await tally.reached()
        await quiet(scheduler)
    async with tables_of(place) as tables, tables.without_indexes("executions"):
        begun, owners = datetime.now(UTC) - SPAN, [tables.identifier(each) for each in jobs]
        for first in range(0, amount, AT_ONCE):

            def change(number: int, first: int = first) -> Row:
                place_in_all = first + number
                at = tables.instant(begun + SPAN * (place_in_all / amount))
                is_failed = place_in_all % FAILED_EACH == 0
                told = {"status": "failed", "failures": 1, "error": "boom", "error_type": "Boom"} if is_failed else {}
                times = dict.fromkeys(("scheduled_at", "created_at", "available_at", "started_at", "completed_at"), at)
                return {"job_id": owners[place_in_all % JOBS], "status": "success", "failures": 0, **times, **told}

            some = new_ids(min(AT_ONCE, amount - first))
            await clone(tables, Template(kind="execution", id=template, change=change), some)
    async with tables_of(place) as tables:
        await tables.settle()
    return jobs


DASHBOARD: Final = Scenario(
    name="dashboard",
    summary="what lists and reports ask, in process, of executions of 100 jobs over 30 days",
    run=_run,
    cases=[Case(name="10,000,000 executions", options={"executions": 10_000_000, "times": 30})],
    quick=[Case(name="100,000 executions", options={"executions": 100_000, "times": 10})],
    engines=(Engine.SQLITE, Engine.POSTGRES),
    headlines=[f"{name} p50" for name in ("executions, first page", "executions of one job", "figures of a day")],
    most_runs=1,
    limit_seconds=5400.0,
)
