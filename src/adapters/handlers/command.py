"""Handlers of type command: a program or a shell line, as a process group of its own."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from ...domain.errors import HandlerFailed
from ...domain.json import Json, clean_text
from ...ports.handlers import HandlerContext
from .identity import TRACE_VARIABLES, VARIABLE_PREFIX, variables
from .output import LineLog, OutputPipe
from .payloads import Payload, Text, Word, parse
from .processes import ProcessGroup

TERMINATION_GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL, unless a handler is made with others."""

OUTPUT_LINGER: Final = 0.5
"""Seconds for which output is still read after the command itself has exited."""

_DEFAULT_SHELL: Final = "/bin/sh"
_SIGNAL_BASE: Final = 128
_REASON_BYTES: Final = 1024


def _variable(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("is not the name of a variable")
    if name.startswith(VARIABLE_PREFIX):
        raise ValueError(f"variables that start with {VARIABLE_PREFIX} are set by Tocsin itself")
    return name


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("must be an absolute path")
    return path


class CommandPayload(Payload):
    """
    A program with its arguments, or a line for a shell, which is `/bin/sh` unless `shell_path` says otherwise.

    `stdin` is text, `environment` adds variables, `expect` lists the exit codes that mean success.
    """

    argv: Annotated[list[Word], Field(min_length=1, max_length=1000)] | None = None
    shell: Word | None = None
    shell_path: Annotated[Word, AfterValidator(_absolute)] | None = None
    stdin: Text | None = None
    environment: Annotated[
        dict[Annotated[Word, AfterValidator(_variable)], Word],
        Field(default_factory=dict, max_length=250),
    ]
    cwd: Annotated[Word, AfterValidator(_absolute)] | None = None
    expect: Annotated[
        list[Annotated[int, Field(ge=0, le=255)]],
        Field(default_factory=lambda: [0], min_length=1, max_length=256),
    ]

    @model_validator(mode="after")
    def _one_way_to_run(self) -> Self:
        if (self.argv is None) == (self.shell is None):
            raise ValueError("needs either argv or shell")
        if self.shell is None and self.shell_path is not None:
            raise ValueError("takes shell_path only with shell")
        return self

    def arguments(self) -> list[str]:
        """List what is executed, the program first."""
        return self.argv or [self.shell_path or _DEFAULT_SHELL, "-c", self.shell or ""]


class CommandHandler:
    """
    Runs the command of a `CommandPayload`; its output goes to the execution's log, line by line.

    The result is `{"exit_code", "stdout_bytes", "stderr_bytes", "truncated", "stdout_tail"}`. The attempt ends with
    everything that the command forked: at a cancellation or time-out, and also when the command has exited, its
    process group is terminated, then killed. What is to outlive an attempt must make a session of its own.

    `environment` is what commands inherit, less the variables that start with TOCSIN_, which may hold secrets.
    """

    def __init__(self, environment: Mapping[str, str], *, grace_seconds: float = TERMINATION_GRACE) -> None:
        self._grace_seconds = grace_seconds
        self._groups: set[ProcessGroup] = set()
        self._environment = {name: value for name, value in environment.items() if _is_inherited(name)}

    def kill(self) -> None:
        """Kill every command that still runs, because the process that could wait for it ends now."""
        for group in tuple(self._groups):
            group.kill()

    @staticmethod
    def check(payload: Json) -> None:
        """
        Refuse a payload that can never be run, on any node.

        Raises:
            InvalidJob: names each field at fault.
        """
        parse(CommandPayload, payload)

    async def __call__(self, context: HandlerContext) -> Json:
        """
        Run the command.

        Raises:
            HandlerFailed: it cannot be started, or its exit code is not expected; then `result` is kept.
        """
        command = parse(CommandPayload, context.payload)
        stdout = LineLog(context.logger.info, stream="stdout")
        stderr = LineLog(context.logger.warning, stream="stderr")
        exit_code = await self._run(command, context, (stdout, stderr))
        result: dict[str, Json] = {
            "exit_code": exit_code,
            "stdout_bytes": stdout.size,
            "stderr_bytes": stderr.size,
            "truncated": stdout.truncated or stderr.truncated,
            "stdout_tail": stdout.tail(),
        }
        if exit_code not in command.expect:
            raise HandlerFailed(_reason(exit_code, stderr.last_line()), result)
        return result

    async def _run(self, command: CommandPayload, context: HandlerContext, logs: Sequence[LineLog]) -> int:
        with ExitStack() as opened:
            try:
                pipes = [opened.enter_context(OutputPipe(log)) for log in logs]
                group = self._start(command, context, pipes)
            except (OSError, ValueError) as error:
                raise HandlerFailed(f"cannot start {command.arguments()[0]!r}: {_cause(error)}") from error
            self._groups.add(group)
            try:
                exit_code = await group.wait()
                await _rest_of(pipes)
                if group.is_alive():
                    context.logger.warning("processes that the command left behind are ended with it")
            finally:
                await group.end(grace_seconds=self._grace_seconds)
                self._groups.discard(group)
        return exit_code

    def _start(self, command: CommandPayload, context: HandlerContext, pipes: Sequence[OutputPipe]) -> ProcessGroup:
        group = ProcessGroup.start(
            command.arguments(),
            environment=self._environment | command.environment | variables(context),
            cwd=command.cwd,
            stdin=command.stdin,
            outputs=[pipe.writing for pipe in pipes],
        )
        for pipe in pipes:
            pipe.release()
        return group


def _is_inherited(name: str) -> bool:
    """Tell what is neither a setting of this node nor the span that somebody started it under."""
    return not name.startswith(VARIABLE_PREFIX) and name not in TRACE_VARIABLES


async def _rest_of(pipes: Sequence[OutputPipe]) -> None:
    # A child in the background may hold a pipe open for ever.
    with suppress(TimeoutError):
        async with asyncio.timeout(OUTPUT_LINGER):
            for pipe in pipes:
                await pipe.ended.wait()


def _reason(exit_code: int, last_line: str) -> str:
    end = f"exit code {exit_code}"
    with suppress(ValueError):  # Not every number beyond the base is that of a signal.
        end = f"{end} ({signal.Signals(exit_code - _SIGNAL_BASE).name})"
    return clean_text(f"{end}: {last_line}" if last_line else end, limit=_REASON_BYTES)


def _cause(error: OSError | ValueError) -> str:
    match error:
        case OSError(strerror=str(reason), filename=str(name)):
            return f"{reason}: {name}"
        case OSError(strerror=str(reason)):
            return reason
        case _:
            return "an argument or a variable cannot be encoded"
