from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.end_to_end.jobs import marks_in
from tests.end_to_end.program import Program, gone_quiet, run, serving
from tests.end_to_end.waiting import until
from tocsin.domain.errors import WorkerNotFound
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobDefinition, JobType


async def status_of(program: Program, path: str) -> int:
    async with ClientSession() as session, session.get(program.url + path) as answer:
        return answer.status


async def becomes(program: Program, worker_id: str, status: str) -> None:
    """Wait until the registry has a worker so."""

    async def told() -> bool:
        return (worker_id, status) in {(worker.id, worker.status) for worker in await program.scheduler.list_workers()}

    await until(told)


def processes_at_work(folder: Path) -> set[int]:
    return {process for word, _, _, process in marks_in(folder) if word == "start"}


async def test_a_node_that_is_drained_over_http_leaves_all_work_to_the_other_until_it_is_resumed(
    tmp_path: Path,
) -> None:
    (tmp_path / "hold").touch()
    async with serving(tmp_path) as one:
        hold = JobDefinition(name="hold", type=JobType.EVENT, handler_name="hold")
        record = JobDefinition(name="record", type=JobType.EVENT, handler_name="record", concurrency=50)
        held = await one.scheduler.trigger_job((await one.scheduler.schedule(hold)).id)
        job = await one.scheduler.schedule(record)
        [worker] = await one.scheduler.list_workers()

        async def is_running() -> bool:
            return bool(processes_at_work(tmp_path))

        await until(is_running)
        async with serving(tmp_path) as two:
            # Asked by way of the other node, which cannot wake it: it hears of it at its next beat.
            await two.scheduler.drain_worker(worker.id)
            await becomes(two, worker.id, "draining")
            assert (await status_of(one, "/ready"), await status_of(one, "/health")) == (503, 200)

            ran = [await program.scheduler.trigger_job(job.id) for program in (one, two) for _ in range(10)]

            async def all_ran() -> bool:
                found = [await two.scheduler.get_execution(execution.id) for execution in ran]
                return {execution.status for execution in found} == {ExecutionStatus.SUCCESS}

            await until(all_ran)
            by_whom = {process for _, run_id, _, process in marks_in(tmp_path) if run_id != str(held.id)}
            assert by_whom == {two.process.pid}

            (tmp_path / "hold").unlink()
            await becomes(one, worker.id, "drained")
            ended = await one.scheduler.get_execution(held.id)
            assert (ended.status, ended.attempt) == (ExecutionStatus.SUCCESS, 1)

            await one.scheduler.resume_worker(worker.id)
            await becomes(one, worker.id, "live")
            assert await status_of(one, "/ready") == 200
            two.terminate()
            assert await two.exit_code() == 0

        last = await one.scheduler.trigger_job(job.id)
        await gone_quiet(one)
        assert (await one.scheduler.get_execution(last.id)).worker_id == worker.id

        with pytest.raises(WorkerNotFound):
            await one.scheduler.drain_worker("nobody#0")


async def test_the_command_line_drains_a_node_by_the_id_that_it_shows(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        server = ("--server", program.url)
        [shown] = (await run(tmp_path, "workers", *server, "--json")).answer["items"]

        drained = await run(tmp_path, "workers", "drain", shown["id"], *server, "--json")
        assert (drained.code, drained.answer["drain_requested"]) == (0, True)
        await becomes(program, shown["id"], "drained")

        assert (await run(tmp_path, "workers", "resume", shown["id"], *server)).code == 0
        await becomes(program, shown["id"], "live")
        program.terminate()
        assert await program.exit_code() == 0
