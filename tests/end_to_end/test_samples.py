from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.end_to_end.program import gone_quiet, serving
from tests.end_to_end.waiting import eventually
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import ScheduledJob
from tocsin.ports.queries import JobFilter


async def test_the_sample_jobs_appear_and_do_real_work(tmp_path: Path) -> None:
    async with serving(tmp_path, "--samples") as program:

        async def samples() -> Sequence[ScheduledJob] | None:
            page = await program.scheduler.list_jobs(JobFilter(tags=("sample",)))
            return page.items if page.total == 3 else None

        jobs = {str(job.definition.key): job for job in await eventually(samples)}
        assert sorted(jobs) == ["sample:health", "sample:probe", "sample:retention"]

        async def success_of(key: str) -> JobExecution | None:
            triggered = await program.scheduler.trigger_job(jobs[key].id)
            await gone_quiet(program)
            ended = await program.scheduler.get_execution(triggered.id)
            return ended if ended.status is ExecutionStatus.SUCCESS else None

        # Again and again, because a probe that a loaded machine answers late has failed rightly.
        health, probe, _ = [await eventually(partial(success_of, key)) for key in sorted(jobs)]

    assert isinstance(health.result, dict)
    assert health.result["status"] == "healthy"
    assert isinstance(probe.result, dict)
    assert probe.result["status"] == 200
