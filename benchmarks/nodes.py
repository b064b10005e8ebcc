"""Nodes that are measured: one in this process, or some in processes of their own."""

from __future__ import annotations

import asyncio
import sys
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from deploy.local.ports import free_port
from tocsin.adapters.system import SystemClock
from tocsin.application.parts import Role
from tocsin.application.scheduler import Scheduler
from tocsin.bootstrap import Assembly, assemble
from tocsin.embedded import ALL_LOOPS
from tocsin.interpreter import settle_in
from tocsin.settings import load_settings

from .engines import Place
from .processes import attended, last_words
from .profiler import spying

START_SECONDS: Final = 60.0
GLANCE: Final = 0.005


@asynccontextmanager
async def node(place: Place, **settings: object) -> AsyncIterator[Assembly]:
    """Open a node in this process, whose loops run once `start` was called; it is stopped at the end."""
    named = {"log_level": "error", "drain_seconds": 5, **place.settings, "roles": ALL_LOOPS, **settings}
    async with assemble(load_settings(named, environment={}), SystemClock()) as assembly:
        # As `tocsin serve` does.
        settle_in()
        try:
            yield assembly
        finally:
            await assembly.node.stop()


@asynccontextmanager
async def client(place: Place) -> AsyncIterator[Scheduler]:
    """Open a scheduler in this process that runs no loops."""
    async with node(place, roles=(Role.API,)) as assembly:
        yield assembly.scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A node in a process of its own that is ready."""

    url: str
    pid: int


@asynccontextmanager
async def serving(place: Place, *, name: str, **settings: object) -> AsyncIterator[Served]:
    """Run `tocsin serve` with the handlers of this package until the context ends; it is killed then."""
    ours = {"handlers": "benchmarks.handlers", "log_level": "error", "worker_name": name, **place.settings, **settings}
    port = free_port()
    environment = {f"TOCSIN_{key.upper()}": str(value) for key, value in {**ours, "port": port}.items()}
    log, url = place.folder / f"{name}.log", f"http://127.0.0.1:{port}"
    with attended([sys.executable, "-m", "tocsin", "serve"], log=log, environment=environment) as process:
        deadline = time.monotonic() + START_SECONDS
        while not await asyncio.to_thread(partial(_is_ready, url)):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} is not ready: {last_words(log)}")
            await asyncio.sleep(GLANCE)
        with spying(process.pid, name):
            yield Served(url=url, pid=process.pid)


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ready", timeout=5) as answer:  # noqa: S310 - our own URL
            return bool(answer.status == 200)  # noqa: PLR2004 - OK
    except OSError:
        return False
