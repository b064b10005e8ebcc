"""Nodes as processes of their own, on one database and one pipe, and everything that can happen to a process."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from tests.faults.marks import Lives, Span
from tests.faults.proxy import Proxy, wire_to

CHECKOUT: Final = Path(__file__).parents[2]
START_SECONDS: Final = 120.0
"""Far beyond what a node needs to start, or to stop, on a loaded machine."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wires:
    """What lies between one node and its servers; without Redis there is one wire."""

    database: Proxy
    redis: Proxy | None


@dataclass(slots=True, kw_only=True)
class Node:
    """One place in the cluster: a process, and another one after each restart."""

    number: int
    folder: Path
    environment: dict[str, str]
    lives: Lives
    clock_offset: float = 0.0
    wires: Wires | None = None
    logs: list[Path] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None
    _stopped_at: float | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that runs, or ran last."""
        if self._process is None:
            raise RuntimeError(f"node {self.number} was never started")
        return self._process

    def start(self) -> None:
        """Start a process; `ready` waits for it."""
        self.logs.append(self.folder / f"log-{self.number}-{len(self.logs)}")
        with self.logs[-1].open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the program under test
                [sys.executable, "-m", "tests.faults.node", str(self.clock_offset)],
                cwd=self.folder,
                env=self.environment | {"TOCSIN_WORKER_NAME": f"node-{self.number}"},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    async def ready(self) -> None:
        """Wait until its loops run."""
        await self.logged("node.started")

    async def logged(self, event: str) -> dict[str, Any]:
        """Wait for a line of this process's log, and answer it."""

        async def look() -> dict[str, Any] | None:
            ended = self.process.poll()
            found = next((line for line in self.log_lines() if line["event"] == event), None)
            if found is None and ended is not None:
                raise AssertionError(f"node {self.number} ended with {ended} before {event}:\n{self._last_words()}")
            return found

        return await within(START_SECONDS, look)

    def log_lines(self) -> Iterator[dict[str, Any]]:
        """Read the log of its process so far."""
        return lines_of(self.logs[-1])

    def kill(self) -> None:
        """End it as a power cut would: kill -9."""
        self.process.kill()
        self.process.wait()
        self._buried()

    def freeze(self) -> None:
        """Stop the process where it stands."""
        self._stopped_at = time.monotonic()
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self.process.send_signal(signal.SIGCONT)
        if self._stopped_at is not None:
            self.lives.stops[self.process.pid].append(Span(start=self._stopped_at, end=time.monotonic()))
            self._stopped_at = None

    async def stop(self) -> int:
        """Ask it to stop, wait until it has, and answer its exit code."""
        self.process.send_signal(signal.SIGTERM)

        async def code() -> int | None:
            return self.process.poll()

        ended = await within(START_SECONDS, code)
        self._buried()
        return ended

    def end(self) -> None:
        """Make sure that nothing of it is left."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self.kill()
        self._let_go()

    def _buried(self) -> None:
        self.lives.deaths[self.process.pid] = time.monotonic()
        self._let_go()

    def _let_go(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def _last_words(self) -> str:
        return "\n".join(self.logs[-1].read_text("utf-8", errors="replace").splitlines()[-20:])


@dataclass(slots=True, kw_only=True)
class Cluster:
    """Some nodes, and how long each process of theirs lived."""

    folder: Path
    nodes: list[Node]
    lives: Lives

    @property
    def logs(self) -> list[Path]:
        """The logs of all processes so far."""
        return [log for node in self.nodes for log in node.logs]

    async def start(self) -> None:
        """Start every node at once, and wait until all are ready."""
        for node in self.nodes:
            node.start()
        await self.ready()

    async def ready(self) -> None:
        """Wait until every node's loops run."""
        await asyncio.gather(*(node.ready() for node in self.nodes))

    async def stop(self) -> list[int]:
        """Stop every node in good order, and list their exit codes."""
        return await asyncio.gather(*(node.stop() for node in self.nodes))

    async def kill_at_random(self, *, every: float, seconds: float, chance: random.Random) -> None:
        """Kill one node after the other, and start it again at once."""
        begun, kills = time.monotonic(), int(seconds / every)
        for number in range(1, kills + 1):
            await asyncio.sleep(begun + number * every - time.monotonic())
            node = chance.choice(self.nodes)
            node.kill()
            node.start()

    def said(self, event: str) -> Iterator[dict[str, Any]]:
        """Read the lines about one event from the logs of all processes so far."""
        return (line for log in self.logs for line in lines_of(log) if line["event"] == event)


@asynccontextmanager
async def cluster_of(
    nodes: int,
    folder: Path,
    *,
    database_url: str,
    redis_url: str | None,
    wired: bool = False,
    clock_offsets: tuple[float, ...] = (0.0,),
    **settings: object,
) -> AsyncIterator[Cluster]:
    """
    Start nodes in a folder of theirs, and leave none behind.

    With `wired`, each reaches its servers over wires of its own. Their clocks are off by the offsets in turn.
    `settings` are those of the program.
    """
    lives = Lives()
    async with AsyncExitStack() as stack:
        made = []
        for number in range(nodes):
            wires, urls = await _wires(stack, database_url, redis_url) if wired else (None, (database_url, redis_url))
            named = {"database_url": urls[0], "redis_url": urls[1], **settings}
            made.append(
                Node(
                    number=number,
                    folder=folder,
                    environment=environment_of({name: value for name, value in named.items() if value is not None}),
                    lives=lives,
                    clock_offset=clock_offsets[number % len(clock_offsets)],
                    wires=wires,
                )
            )
        cluster = Cluster(folder=folder, nodes=made, lives=lives)
        try:
            await cluster.start()
            yield cluster
        finally:
            for node in made:
                node.end()


async def _wires(
    stack: AsyncExitStack, database_url: str, redis_url: str | None
) -> tuple[Wires, tuple[str, str | None]]:
    database, through_database = await stack.enter_async_context(wire_to(database_url))
    if redis_url is None:
        return Wires(database=database, redis=None), (through_database, None)
    redis, through_redis = await stack.enter_async_context(wire_to(redis_url))
    return Wires(database=database, redis=redis), (through_database, through_redis)


def environment_of(settings: dict[str, object]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    ours = {"handlers": "tests.faults.jobs", "port": 0, "log_format": "json", **settings}
    path = os.pathsep.join(filter(None, [str(CHECKOUT), inherited.get("PYTHONPATH")]))
    return inherited | {"PYTHONPATH": path} | {f"TOCSIN_{name.upper()}": str(each) for name, each in ours.items()}


def lines_of(log: Path) -> Iterator[dict[str, Any]]:
    """Read what a node has said so far."""
    return (json.loads(line) for line in whole_lines(log) if line.startswith("{"))


def whole_lines(log: Path) -> Iterator[str]:
    """Read a log so far, but for a line that is not finished."""
    lines = log.read_text("utf-8", errors="replace").splitlines(keepends=True)
    return (line.rstrip() for line in lines if line.endswith("\n"))


async def within(seconds: float, look: Callable[[], Awaitable[T | None]], *, every: float = 0.1) -> T:
    """Look again and again until there is something to see, and answer that; to run out of time is a failure."""
    async with asyncio.timeout(seconds):
        while (seen := await look()) is None:  # noqa: ASYNC110 - another process rings no bell here
            await asyncio.sleep(every)
    return seen
