"""One fixture over all stores: what one promises, each must keep."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tests.application.rig import Notes
from tests.sqlite.next_version import make_next_version
from tocsin.adapters.memory import InProcessDispatcher, memory_storage
from tocsin.adapters.postgres import Access, PostgresBells, PostgresDispatcher, open_database, open_postgres
from tocsin.adapters.redis import Timing, open_redis_dispatcher
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.ports.dispatcher import Dispatcher
from tocsin.ports.storage import Storage


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
            access = Access(url=request.getfixturevalue("postgres_url"))
            async with open_postgres(access, clock) as opened:
                yield opened


@pytest.fixture(params=["in_process", "redis", "postgres"])
async def dispatcher(request: pytest.FixtureRequest) -> AsyncIterator[Dispatcher]:
    if request.param == "in_process":
        yield InProcessDispatcher()
        return
    if request.param == "postgres":
        access = Access(url=request.getfixturevalue("postgres_url"))
        async with open_database(access) as database, PostgresBells(database, Notes()) as bells:
            yield PostgresDispatcher(database, bells)
        return
    url = request.getfixturevalue("redis_server").url
    timing = Timing(redeliver_after=timedelta(seconds=5))
    async with open_redis_dispatcher(url, Notes(), consumer="node-1", prefix=uuid4().hex, timing=timing) as opened:
        yield opened
