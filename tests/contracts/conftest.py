"""One fixture over all stores: what one promises, each must keep."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from aiohttp.test_utils import TestServer

from tests.application.rig import Notes
from tests.http.nodes import StillNode, node_on
from tests.sqlite.next_version import make_next_version
from tocsin.adapters.http import HttpScheduler, create_app
from tocsin.adapters.memory import InProcessDispatcher, memory_storage
from tocsin.adapters.postgres import PostgresBells, PostgresDispatcher, open_database, open_postgres, postgres_storage
from tocsin.adapters.redis import Timing, open_redis_dispatcher
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.engines import Engines, open_engines
from tocsin.ports.dispatcher import Dispatcher
from tocsin.ports.scheduler import IScheduler
from tocsin.ports.storage import Storage
from tocsin.settings import Settings


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite", "sqlite of the next version", "postgres"])
async def storage(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Storage]:
    match request.param:
        case "memory":
            yield memory_storage(clock)
        case "sqlite" | "sqlite of the next version":
            if request.param != "sqlite":
                make_next_version(tmp_path / "tocsin.db")
            async with open_sqlite(tmp_path / "tocsin.db", clock) as opened:
                yield opened
        case _:
            # Asked for here, so that only a test of this engine starts a server.
            async with open_postgres(request.getfixturevalue("postgres_access"), clock) as opened:
                yield opened


@pytest.fixture(params=["in_process", "redis", "postgres"])
async def dispatcher(request: pytest.FixtureRequest) -> AsyncIterator[Dispatcher]:
    if request.param == "in_process":
        yield InProcessDispatcher()
        return
    if request.param == "postgres":
        access = request.getfixturevalue("postgres_access")
        async with open_database(access) as database, PostgresBells(database, Notes()) as bells:
            yield PostgresDispatcher(database, bells)
        return
    url = request.getfixturevalue("redis_server").url
    timing = Timing(redeliver_after=timedelta(seconds=5))
    async with open_redis_dispatcher(url, Notes(), consumer="node-1", prefix=uuid4().hex, timing=timing) as opened:
        yield opened


@pytest.fixture(params=["memory", "sqlite", "postgres", "postgres and redis"])
async def engines(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Engines]:
    """All that a node shares with others, as the URLs name it, but that PostgreSQL too goes by the clock given."""
    if request.param in {"memory", "sqlite"}:
        url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'tocsin.db'}"
        async with open_engines(Settings(database_url=url), clock, Notes(), worker_id="node-1") as opened:
            yield opened
        return
    async with AsyncExitStack() as stack:
        access = request.getfixturevalue("postgres_access")
        database = await stack.enter_async_context(open_database(access, clock))
        bells = await stack.enter_async_context(PostgresBells(database, Notes()))
        pipe: Dispatcher = PostgresDispatcher(database, bells)
        if request.param == "postgres and redis":
            server = request.getfixturevalue("redis_server")
            redis = open_redis_dispatcher(server.url, Notes(), consumer="node-1", prefix=uuid4().hex)
            pipe = await stack.enter_async_context(redis)
        yield Engines(storage=postgres_storage(database), pipe=pipe, bells=bells, wake_seconds=1)


@pytest.fixture
async def node(engines: Engines, clock: ManualClock) -> AsyncIterator[StillNode]:
    """A scheduler on these engines, without loops."""
    async with node_on(engines, clock) as node:
        yield node


@pytest.fixture(params=["in process", "http"])
async def scheduler(request: pytest.FixtureRequest, node: StillNode) -> AsyncIterator[IScheduler]:
    """The port as its callers have it."""
    if request.param == "in process":
        yield node.scheduler
        return
    async with TestServer(create_app(node.face())) as server, HttpScheduler(str(server.make_url("/"))) as client:
        yield client
