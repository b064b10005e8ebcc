"""A real PostgreSQL on this machine, for tests, measurements and the local stack."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Self

from .orphans import Watchdog
from .ports import free_port
from .postgres_programs import PostgresUnavailable, account, available_versions, programs
from .server import Server

AVAILABLE_VERSIONS = available_versions()
NEWEST = max(AVAILABLE_VERSIONS, default=18)

DURABLE: Mapping[str, str] = {
    "max_connections": "200",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %d ",
}
# A killed server keeps what it wrote, since the machine lives on: only a power cut would lose it.
THROWAWAY: Mapping[str, str] = {**DURABLE, "fsync": "off", "full_page_writes": "off"}

_INITDB = ("--username=tocsin", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
# Again and again: a server that dies at the same moment may still be writing.
_REMOVE = 'for attempt in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" && break; sleep 0.1; done; rm -rf "$1"'


class LocalPostgres:
    """
    One server on a loopback port, with its data in `folder`/data and its log in `folder`/log.

    The data stays in the folder and is found again at the next start. The folder is made if
    missing; under root it goes to the account `nobody`, who must be able to reach it. Anybody
    on this machine may log in. When this process dies, so does the server. Every call blocks.
    """

    def __init__(
        self, folder: Path, *, version: int = NEWEST, port: int | None = None, settings: Mapping[str, str] = DURABLE
    ) -> None:
        self.folder = folder.absolute()
        self.version = version
        self.port = free_port() if port is None else port
        self._settings = {**settings, "listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
        self.log = self.folder / "log"
        self._server = Server(f"PostgreSQL {version}", log=self.log, answers=self._answers, crash=signal.SIGQUIT)

    @property
    def pid(self) -> int:
        """The postmaster's process."""
        return self._server.pid

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database; its user may do anything."""
        return f"postgresql://tocsin@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """
        Start, and return once the server takes connections; the first start makes its data.

        Raises:
            PostgresUnavailable: this machine does not have or cannot run this version.
            TimeoutError: it is not ready after 30 seconds.
            RuntimeError: it ended instead, and its last words are the message.
        """
        if not (self.folder / "data" / "PG_VERSION").is_file():
            self._make_data()
        options = (option for name, value in self._settings.items() for option in ("-c", f"{name}={value}"))
        postgres = (str(programs(self.version) / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port))
        self._server.start(*postgres, *options, account=account())

    def stop(self) -> None:
        """End sessions and stop in good order; nothing to do if it does not run."""
        self._server.end(signal.SIGINT)

    def stop_immediately(self) -> None:
        """Stop as a crash does: no checkpoint, no farewell to clients, recovery at the next start."""
        self._server.crash()

    def restart(self) -> None:
        """Stop in good order and start on the same port."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze every process of the server: connections stay open and nothing answers."""
        self._server.pause()

    def resume(self) -> None:
        """Let a paused server go on; harmless if it is not paused."""
        self._server.resume()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _make_data(self) -> None:
        initdb = programs(self.version) / "initdb"
        self.folder.mkdir(parents=True, exist_ok=True)
        account().own(self.folder)
        if account().run("/bin/sh", "-c", 'test -w "$1"', "reach", str(self.folder), cwd=Path("/")).returncode != 0:
            raise PostgresUnavailable(f"the account that runs PostgreSQL cannot reach {self.folder}")
        made = account().run(str(initdb), "-D", str(self.folder / "data"), *_INITDB, cwd=self.folder)
        if made.returncode != 0:
            raise RuntimeError(f"initdb failed: {made.stderr or made.stdout}")

    def _answers(self) -> bool:
        knock = (programs(self.version) / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port))
        return subprocess.run(knock, check=False).returncode == 0  # noqa: S603 - a chosen program


@contextmanager
def throwaway_postgres(*, version: int = NEWEST, settings: Mapping[str, str] = THROWAWAY) -> Iterator[LocalPostgres]:
    """Run a server whose data is gone afterwards, even if this process is killed."""
    folder = Path(tempfile.mkdtemp(prefix="tocsin-postgres-"))
    janitor = Watchdog("/bin/sh", "-c", _REMOVE, "remove", str(folder))
    try:
        with LocalPostgres(folder, version=version, settings=settings) as server:
            yield server
    finally:
        rmtree(folder)
        janitor.dismiss()
