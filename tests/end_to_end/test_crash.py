from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

import tocsin
from tests.end_to_end.accounts import SECOND, SETTLED, account, ledger_of
from tests.end_to_end.jobs import marks_in
from tests.end_to_end.program import Program, database_url, edit, gone_quiet, let_leases_lapse, serving, shorten_leases
from tests.end_to_end.waiting import until
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import JobDefinition, JobStatus, JobType, OverlapPolicy, ScheduledJob
from tocsin.ports.queries import ExecutionFilter, JobFilter

JOBS: Final = 40
DOWNTIME_SECONDS: Final = 55
"""40 x 55 nominal times, each within the grace: 200 run at once, and 2,000 wait."""

LEASE_SECONDS: Final = 4


async def running_in(program: Program) -> set[UUID]:
    query = ExecutionFilter(status=(ExecutionStatus.RUNNING,), limit=250)
    return {execution.id for execution in (await program.scheduler.list_executions(query)).items}


async def settled(program: Program) -> None:
    async def none_is_active() -> bool:
        return (await program.scheduler.list_jobs(JobFilter(status=(JobStatus.ACTIVE,), limit=1))).total == 0

    await until(none_is_active)
    await gone_quiet(program)


async def jobs_of_every_second(folder: Path, last: datetime) -> list[ScheduledJob]:
    """Make the jobs with no node around, as if it had then been down for a while."""
    async with tocsin.open_scheduler(database_url(folder)) as scheduler:
        made = [
            await scheduler.schedule(
                JobDefinition(
                    name=f"clock {number}",
                    type=JobType.RECURRING,
                    schedule="* * * * * *",
                    handler_name="hold",
                    overlap_policy=OverlapPolicy.ALLOW_ALL,
                    end_date=last,
                    misfire_grace_seconds=3600,
                ),
                allow_unknown_handler=True,
            )
            for number in range(JOBS)
        ]
    edit(folder, "UPDATE jobs SET next_run = next_run - ?", DOWNTIME_SECONDS * 1_000_000)
    shorten_leases(folder, LEASE_SECONDS)
    return made


async def test_a_kill_amid_200_running_and_2000_due_executions_loses_and_doubles_nothing(tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    last = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=6)
    jobs = await jobs_of_every_second(tmp_path, last)

    async with serving(tmp_path) as program:

        async def amid() -> bool:
            queue = (await program.scheduler.get_metrics()).queue
            return queue.running == 200 and queue.ready >= 2000

        await until(amid)
        interrupted = await running_in(program)
        program.kill()

    (tmp_path / "hold").unlink()
    let_leases_lapse(tmp_path, LEASE_SECONDS)
    async with serving(tmp_path) as program:
        await settled(program)
        ledgers = await asyncio.gather(*(ledger_of(program.scheduler, job.id) for job in jobs))

    for job, ledger in zip(jobs, ledgers, strict=True):
        assert job.next_run is not None
        first = job.next_run - DOWNTIME_SECONDS * SECOND
        assert account(ledger, first=first, last=last, every=SECOND) == SETTLED
    executions = [execution for ledger in ledgers for execution in ledger]
    assert {execution.status for execution in executions} == {ExecutionStatus.SUCCESS}
    assert len(interrupted) == 200
    assert {execution.id for execution in executions if execution.attempt == 2} == interrupted
    assert {execution.attempt for execution in executions} == {1, 2}
    assert {lost_attempts(execution) for execution in executions if execution.id in interrupted} == {("LEASE_LOST",)}
    ends = [run for word, run, _, _ in marks_in(tmp_path) if word == "end"]
    assert sorted(ends) == sorted(str(execution.id) for execution in executions)


def lost_attempts(execution: JobExecution) -> tuple[str | None, ...]:
    return tuple(past.error_type for past in execution.past_attempts)


def overlapping(marks: list[tuple[str, str, int, int]]) -> list[str]:
    """List the runs that started while another was under way in the same process."""
    under_way: dict[int, set[str]] = {}
    found = []
    for word, run, _, process in marks:
        others = under_way.setdefault(process, set())
        if word == "end":
            others.discard(run)
            continue
        if others:
            found.append(run)
        others.add(run)
    return found


async def test_with_concurrency_1_fifty_triggers_run_one_after_the_other_also_around_a_kill(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        job = await program.scheduler.schedule(
            JobDefinition(name="one at a time", type=JobType.EVENT, handler_name="hold", concurrency=1)
        )
        shorten_leases(tmp_path, LEASE_SECONDS)
        triggered = await asyncio.gather(*(program.scheduler.trigger_job(job.id) for _ in range(50)))

        async def ten_ended() -> bool:
            return [word for word, *_ in marks_in(tmp_path)].count("end") >= 10

        await until(ten_ended, every=0.01)
        (tmp_path / "hold").touch()

        async def one_holds() -> bool:
            words = [word for word, *_ in marks_in(tmp_path)]
            return bool(words) and words[-1] == "start"

        await until(one_holds)
        program.kill()

    before = marks_in(tmp_path)
    assert before[-1][0] == "start"
    (tmp_path / "hold").unlink()
    let_leases_lapse(tmp_path, LEASE_SECONDS)
    async with serving(tmp_path) as program:
        await gone_quiet(program)
        ledger = await ledger_of(program.scheduler, job.id)

    assert {execution.id for execution in ledger} == {execution.id for execution in triggered}
    assert {execution.status for execution in ledger} == {ExecutionStatus.SUCCESS}
    assert [str(execution.id) for execution in ledger if execution.attempt > 1] == [before[-1][1]]
    marks = marks_in(tmp_path)
    assert overlapping(marks) == []
    assert sorted(run for word, run, *_ in marks if word == "end") == sorted(str(each.id) for each in triggered)
