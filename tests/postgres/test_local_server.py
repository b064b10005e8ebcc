"""The rig itself: what every other test on PostgreSQL takes for granted."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import asyncpg
import psutil
import pytest

from deploy.local.postgres import AVAILABLE_VERSIONS, LocalPostgres

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

CHECKOUT = Path(__file__).parents[2]
# Has a server, says where it is and waits to be killed.
OWNER = """
import sys
from deploy.local.postgres import throwaway_postgres
with throwaway_postgres() as server:
    if sys.argv[1] == "paused":
        server.pause()
    print(server.pid, server.folder, flush=True)
    sys.stdin.read()
"""


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize("postgres_version", AVAILABLE_VERSIONS)
async def test_a_test_gets_a_database_of_the_version_it_asks_for(
    empty_postgres_url: str, postgres_version: int
) -> None:
    async with connected(empty_postgres_url) as connection:
        assert connection.get_server_version().major == postgres_version


@pytest.mark.parametrize("visit", [1, 2])
async def test_nobody_sees_what_another_test_wrote(empty_postgres_url: str, visit: int) -> None:
    async with connected(empty_postgres_url) as connection:
        await connection.execute(f"CREATE TABLE visit_{visit} ()")

        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")

    assert [row["tablename"] for row in tables] == [f"visit_{visit}"]


async def test_a_fresh_database_has_the_schema(postgres_url: str) -> None:
    async with connected(postgres_url) as connection:
        assert await connection.fetchval("SELECT count(*) FROM tocsin.jobs") == 0


async def test_what_was_committed_survives_an_immediate_stop(own_postgres: LocalPostgres) -> None:
    async with connected(own_postgres.url()) as connection:
        await connection.execute("CREATE TABLE kept AS SELECT 1 AS number")
        own_postgres.stop_immediately()

    own_postgres.start()

    assert "not properly shut down" in own_postgres.log.read_text("utf-8")
    async with connected(own_postgres.url()) as connection:
        assert await connection.fetchval("SELECT number FROM kept") == 1


async def test_a_restart_moves_neither_the_port_nor_the_data(own_postgres: LocalPostgres) -> None:
    url = own_postgres.url()
    async with connected(url) as connection:
        await connection.execute("CREATE TABLE kept ()")

    own_postgres.restart()

    async with connected(url) as connection:
        assert await connection.fetch("SELECT * FROM kept") == []


async def test_a_paused_server_keeps_its_connections_and_answers_once_resumed(own_postgres: LocalPostgres) -> None:
    async with connected(own_postgres.url()) as connection:
        own_postgres.pause()
        answer = asyncio.create_task(connection.fetchval("SELECT 1"))
        done, _ = await asyncio.wait([answer], timeout=0.2)
        own_postgres.resume()

        assert not done
        assert await answer == 1


def test_a_server_that_cannot_start_says_why(own_postgres: LocalPostgres) -> None:
    second = LocalPostgres(own_postgres.folder, version=own_postgres.version)

    with pytest.raises(RuntimeError, match=r"lock file .* already exists"):
        second.start()


@pytest.mark.parametrize("state", ["running", "paused"])
def test_a_killed_session_leaves_neither_process_nor_folder(postgres_server: LocalPostgres, state: str) -> None:
    owner = subprocess.Popen(  # noqa: S603 - this Python, the words above
        [sys.executable, "-c", OWNER, state], cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        postmaster = psutil.Process(int(pid))
        owner.kill()

    assert psutil.wait_procs([postmaster], timeout=30)[1] == []
    gone_by = time.monotonic() + 30
    while Path(folder).exists():
        assert time.monotonic() < gone_by
        time.sleep(0.01)
    assert psutil.pid_exists(postgres_server.pid)
