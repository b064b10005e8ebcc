"""One fixture over all stores: what one promises, each must keep."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tocsin.adapters.memory import InProcessDispatcher, memory_storage
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.ports.dispatcher import Dispatcher
from tocsin.ports.storage import Storage


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Storage]:
    if request.param == "memory":
        yield memory_storage(clock)
        return
    async with open_sqlite(tmp_path / "tocsin.db", clock) as opened:
        yield opened


@pytest.fixture(params=["in_process"])
def dispatcher() -> Dispatcher:
    return InProcessDispatcher()
