from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.makers import a_job
from tocsin.adapters.sqlite import UnusableDatabase, open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import StoreUnavailable
from tocsin.ports.storage import Storage


async def test_a_new_file_is_its_owners_alone(storage: Storage, path: Path) -> None:
    await storage.jobs.add(a_job())

    files = sorted(path.parent.glob("tocsin.db*"))

    assert [file.name for file in files] == ["tocsin.db", "tocsin.db-shm", "tocsin.db-wal"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


async def test_closing_leaves_one_file(path: Path, clock: ManualClock) -> None:
    async with open_sqlite(path, clock) as storage:
        await storage.jobs.add(a_job())

    assert [file.name for file in path.parent.iterdir()] == ["tocsin.db"]


async def test_commits_reach_the_disk_before_they_are_acknowledged(storage: Storage, path: Path) -> None:
    job = a_job()
    await storage.jobs.add(job)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("SELECT id FROM jobs").fetchall() == [(str(job.id),)]


@pytest.mark.parametrize("make", ["no_folder", "folder_in_its_place"])
async def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path, clock: ManualClock, make: str) -> None:
    path = tmp_path / "missing" / "tocsin.db" if make == "no_folder" else tmp_path

    with pytest.raises(UnusableDatabase, match=str(path)):
        async with open_sqlite(path, clock):
            pass


async def test_an_engine_that_may_damage_the_file_is_refused(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 35, 4))

    with pytest.raises(UnusableDatabase, match=r"SQLite 3\.35\.5 or newer is needed"):
        async with open_sqlite(path, clock):
            pass


@pytest.fixture
def diary(path: Path) -> Iterator[None]:
    path.write_text("dear diary, " * 1000)
    yield
    assert path.read_text() == "dear diary, " * 1000


@pytest.mark.usefixtures("diary")
async def test_a_file_that_is_no_database_is_refused_and_not_touched(path: Path, clock: ManualClock) -> None:
    with pytest.raises(UnusableDatabase, match="not a SQLite database"):
        async with open_sqlite(path, clock):
            pass


async def test_a_store_that_was_closed_says_so(path: Path, clock: ManualClock) -> None:
    async with open_sqlite(path, clock) as storage:
        pass

    with pytest.raises(StoreUnavailable, match="closed"):
        await storage.workers.list()
