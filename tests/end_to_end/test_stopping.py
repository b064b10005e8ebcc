from __future__ import annotations

import signal
from pathlib import Path

import tocsin
from tests.end_to_end.jobs import marks_in
from tests.end_to_end.program import Program, database_url, gone_quiet, serving
from tests.end_to_end.waiting import until
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import HandlerType, JobDefinition, JobType


async def triggered(program: Program, handler: str, payload: str | None = None) -> JobExecution:
    """Make a job and run it once."""
    definition = JobDefinition(name=handler, type=JobType.EVENT, handler_name=handler, payload=payload)
    job = await program.scheduler.schedule(definition)
    return await program.scheduler.trigger_job(job.id)


async def all_running(program: Program, executions: list[JobExecution]) -> None:
    async def running() -> bool:
        found = [await program.scheduler.get_execution(execution.id) for execution in executions]
        return {execution.status for execution in found} == {ExecutionStatus.RUNNING}

    await until(running)


async def test_sigterm_lets_work_finish_hands_the_rest_back_and_waits_for_no_deaf_handler(tmp_path: Path) -> None:
    for held in ("brief", "long"):
        (tmp_path / held).touch()
    async with serving(tmp_path, "--drain-seconds", "3") as program:
        brief = await triggered(program, "hold", "brief")
        long = await triggered(program, "hold", "long")
        deaf = await triggered(program, "deaf")
        deaf_thread = await triggered(program, "deaf_thread")
        await all_running(program, [brief, long, deaf, deaf_thread])

        program.terminate()
        await program.logged("node.draining")
        (tmp_path / "brief").unlink()

        assert await program.exit_code() == 0

    async with tocsin.open_scheduler(database_url(tmp_path)) as scheduler:
        finished = await scheduler.get_execution(brief.id)
        handed_back = [await scheduler.get_execution(execution.id) for execution in (long, deaf, deaf_thread)]
        (worker,) = await scheduler.list_workers()

    assert (finished.status, finished.attempt) == (ExecutionStatus.SUCCESS, 1)
    for execution in handed_back:
        assert (execution.status, execution.failures) == (ExecutionStatus.PENDING, 0)
        assert [past.outcome for past in execution.past_attempts] == ["handed_back"]
        assert execution.worker_id is None
    assert worker.status == "stopped"


async def test_what_ctrl_c_hands_back_runs_on_the_next_node_without_having_failed(tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    async with serving(tmp_path, "--drain-seconds", "0") as program:
        execution = await triggered(program, "hold")
        await all_running(program, [execution])
        program.process.send_signal(signal.SIGINT)
        assert await program.exit_code() == 0

    (tmp_path / "hold").unlink()
    async with serving(tmp_path) as program:
        await gone_quiet(program)
        again = await program.scheduler.get_execution(execution.id)

    assert (again.status, again.attempt, again.failures) == (ExecutionStatus.SUCCESS, 2, 0)
    assert [(word, attempt) for word, _, attempt, _ in marks_in(tmp_path)] == [("start", 1), ("start", 2), ("end", 2)]


async def test_a_second_sigterm_ends_the_process_at_once(tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    async with serving(tmp_path, "--drain-seconds", "3600") as program:
        execution = await triggered(program, "hold")
        await all_running(program, [execution])

        program.terminate()
        await program.logged("node.draining")
        program.terminate()

        assert await program.exit_code() == 128 + signal.SIGTERM


async def test_a_second_sigterm_leaves_no_command_behind(tmp_path: Path) -> None:
    written = tmp_path / "pid"
    async with serving(tmp_path, "--drain-seconds", "3600", "--allow-commands") as program:
        command = JobDefinition(
            name="sleeper",
            type=JobType.EVENT,
            handler_name="command",
            handler_type=HandlerType.COMMAND,
            payload={"shell": f"sleep 300 & echo $! > {written}.new; mv {written}.new {written}; wait"},
        )
        job = await program.scheduler.schedule(command)
        await program.scheduler.trigger_job(job.id)

        async def started() -> bool:
            return written.exists()

        await until(started)
        program.terminate()
        await program.logged("node.draining")
        program.terminate()
        await program.exit_code()

    async def gone() -> bool:
        return not is_running(int(written.read_text()))

    await until(gone)


def is_running(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


async def marked(folder: Path) -> None:
    async def any_mark() -> bool:
        return bool(marks_in(folder))

    await until(any_mark)


async def test_a_thread_that_the_interpreter_would_wait_for_does_not_delay_the_exit(tmp_path: Path) -> None:
    async with serving(tmp_path, "--drain-seconds", "0") as program:
        execution = await triggered(program, "pooled")
        await marked(tmp_path)

        program.terminate()

        assert await program.exit_code() == 0

    async with tocsin.open_scheduler(database_url(tmp_path)) as scheduler:
        assert (await scheduler.get_execution(execution.id)).status is ExecutionStatus.PENDING


async def test_a_second_sigterm_ends_a_process_whose_event_loop_is_blocked(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        await triggered(program, "blocking")
        await marked(tmp_path)

        async def ended() -> bool:
            # Signals that arrive together are one.
            program.terminate()
            return program.process.poll() is not None

        await until(ended)

        assert program.process.returncode == 128 + signal.SIGTERM
