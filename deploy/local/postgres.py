"""A real PostgreSQL on this machine, for tests, measurements and the local stack."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Self

import psutil

from .orphans import Watchdog
from .ports import free_port
from .postgres_programs import PostgresUnavailable, account, available_versions, programs

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
_PATIENCE = 30.0

# A paused server hears of its end only once it goes on; its children, where /proc does not tell them, 5 seconds later.
_END = 'kill -QUIT "$1"; kill -CONT "$1" $(cat "/proc/$1/task/$1/children")'
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
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None

    @property
    def log(self) -> Path:
        """The file with everything that the server has said."""
        return self.folder / "log"

    @property
    def pid(self) -> int:
        """The postmaster's process."""
        return self._running().pid

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
        postgres = account()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a chosen program, settings of this repository
                [programs(self.version) / "postgres", "-D", self.folder / "data", "-p", str(self.port), *options],
                user=postgres.user,
                group=postgres.group,
                extra_groups=postgres.other_groups,
                cwd=self.folder,
                env={},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._watchdog = Watchdog("/bin/sh", "-c", _END, "end", str(self.pid))
        self._await_ready()

    def stop(self) -> None:
        """End sessions and stop in good order; nothing to do if it does not run."""
        self._end(signal.SIGINT)

    def stop_immediately(self) -> None:
        """Stop as a crash does: no checkpoint, no farewell to clients, recovery at the next start."""
        self._end(signal.SIGQUIT)

    def restart(self) -> None:
        """Stop in good order and start on the same port."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze every process of the server: connections stay open and nothing answers."""
        postmaster = psutil.Process(self.pid)
        postmaster.suspend()  # First, so that no child is born behind our back.
        for child in postmaster.children():
            with suppress(psutil.NoSuchProcess):  # It may have been on its way out.
                child.suspend()

    def resume(self) -> None:
        """Let a paused server go on; harmless if it is not paused."""
        postmaster = psutil.Process(self.pid)
        for process in (*postmaster.children(), postmaster):
            with suppress(psutil.NoSuchProcess):  # A child of a server that was not paused may end at any time.
                process.resume()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process

    def _make_data(self) -> None:
        initdb = programs(self.version) / "initdb"
        self.folder.mkdir(parents=True, exist_ok=True)
        account().own(self.folder)
        if account().run("/bin/sh", "-c", 'test -w "$1"', "reach", str(self.folder), cwd=Path("/")).returncode != 0:
            raise PostgresUnavailable(f"the account that runs PostgreSQL cannot reach {self.folder}")
        made = account().run(str(initdb), "-D", str(self.folder / "data"), *_INITDB, cwd=self.folder)
        if made.returncode != 0:
            raise RuntimeError(f"initdb failed: {made.stderr or made.stdout}")

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        knock = (programs(self.version) / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port))
        while subprocess.run(knock, check=False).returncode != 0:  # noqa: S603 - a chosen program
            if self._running().poll() is not None:
                self._forget()
                raise RuntimeError(f"PostgreSQL {self.version} ended at its start:\n{self._last_words()}")
            if time.monotonic() > deadline:
                self.stop_immediately()
                raise TimeoutError(f"PostgreSQL {self.version} is not ready:\n{self._last_words()}")
            time.sleep(0.01)

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
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(_PATIENCE)
        self._forget()

    def _forget(self) -> None:
        self._process = None
        if self._watchdog is not None:
            self._watchdog.dismiss()
            self._watchdog = None


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
