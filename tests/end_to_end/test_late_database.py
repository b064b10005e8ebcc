"""Nodes that start before the server of their database does, as after a reboot."""

from __future__ import annotations

from pathlib import Path

import pytest

import tocsin
from deploy.local.ports import free_port
from deploy.local.postgres import LocalPostgres
from tests.end_to_end.program import run, starting
from tocsin.domain.errors import StoreUnavailable


def url_of(port: int) -> str:
    return f"postgresql://tocsin@127.0.0.1:{port}/postgres"


async def test_a_node_waits_for_its_database(tmp_path: Path, own_postgres: LocalPostgres) -> None:
    own_postgres.stop()
    async with starting(tmp_path, "--database-url", own_postgres.url()) as node:
        awaited = await node.logged("database.awaited")
        own_postgres.start()
        reached = await node.logged("database.reached")
        await node.logged("http.listening")
        node.terminate()
        assert await node.exit_code() == 0

    assert awaited["error"] == f"the database is out of reach (127.0.0.1:{own_postgres.port}: connection refused)"
    assert reached["seconds"] >= 0


async def test_a_node_that_waits_can_be_stopped(tmp_path: Path) -> None:
    async with starting(tmp_path, "--database-url", url_of(free_port())) as node:
        await node.logged("database.awaited")
        node.terminate()

        assert await node.exit_code() == 0
        assert "Traceback" not in node.log.read_text("utf-8")


async def test_a_node_does_not_wait_for_what_no_waiting_cures(tmp_path: Path, own_postgres: LocalPostgres) -> None:
    ended = await run(tmp_path, "serve", "--port", "0", "--database-url", own_postgres.url("missing"))

    assert ended.code == 3
    assert "the server has no such database" in ended.stderr


async def test_a_scheduler_in_process_does_not_wait() -> None:
    with pytest.raises(StoreUnavailable, match="connection refused"):
        async with tocsin.open_scheduler(url_of(free_port())):
            pass
