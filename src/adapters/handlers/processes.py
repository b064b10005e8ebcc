"""A process with everything that it forks, started and ended as one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from .completion import see_through, start_thread

_KILL_LIMIT: Final = 1.0
_POLL: Final = 0.05


class ProcessGroup:
    """
    A running process that leads a session and process group of its own.

    What it forks belongs to the group, unless it makes a session of its own (`setsid`): such a daemon is let go.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._id = process.pid
        self._exited = start_thread(process.wait, name=f"tocsin waits for {process.pid}")

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: str | None,
        stdin: str | None,
        outputs: Sequence[int],
    ) -> ProcessGroup:
        """
        Start a process that prints into two descriptors, stdout's and stderr's.

        Raises:
            OSError: it cannot be started.
            ValueError: the system cannot encode an argument or a variable.
        """
        stdout, stderr = outputs
        with ExitStack() as opened:
            process = subprocess.Popen(  # noqa: S603  # Running what a job names is the purpose, and off by default.
                argv,
                env=environment,
                cwd=cwd,
                stdin=subprocess.DEVNULL if stdin is None else opened.enter_context(_file(stdin)),
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        return cls(process)

    async def wait(self) -> int:
        """Wait until the leader has exited, and answer its exit code, or 128 + n after signal n as shells do."""
        code = await asyncio.shield(self._exited)
        return code if code >= 0 else 128 - code

    def is_alive(self) -> bool:
        """Answer whether any process of the group still runs."""
        return not self._exited.done() or (self._signal(0) and _has_running_member(self._id))

    async def end(self, *, grace_seconds: float) -> None:
        """
        End what is left of the group: SIGTERM, a grace, SIGKILL; a cancellation cuts the grace short.

        Only what the system itself cannot kill at once, such as a process in a dead network mount, outlasts this.
        """
        if not self._signal(signal.SIGTERM):
            return
        try:
            await self._gone(grace_seconds)
        finally:
            self._signal(signal.SIGKILL)
            await see_through(self._gone(_KILL_LIMIT))
            self._reap()

    def kill(self) -> None:
        """Kill the group at once, without waiting: the last thing that an ending process does for it."""
        self._signal(signal.SIGKILL)

    async def _gone(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        limit = loop.time() + seconds
        while self.is_alive() and loop.time() < limit:  # noqa: ASYNC110  # The system tells of a leader's end only.
            await asyncio.sleep(_POLL)

    def _signal(self, number: int) -> bool:
        try:
            os.killpg(self._id, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True  # What is left runs as another user.
        return True

    def _reap(self) -> None:
        # As the first process of a container, the node inherits the orphans of its commands.
        with suppress(ChildProcessError):
            while self._exited.done() and os.waitpid(-self._id, os.WNOHANG) != (0, 0):
                pass


def _has_running_member(group: int) -> bool:
    """Look for a process of the group that is no zombie, which only its parent removes; without /proc, assume one."""
    if not Path("/proc/self/stat").exists():
        return True
    return any(_runs_in(group, stat) for stat in Path("/proc").glob("[0-9]*/stat"))


def _runs_in(group: int, stat: Path) -> bool:
    try:
        state, _, process_group, *_ = stat.read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False  # It ended while we looked.
    return int(process_group) == group and state not in {b"Z", b"X"}


@contextmanager
def _file(text: str) -> Iterator[IO[bytes]]:
    # A file, unlike a pipe, needs nobody to feed it while the process runs.
    with TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield file
