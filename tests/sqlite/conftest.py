"""One file, opened once; and the same file as anybody with SQLite sees it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.ports.storage import Storage


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tocsin.db"


@pytest.fixture
async def storage(path: Path, clock: ManualClock) -> AsyncIterator[Storage]:
    async with open_sqlite(path, clock, busy_timeout=0.2) as opened:
        yield opened


@pytest.fixture
def stranger(storage: Storage, path: Path) -> Iterator[sqlite3.Connection]:  # noqa: ARG001 - it makes the file
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection
