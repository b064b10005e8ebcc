"""
Everything on this machine, to try: `python -m deploy.local.stack`, or `make stack`.

A real PostgreSQL, a real Redis and three nodes on both, until Ctrl-C or SIGTERM. Data and logs are in a folder, and
PostgreSQL's are found again at the next start.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from .orphans import Watchdog
from .postgres import LocalPostgres
from .postgres_programs import PostgresUnavailable
from .redis import LocalRedis

FOLDER: Final = Path(".stack")
PORTS: Final = (8081, 8082, 8083)
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 60.0
"""Longer than a node's own limit for draining."""

WELCOME: Final = """\
Nodes       {nodes}
PostgreSQL  {postgres}
Redis       {redis}
Logs        {folder}

Try, in another terminal:
  export TOCSIN_SERVER={first}
  tocsin workers
  tocsin jobs create --name Ping --cron "*/2 * * * * *" --url {first}/health
  tocsin executions list
  kill -9 {victim}          # a node, and see that nothing goes missing:
  tocsin ledger verify

Every route: {first}/docs. Ctrl-C ends it all.
"""


class StackBroken(Exception):
    """A node ended by itself, or did not start; the message says which, and where its log is."""


class StackNode:
    """One node of the stack, in a session of its own: Ctrl-C is for the stack, which stops it in order."""

    def __init__(self, folder: Path, name: str, port: int, environment: Mapping[str, str]) -> None:
        self.name = name
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / f"{name}.log"
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("TOCSIN_")}
        self._environment = inherited | {**environment, "TOCSIN_WORKER_NAME": name, "TOCSIN_PORT": str(port)}
        self.start()

    def start(self) -> None:
        """Start its process."""
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tocsin", "serve", "--log-format", "json"],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._watchdog = Watchdog("/bin/sh", "-c", 'kill -TERM "$1"', "end", str(self.process.pid))

    def await_ready(self) -> None:
        """
        Wait until it takes requests.

        Raises:
            StackBroken: it ended, or is not ready after a minute.
        """
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            self.revive()
            if time.monotonic() > deadline:
                raise StackBroken(f"{self.name} is not ready; see {self.log}")
            time.sleep(0.05)

    def revive(self) -> bool:
        """
        Start it again if somebody has killed it; answers whether that was so.

        Raises:
            StackBroken: it ended by itself.
        """
        if (code := self.process.poll()) is None:
            return False
        if code >= 0:
            raise StackBroken(f"{self.name} ended with {code}; see {self.log}")
        self._watchdog.dismiss()
        self.start()
        return True

    def ask_to_stop(self) -> None:
        """Let it drain; `await_end` waits for it."""
        self.process.send_signal(signal.SIGTERM)

    def await_end(self) -> None:
        """Wait until it has ended; it is killed if it takes too long."""
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._watchdog.dismiss()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/ready", timeout=5) as answer:  # noqa: S310 - our own URL
                return bool(answer.status == 200)  # noqa: PLR2004 - OK
        except OSError:
            return False


@contextmanager
def running(folder: Path, ports: Sequence[int]) -> Iterator[tuple[Sequence[StackNode], LocalPostgres, LocalRedis]]:
    """Run the servers and a node on each port; at the end nodes stop first, then Redis, then PostgreSQL."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        postgres = stack.enter_context(LocalPostgres(folder / "postgres"))
        redis = stack.enter_context(LocalRedis(folder / "redis"))
        environment = {"TOCSIN_DATABASE_URL": postgres.url(), "TOCSIN_REDIS_URL": redis.url}
        nodes = stack.enter_context(_nodes(folder, ports, environment))
        for node in nodes:
            node.await_ready()
        yield nodes, postgres, redis


@contextmanager
def _nodes(folder: Path, ports: Sequence[int], environment: Mapping[str, str]) -> Iterator[Sequence[StackNode]]:
    nodes: list[StackNode] = []
    try:
        for number, port in enumerate(ports, start=1):
            nodes.append(StackNode(folder, f"node-{number}", port, environment))
        yield nodes
    finally:
        for node in nodes:
            node.ask_to_stop()
        for node in nodes:
            node.await_end()


def welcome(nodes: Sequence[StackNode], postgres: LocalPostgres, redis: LocalRedis, folder: Path) -> str:
    """Say what runs where, and what to try."""
    return WELCOME.format(
        nodes="  ".join(f"{node.url} ({node.process.pid})" for node in nodes),
        postgres=postgres.url(),
        redis=redis.url,
        folder=folder,
        first=nodes[0].url,
        victim=nodes[-1].process.pid,
    )


def main() -> None:
    """Run the stack until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where data and logs are kept")
    parser.add_argument("--ports", type=int, nargs="+", default=PORTS, help="one node listens on each")
    options = parser.parse_args()
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    try:
        with running(options.folder, options.ports) as (nodes, postgres, redis):
            print(welcome(nodes, postgres, redis, options.folder), flush=True)  # noqa: T201 - this is a command
            while not asked.wait(0.2):
                for node in nodes:
                    if node.revive():
                        print(f"{node.name} was killed; it is back as {node.process.pid}", flush=True)  # noqa: T201
            print("Stopping: the nodes drain first.", flush=True)  # noqa: T201
    except (StackBroken, PostgresUnavailable, RuntimeError, TimeoutError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
