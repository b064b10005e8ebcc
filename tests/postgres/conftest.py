"""One database as the adapter sees it, and as anybody with PostgreSQL does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from tocsin.adapters.postgres import Access, Database, open_postgres
from tocsin.adapters.postgres.connection import SCHEMA
from tocsin.adapters.system import ManualClock
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    Stranger = asyncpg.Connection[asyncpg.Record]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def access(postgres_url: str) -> Access:
    return Access(url=postgres_url, connections=24)


@pytest.fixture
async def storage(access: Access, clock: ManualClock) -> AsyncIterator[Storage]:
    async with open_postgres(access, clock) as opened:
        yield opened


@pytest.fixture
async def database(access: Access, clock: ManualClock) -> AsyncIterator[Database]:
    opened = Database(access, clock)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def stranger(postgres_url: str) -> AsyncIterator[Stranger]:
    connection = await asyncpg.connect(postgres_url, server_settings={"search_path": SCHEMA})
    yield connection
    await connection.close()
