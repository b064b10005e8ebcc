"""The process in which expressions are evaluated that may take long."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...domain.json import PAYLOAD_LIMIT
from ...ports.expressions import EVALUATION_SECONDS
from .evaluator import LENGTH

TURN_SECONDS: Final = 0.05
"""Time of its processor that a process spends on one event before the next one has its turn."""

MEMORY_LIMIT: Final = 512 * 1024 * 1024
"""Bytes of address space of a process."""

_SILENCE_SECONDS: Final = 5.0
_PROGRAM: Final = Path(__file__).with_name("evaluator.py")


class ProcessLost(Exception):
    """The process ended, or was ended, before it had answered; `str(error)` says why, without data."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression came to: a value, or why there is none; `seconds` of processor time went into it."""

    value: object
    failed: str | None
    seconds: float


class EvaluatorProcess:
    """A process that evaluates expressions one by one; it ends with its standard input, and so with the node."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> EvaluatorProcess:
        """
        Start a process, which inherits nothing: no environment, no descriptors, no terminal.

        Raises:
            ProcessLost: the system has none to give.
        """
        limits = (EVALUATION_SECONDS, TURN_SECONDS, MEMORY_LIMIT, PAYLOAD_LIMIT)
        argv = (sys.executable, "-I", str(_PROGRAM), *map(str, limits))
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_environment(), cwd="/", start_new_session=True
            )
        except OSError as error:
            raise ProcessLost("no process could be started for it") from error
        return cls(process)

    @property
    def has_ended(self) -> bool:
        """Tell whether the process is known to have ended by itself."""
        return self._process.returncode is not None

    async def answers(self, variables: bytes, expressions: Sequence[str]) -> AsyncIterator[Answer]:
        """
        Evaluate expressions in their order, until the turn is over.

        Raises:
            ProcessLost: on the expression that has no answer; the process is gone.
        """
        try:
            for message in (variables, json.dumps(expressions).encode()):
                self._stdin.write(LENGTH.pack(len(message)) + message)
            for _ in expressions:
                answer = await self._answer()
                if answer is None:
                    return
                yield answer
        except Exception as error:
            raise ProcessLost(await self._why(error)) from error

    async def end(self) -> None:
        """End the process at once, whatever it does."""
        if not self.has_ended:
            with suppress(ProcessLookupError):
                # Popen's own kill() polls first, and takes the exit code away from asyncio.
                os.kill(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._stdin.close()

    @property
    def _stdin(self) -> asyncio.StreamWriter:
        if self._process.stdin is None:
            raise ProcessLost("its process has no input")
        return self._process.stdin

    async def _answer(self) -> Answer | None:
        if self._process.stdout is None:
            raise ProcessLost("its process has no output")
        async with asyncio.timeout(_SILENCE_SECONDS):
            head = await self._process.stdout.readexactly(LENGTH.size)
            document: Any = json.loads(await self._process.stdout.readexactly(*LENGTH.unpack(head)))
        if document is None:
            return None
        return Answer(value=document.get("value"), failed=document.get("failed"), seconds=document["seconds"])

    async def _why(self, error: Exception) -> str:
        if isinstance(error, EOFError):
            with suppress(TimeoutError):
                # It is about to end by itself, and its exit code says why.
                await asyncio.wait_for(self._process.wait(), 1.0)
        await self.end()
        if isinstance(error, TimeoutError) or self._process.returncode == -signal.SIGPROF:
            return f"it takes longer than {EVALUATION_SECONDS * 1000:.0f} ms"
        return "its evaluation crashed, or needs too much memory"


def _environment() -> dict[str, str]:
    # Some builds of Python find their own library by it.
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
