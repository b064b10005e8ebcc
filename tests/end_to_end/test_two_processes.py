from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import tocsin
from tests.end_to_end.accounts import SECOND, SETTLED, account, ledger_of
from tests.end_to_end.jobs import marks_in
from tests.end_to_end.program import database_url, edit, gone_quiet, let_leases_lapse, serving, shorten_leases
from tests.end_to_end.waiting import until
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobDefinition, JobStatus, JobType, ScheduledJob
from tocsin.ports.queries import JobFilter

JOBS: Final = 20
ONE_TIME_JOBS: Final = 50
LEASE_SECONDS: Final = 4


async def jobs_in(folder: Path, *, first: datetime, last: datetime) -> tuple[list[ScheduledJob], list[ScheduledJob]]:
    """Make jobs of every second, and jobs of one time amid them."""
    every_second = JobDefinition(
        name="clock",
        type=JobType.RECURRING,
        schedule="* * * * * *",
        handler_name="linger",
        start_date=first,
        end_date=last,
    )
    amid = first + (last - first) / 2
    once = JobDefinition(name="once", type=JobType.ONE_TIME, schedule=amid.isoformat(), handler_name="linger")
    async with tocsin.open_scheduler(database_url(folder)) as scheduler:
        clocks = [await scheduler.schedule(every_second) for _ in range(JOBS)]
        others = [await scheduler.schedule(once) for _ in range(ONE_TIME_JOBS)]
    shorten_leases(folder, LEASE_SECONDS)
    return clocks, others


async def test_two_processes_on_one_file_double_nothing_even_when_one_is_killed(tmp_path: Path) -> None:
    async with serving(tmp_path) as survivor, serving(tmp_path) as victim:
        first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
        last = first + timedelta(seconds=4)
        clocks, others = await jobs_in(tmp_path, first=first, last=last)

        async def both_at_work() -> bool:
            busy = {process for _, _, _, process in marks_in(tmp_path)}
            return busy == {survivor.process.pid, victim.process.pid}

        async def victim_in_the_middle() -> bool:
            words = Counter(word for word, _, _, process in marks_in(tmp_path) if process == victim.process.pid)
            return words["start"] > words["end"] > 0

        await until(both_at_work)
        await until(victim_in_the_middle, every=0.01)
        victim.kill()
        let_leases_lapse(tmp_path, LEASE_SECONDS)

        async def none_is_active() -> bool:
            return (await survivor.scheduler.list_jobs(JobFilter(status=(JobStatus.ACTIVE,), limit=1))).total == 0

        await until(none_is_active)
        await gone_quiet(survivor)
        of_clocks = await asyncio.gather(*(ledger_of(survivor.scheduler, job.id) for job in clocks))
        of_others = await asyncio.gather(*(ledger_of(survivor.scheduler, job.id) for job in others))

    for ledger in of_clocks:
        assert account(ledger, first=first, last=last, every=SECOND) == SETTLED
    assert [[execution.status for execution in ledger] for ledger in of_others] == [["success"]] * ONE_TIME_JOBS

    executions = [execution for ledger in [*of_clocks, *of_others] for execution in ledger]
    ran = {str(execution.id): execution for execution in executions if execution.status is ExecutionStatus.SUCCESS}
    assert all(execution.status is ExecutionStatus.SKIPPED for execution in executions if str(execution.id) not in ran)
    started = Counter((run, attempt) for word, run, attempt, _ in marks_in(tmp_path) if word == "start")
    assert set(started.values()) == {1}
    assert {run for run, _ in started} == set(ran)
    assert all(attempt <= ran[run].attempt for run, attempt in started)


async def test_a_process_that_comes_and_goes_takes_no_committed_work_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path, "--roles", "api") as program:
        job = await program.scheduler.schedule_recurring("yearly", schedule="@yearly", handler_name="tocsin.noop")
        await asyncio.gather(*(program.scheduler.get_job(job.id) for _ in range(10)))
        edit(tmp_path, "UPDATE jobs SET created_by = 'passer-by'")
        triggered = [await program.scheduler.trigger_job(job.id) for _ in range(5)]
        program.kill()

    async with tocsin.open_scheduler(database_url(tmp_path)) as scheduler:
        ledger = await ledger_of(scheduler, job.id)

    assert {execution.id for execution in ledger} == {execution.id for execution in triggered}
