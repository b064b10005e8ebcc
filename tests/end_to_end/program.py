"""The program as people run it: processes of their own, with a database, a log, signals and exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.end_to_end import jobs
from tests.end_to_end.waiting import DEADLINE_SECONDS, eventually, until
from tocsin.adapters.http import HttpScheduler

DATABASE: Final = "tocsin.db"

_number = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A node in a process of its own, which may not be ready yet."""

    process: subprocess.Popen[bytes]
    log: Path

    def terminate(self) -> None:
        """Ask it to stop."""
        self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would: kill -9."""
        self.process.kill()
        self.process.wait()

    async def exit_code(self) -> int:
        """Wait until it has ended by itself."""

        async def code() -> int | None:
            return self.process.poll()

        return await eventually(code)

    async def logged(self, event: str) -> dict[str, Any]:
        """Wait for a line of its log, and answer it."""
        return await eventually(lambda: _line(self.process, self.log, event))


@dataclass(frozen=True, slots=True, kw_only=True)
class Program(Started):
    """A node that can be reached, and a client of its HTTP face."""

    url: str
    scheduler: HttpScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> Any:  # noqa: ANN401 - JSON, of which a test picks what it names
        """What it printed, read as JSON."""
        return json.loads(self.stdout)


@asynccontextmanager
async def serving(folder: Path, *options: str) -> AsyncIterator[Program]:
    """
    Run `tocsin serve` on the folder's database, with the handlers of `jobs`, until the context ends.

    Whatever is left of it then is killed. The folder is its working directory.
    """
    async with starting(folder, *options) as started:
        listening = await started.logged("http.listening")
        async with HttpScheduler(listening["url"]) as scheduler:
            yield Program(process=started.process, log=started.log, url=listening["url"], scheduler=scheduler)


@asynccontextmanager
async def starting(folder: Path, *options: str) -> AsyncIterator[Started]:
    """Run `tocsin serve` as `serving` does, without waiting until it can be reached."""
    prepare(folder)
    log = folder / f"log-{next(_number)}"
    with log.open("wb") as output:
        process = _start(
            folder,
            ["serve", "--port", "0", "--handlers", "jobs", "--log-format", "json", *options],
            stdout=output,
            stderr=output,
        )
    try:
        yield Started(process=process, log=log)
    finally:
        process.kill()
        process.wait()


async def run(folder: Path, *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None) -> Ended:
    """Run `tocsin` with these arguments to its end."""
    return await finished(_start(folder, list(arguments), environment=environment), stdin)


async def finished(process: subprocess.Popen[bytes], stdin: str = "") -> Ended:
    """Wait until a process has ended; one that does not is killed."""
    try:
        stdout, stderr = await asyncio.to_thread(process.communicate, stdin.encode(), DEADLINE_SECONDS)
    finally:
        process.kill()
        process.wait()
    return Ended(code=process.returncode, stdout=stdout.decode(), stderr=stderr.decode())


def prepare(folder: Path) -> None:
    """Put the handlers where the program finds them, also where `tests` is not installed."""
    shutil.copy(Path(jobs.__file__), folder / "jobs.py")


def database_url(folder: Path) -> str:
    """Name the folder's database."""
    return f"sqlite:///{folder / DATABASE}"


def edit(folder: Path, statement: str, *values: object) -> None:
    """Change the database behind the program's back."""
    with closing(sqlite3.connect(folder / DATABASE, timeout=DEADLINE_SECONDS)) as connection, connection:
        connection.execute(statement, values)


def shorten_leases(folder: Path, seconds: int) -> None:
    """Give all jobs leases shorter than the API allows, so that a test need not wait for long ones."""
    edit(folder, "UPDATE jobs SET definition = json_set(definition, '$.lock_timeout_seconds', ?)", seconds)


def let_leases_lapse(folder: Path, seconds: int) -> None:
    """Let leases be that much older; whoever is alive renews its own."""
    edit(folder, "UPDATE executions SET lease_expires_at = lease_expires_at - ?", seconds * 1_000_000)


def environment_of(folder: Path) -> dict[str, str]:
    """Give the environment of the program: this one's, without settings of Tocsin's that happen to be in it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    path = os.pathsep.join(filter(None, [str(folder), inherited.get("PYTHONPATH")]))
    return inherited | {"PYTHONPATH": path, "TOCSIN_DATABASE_URL": database_url(folder)}


async def gone_quiet(program: Program) -> None:
    """Wait until nothing of the program's runs or waits to."""

    async def quiet() -> bool:
        queue = (await program.scheduler.get_metrics()).queue
        return not any((queue.ready, queue.waiting, queue.retrying, queue.running))

    await until(quiet)


def _start(
    folder: Path,
    arguments: list[str],
    *,
    stdout: Any = subprocess.PIPE,  # noqa: ANN401 - a file or what subprocess calls a pipe
    stderr: Any = subprocess.PIPE,  # noqa: ANN401
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the program under test
        [sys.executable, "-m", "tocsin", *arguments],
        cwd=folder,
        env=environment_of(folder) | dict(environment or {}),
        stdin=subprocess.PIPE if stdout is subprocess.PIPE else subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
    )


async def _line(process: subprocess.Popen[bytes], log: Path, event: str) -> dict[str, Any] | None:
    text = log.read_text("utf-8")  # noqa: ASYNC240 - a few lines
    whole = [
        json.loads(line) for line in text.splitlines(keepends=True) if line.startswith("{") and line.endswith("\n")
    ]
    found: dict[str, Any] | None = next((line for line in whole if line["event"] == event), None)
    if found is not None:
        return found
    if process.poll() is not None:
        raise AssertionError(f"ended with {process.returncode} before {event}:\n{text}")
    return None
