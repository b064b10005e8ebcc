from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.end_to_end.accounts import SECOND, SETTLED, account, ledger_of
from tests.end_to_end.program import Program, serving
from tests.end_to_end.waiting import eventually
from tocsin.domain.errors import InvalidJob, ServerUnreachable
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import HandlerType, JobDefinition, JobType
from tocsin.domain.json import Json
from tocsin.ports.reports import Health, HealthStatus

HOSTILE: Final = JobDefinition(
    name="hostile", type=JobType.EVENT, handler_name="deaf", max_retries=0, lock_timeout_seconds=30
)
SHORTEST: Final = 1000
"""The shortest time-out, in ms, for what would never end by itself."""

PRINTED: Final = 100_000_000


async def outcome(program: Program, definition: JobDefinition) -> JobExecution:
    """Run a job once, and answer how that ended."""
    job = await program.scheduler.schedule(definition)
    execution = await program.scheduler.trigger_job(job.id)

    async def ended() -> JobExecution | None:
        with suppress(ServerUnreachable):  # A handler may cancel the very answer.
            found = await program.scheduler.get_execution(execution.id)
            return found if found.status.terminal else None
        return None

    return await eventually(ended)


async def degraded(program: Program, *names: str) -> Health | None:
    """Answer the health of a node that complains of these handlers; None while it does not."""
    health = await program.scheduler.health_check()
    complaint = health.components["handlers"].detail or ""
    return health if health.status is HealthStatus.DEGRADED and ", ".join(names) in complaint else None


def function(name: str) -> JobDefinition:
    return replace(HOSTILE, handler_name=name)


def command(line: str, **fields: Json) -> JobDefinition:
    payload: Json = {"shell": line, **fields}
    return replace(HOSTILE, handler_type=HandlerType.COMMAND, handler_name="command", payload=payload)


async def test_whatever_handlers_do_is_recorded_and_the_node_goes_on(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    forks = f"exec 9>{pipe}; trap '' TERM; sleep 3600 & sleep 3600 & echo forked >&9; while :; do sleep 3600; done"

    async with serving(tmp_path, "--allow-commands") as program:
        clock = await program.scheduler.schedule_recurring("clock", schedule="* * * * * *", handler_name="record")
        deaf, deaf_thread, unspeakable, shouting, leaving, forking, printing = await asyncio.gather(
            outcome(program, replace(function("deaf"), timeout_ms=SHORTEST)),
            outcome(program, replace(function("deaf_thread"), timeout_ms=SHORTEST)),
            outcome(program, function("unspeakable")),
            outcome(program, function("shouting")),
            outcome(program, function("leaving")),
            outcome(program, replace(command(forks), timeout_ms=SHORTEST)),
            outcome(program, command(f"yes | head -c {PRINTED}")),
        )
        await eventually(lambda: degraded(program, "deaf", "deaf_thread"))
        logged = await program.scheduler.get_execution_logs(printing.id, limit=1000)

        async def every_fork_is_gone() -> bool | None:
            return _heard(reading) == b"" or None

        assert await eventually(lambda: _first_words(reading)) == b"forked\n"
        await eventually(every_fork_is_gone)
        after = await outcome(program, function("tocsin.noop"))
        for unknown in (HandlerType.AGENT, HandlerType.WORKFLOW):
            with pytest.raises(InvalidJob, match="handler_type"):
                await program.scheduler.schedule(replace(HOSTILE, handler_type=unknown))
        now = await program.scheduler.get_job(clock.id)
        ledger = await ledger_of(program.scheduler, clock.id)
    os.close(reading)

    for execution in (deaf, deaf_thread, forking):
        assert (execution.status, execution.error_type) == (ExecutionStatus.TIMEOUT, "EXECUTION_TIMEOUT")
    assert (unspeakable.status, unspeakable.error_type) == (ExecutionStatus.FAILED, "RESULT_NOT_STORABLE")
    assert (shouting.status, shouting.error_type) == (ExecutionStatus.FAILED, "ValueError")
    assert 0 < len(shouting.error or "") <= 16 * 1024
    assert (leaving.status, leaving.error_type) == (ExecutionStatus.FAILED, "HANDLER_FAILED")
    assert printing.status is ExecutionStatus.SUCCESS
    assert isinstance(printing.result, dict)
    assert (printing.result["stdout_bytes"], printing.result["truncated"]) == (PRINTED, True)
    assert 0 < sum(len(line.message) for line in logged.items) <= 256 * 1024

    assert after.status is ExecutionStatus.SUCCESS
    assert clock.next_run is not None
    assert now.next_run is not None
    last = now.next_run - SECOND
    until_then = [execution for execution in ledger if execution.scheduled_at <= last]
    assert account(until_then, first=clock.next_run, last=last, every=SECOND) == SETTLED


async def _first_words(reading: int) -> bytes | None:
    return _heard(reading) or None


def _heard(reading: int) -> bytes | None:
    """Read what was said; nothing at all once nobody holds the other end any more, None while somebody does."""
    try:
        return os.read(reading, 100)
    except BlockingIOError:
        return None


async def test_no_handler_ends_the_node_that_runs_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        departing = await outcome(program, function("departing"))
        leaving = await outcome(program, function("leaving_aside"))
        cancelling = await outcome(program, function("cancelling"))
        left, cancelled = await program.logged("loop.left"), await program.logged("node.cancelled")
        after = await outcome(program, function("tocsin.noop"))
        program.terminate()
        code = await program.exit_code()

    assert (departing.status, departing.error_type) == (ExecutionStatus.FAILED, "Departure")
    assert (leaving.status, leaving.error_type) == (ExecutionStatus.FAILED, "HANDLER_FAILED")
    assert cancelling.status.terminal
    assert (left["error"], cancelled["level"]) == ("SystemExit", "error")
    assert (after.status, code) == (ExecutionStatus.SUCCESS, 0)
