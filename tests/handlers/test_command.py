from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.handlers.contexts import WrittenLog, a_context
from tocsin.adapters.handlers.command import CommandHandler
from tocsin.adapters.handlers.output import KEPT_BYTES, LINE_BYTES
from tocsin.domain.errors import HandlerFailed, InvalidJob
from tocsin.domain.json import Json
from tocsin.domain.trace import TraceContext

ENVIRONMENT = {"PATH": os.environ["PATH"], "INHERITED": "yes", "TOCSIN_DATABASE_URL": "secret"}

HOLDING_A_LOCK = """
import fcntl, os, signal, sys
held = open(sys.argv[1], "w")
fcntl.flock(held, fcntl.LOCK_EX)
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.fork(), os.fork()
print("ready", flush=True)
if "leave" in sys.argv and os.getpid() == os.getpgrp():
    sys.exit(0)
while True:
    signal.pause()
"""


class FollowedLog(WrittenLog):
    """A log that a test can wait on."""

    def __init__(self) -> None:
        super().__init__()
        self.said = asyncio.Event()

    def info(self, message: str, **fields: Json) -> None:
        super().info(message, **fields)
        self.said.set()


async def run(payload: Json, log: WrittenLog | None = None) -> dict[str, Json]:
    result = await CommandHandler(ENVIRONMENT)(a_context(payload, log=log))
    assert isinstance(result, dict)
    return result


async def output(payload: Json) -> list[str]:
    log = WrittenLog()
    await run(payload, log)
    return log.of("stdout")


def open_descriptors() -> set[str]:
    return {entry.name for entry in Path("/dev/fd").iterdir()}


def is_free(lock: Path) -> bool:
    """Tell whether every process that inherited the lock has ended."""
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


async def test_output_is_logged_line_by_line_and_counted() -> None:
    log = WrittenLog()

    result = await run({"shell": "echo one; echo two; echo oh >&2"}, log)

    assert log.of("stdout") == ["one", "two"]
    assert ("warning", "oh", {"stream": "stderr"}) in log.lines
    assert result == {
        "exit_code": 0,
        "stdout_bytes": 8,
        "stderr_bytes": 3,
        "truncated": False,
        "stdout_tail": "one\ntwo\n",
    }


async def test_a_program_gets_its_arguments_as_they_are() -> None:
    assert await output({"argv": ["printf", "%s\n", "$HOME; *", ""]}) == ["$HOME; *", ""]


async def test_a_line_is_run_by_the_shell_that_is_named() -> None:
    assert await output({"shell": "ignored", "shell_path": "/bin/echo"}) == ["-c ignored"]


async def test_standard_input_is_the_text_given_or_empty() -> None:
    assert await output({"argv": ["cat"], "stdin": "first\nsecond é"}) == ["first", "second é"]
    assert await output({"argv": ["cat"]}) == []
    assert await output({"argv": ["true"], "stdin": "x" * 200_000}) == []


async def test_the_environment_is_the_nodes_without_its_settings() -> None:
    variables = dict(
        line.split("=", 1) for line in await output({"argv": ["env"], "environment": {"MINE": "1", "INHERITED": "no"}})
    )

    assert variables.items() >= {"MINE": "1", "INHERITED": "no", "PATH": ENVIRONMENT["PATH"]}.items()
    assert {name: value for name, value in variables.items() if name.startswith("TOCSIN_")} == {
        "TOCSIN_ATTEMPT": "2",
        "TOCSIN_EXECUTION_ID": "01890a5d-ac96-774b-bcce-b302099a8057",
        "TOCSIN_IDEMPOTENCY_KEY": "key-1",
        "TOCSIN_JOB_NAME": "nightly",
        "TOCSIN_SCHEDULED_AT": "2026-03-01T12:00:00Z",
    }


async def test_a_command_is_told_the_span_of_its_attempt_and_never_that_of_the_node() -> None:
    log, inherited = WrittenLog(), {**ENVIRONMENT, "TRACEPARENT": "of the node", "TRACESTATE": "of the node"}
    trace = TraceContext(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331", flags=0)

    await CommandHandler(inherited)(a_context({"argv": ["env"]}, log=log, trace=trace))

    told = [line for line in log.of("stdout") if line.startswith("TRACE")]
    assert told == ["TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"]


async def test_a_command_runs_in_the_directory_given() -> None:
    assert await output({"argv": ["pwd"], "cwd": "/"}) == ["/"]


async def test_another_exit_code_fails_with_the_last_line_of_stderr() -> None:
    with pytest.raises(HandlerFailed) as failure:
        await run({"shell": "echo first >&2; echo 'disk full' >&2; echo; exit 3"})

    assert str(failure.value) == "exit code 3: disk full"
    assert isinstance(failure.value.result, dict)
    assert failure.value.result["exit_code"] == 3


async def test_expected_exit_codes_replace_zero() -> None:
    assert (await run({"shell": "exit 3", "expect": [3, 4]}))["exit_code"] == 3
    with pytest.raises(HandlerFailed, match="exit code 0"):
        await run({"shell": "exit 0", "expect": [3, 4]})


async def test_a_command_that_is_killed_says_by_which_signal() -> None:
    with pytest.raises(HandlerFailed, match=r"exit code 137 \(SIGKILL\)"):
        await run({"shell": "kill -KILL $$"})


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (
            {"argv": ["/no/such/program"]},
            "cannot start '/no/such/program': No such file or directory: /no/such/program",
        ),
        ({"argv": ["/"]}, "cannot start '/': Permission denied: /"),
        ({"argv": ["true"], "cwd": "/no/such/place"}, "cannot start 'true': No such file or directory: /no/such/place"),
        ({"argv": ["true", "x" * 250_000]}, "cannot start 'true': Argument list too long"),
    ],
)
async def test_a_command_that_cannot_start_says_why(payload: Json, reason: str) -> None:
    with pytest.raises(HandlerFailed, match=reason):
        await run(payload)


async def test_a_command_that_prints_without_end_neither_blocks_nor_fills_the_log() -> None:
    log = WrittenLog()

    result = await run({"shell": "yes | head -c 100000000; yes oh | head -c 1000000 >&2"}, log)

    assert result["stdout_bytes"] == 100_000_000
    assert result["stderr_bytes"] == 1_000_000
    assert result["truncated"] is True
    assert sum(len(message) for _, message, _ in log.lines) <= 2 * KEPT_BYTES
    assert "the log is cut: 100000000 bytes were printed" in log.of("stdout")


async def test_a_line_without_end_is_cut() -> None:
    log = WrittenLog()

    result = await run({"shell": "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end"}, log)

    assert [len(line) for line in log.of("stdout")[:2]] == [LINE_BYTES, len("end")]
    assert result["truncated"] is True


async def test_bytes_that_are_no_text_are_replaced() -> None:
    assert await output({"shell": r"printf 'caf\351\0\n'"}) == ["caf\ufffd\ufffd"]


async def start(lock: Path, *words: str, grace_seconds: float = 2.0) -> asyncio.Task[object]:
    """Start a command that forks, holds the lock and hangs."""
    log = FollowedLog()
    payload: Json = {"argv": [sys.executable, "-c", HOLDING_A_LOCK, str(lock), *words]}
    handler = CommandHandler(ENVIRONMENT, grace_seconds=grace_seconds)
    task = asyncio.ensure_future(handler(a_context(payload, log=log)))
    await asyncio.wait_for(log.said.wait(), 30)
    return task


async def test_a_cancelled_command_ends_with_everything_that_it_forked(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    task = await start(lock)
    held = not is_free(lock)
    task.cancel()
    await asyncio.wait([task], timeout=30)

    assert held
    assert task.cancelled()
    assert is_free(lock)


async def test_a_command_that_ignores_termination_is_killed_after_the_grace(tmp_path: Path) -> None:
    task = await start(tmp_path / "lock", "deaf", grace_seconds=0.1)
    task.cancel()
    await asyncio.wait([task], timeout=30)

    assert task.cancelled()
    assert is_free(tmp_path / "lock")


async def test_a_second_cancellation_cuts_the_grace_short(tmp_path: Path) -> None:
    task = await start(tmp_path / "lock", "deaf", grace_seconds=3600)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([task], timeout=30)

    assert task.cancelled()
    assert is_free(tmp_path / "lock")


async def test_what_a_command_leaves_behind_is_ended_with_it(tmp_path: Path) -> None:
    log = WrittenLog()
    lock = tmp_path / "lock"
    argv = [sys.executable, "-c", HOLDING_A_LOCK, str(lock), "leave", "deaf"]

    result = await CommandHandler(ENVIRONMENT, grace_seconds=0.1)(a_context({"argv": argv}, log=log))

    assert isinstance(result, dict)
    assert result["exit_code"] == 0
    assert is_free(lock)
    assert log.lines[-1] == ("warning", "processes that the command left behind are ended with it", {})


DAEMON = """
import os, signal
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
    signal.pause()
"""


async def test_a_daemon_with_a_session_of_its_own_is_let_go() -> None:
    (line,) = await output({"argv": [sys.executable, "-c", DAEMON]})

    os.kill(int(line), signal.SIGKILL)


async def test_no_descriptor_stays_open() -> None:
    await run({"argv": ["true"]})
    before = open_descriptors()
    await run({"argv": ["true"], "stdin": "text"})
    with pytest.raises(HandlerFailed):
        await run({"argv": ["/no/such/program"], "stdin": "text"})

    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("payload", "field", "message"),
    [
        (None, "payload", "must be a JSON object"),
        ({}, "payload", "needs either argv or shell"),
        ({"argv": ["true"], "shell": "true"}, "payload", "needs either argv or shell"),
        ({"argv": ["true"], "shell_path": "/bin/sh"}, "payload", "takes shell_path only with shell"),
        ({"argv": []}, "payload.argv", "at least 1 item"),
        ({"argv": ["x"] * 1001}, "payload.argv", "at most 1000 items"),
        ({"argv": "true"}, "payload.argv", "must be a list"),
        ({"argv": ["a\0b"]}, "payload.argv.0", "must not contain NUL"),
        ({"argv": [1]}, "payload.argv.0", "must be a string"),
        ({"argv": ["\ud800"]}, "payload.argv.0", "must be valid Unicode"),
        ({"shell": "a\0b"}, "payload.shell", "must not contain NUL"),
        ({"shell": "true", "shell_path": "sh"}, "payload.shell_path", "must be an absolute path"),
        ({"shell": "true", "cwd": "relative"}, "payload.cwd", "must be an absolute path"),
        ({"shell": "true", "environment": {"A=B": "c"}}, "payload.environment.A=B", "not the name of a variable"),
        (
            {"shell": "true", "environment": {"TOCSIN_ATTEMPT": "1"}},
            "payload.environment.TOCSIN_ATTEMPT",
            "set by Tocsin",
        ),
        ({"shell": "true", "environment": {"A": 1}}, "payload.environment.A", "must be a string"),
        ({"shell": "true", "expect": []}, "payload.expect", "at least 1 item"),
        ({"shell": "true", "expect": [-1]}, "payload.expect.0", "greater than or equal to 0"),
        ({"shell": "true", "expect": [256]}, "payload.expect.0", "less than or equal to 255"),
        ({"shell": "true", "stdin": 5}, "payload.stdin", "must be a string"),
        ({"shell": "true", "stdin": "\ud800"}, "payload.stdin", "must be valid Unicode"),
        ({"shell": "true", "user": "root"}, "payload.user", "not a known field"),
    ],
)
def test_a_payload_that_can_never_be_run_is_refused_by_field(payload: Json, field: str, message: str) -> None:
    with pytest.raises(InvalidJob) as refusal:
        CommandHandler({}).check(payload)

    (error,) = refusal.value.errors
    assert error.field == field
    assert message in error.message
