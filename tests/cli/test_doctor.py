from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from deploy.local.postgres import LocalPostgres
from deploy.local.redis import LocalRedis
from tests.end_to_end.program import Ended, let_leases_lapse, run, serving
from tests.end_to_end.waiting import until
from tocsin.domain.execution import ExecutionStatus

from .conftest import CommandLine, Ran


@pytest.fixture
def healthy(tocsin: CommandLine) -> CommandLine:
    """A node that runs everything, by the clock of this machine."""
    tocsin.clock.move_to(datetime.now(UTC))
    tocsin.beat()
    return tocsin


def troubles(ended: Ran) -> list[tuple[str, str]]:
    return [(each["level"], each["subject"]) for each in ended.json["items"] if each["level"] not in {"ok", "note"}]


def test_nothing_wrong_exits_with_0(healthy: CommandLine) -> None:
    ended, said = healthy("doctor", "--json"), healthy("doctor")

    assert (ended.code, troubles(ended)) == (0, [])
    assert said.out.splitlines()[-1] == "nothing is wrong"


def test_no_server_is_an_error_with_advice(healthy: CommandLine) -> None:
    healthy.reachable = False
    ended, said = healthy("doctor", "--json"), healthy("doctor")

    assert (ended.code, troubles(ended)) == (1, [("error", "server")])
    assert "start a node with `tocsin serve`" in said.out
    assert said.out.splitlines()[-1] == "1 error"


def test_a_handler_that_an_active_job_needs_and_no_node_has_is_an_error(healthy: CommandLine) -> None:
    healthy.create("--handler", "reports.send", "--allow-unknown-handler", name="weekly")
    healthy.create("--handler", "reports.old", "--allow-unknown-handler", "--paused", name="retired")
    ended = healthy("doctor")

    assert ended.code == 1
    assert "no node has function/reports.send, which 1 active job needs: weekly" in ended.out
    assert "start a node with the module that registers reports.send" in ended.out
    assert "reports.old" not in ended.out


def test_what_nodes_found_amiss_in_the_ledger_is_an_error(healthy: CommandLine) -> None:
    healthy.beat(anomalies=3)
    ended = healthy("doctor")

    assert ended.code == 1
    assert "3 anomalies in the ledger" in ended.out
    assert "`tocsin ledger verify` tells job by job what is amiss" in ended.out


def test_a_warning_exits_with_1_only_if_it_is_meant_strictly(healthy: CommandLine) -> None:
    healthy.clock.advance(3600)
    healthy.beat()
    ended, strict = healthy("doctor", "--json"), healthy("doctor", "--strict", "--json")

    assert (ended.code, strict.code) == (0, 1)
    assert set(troubles(ended)) == {("warning", "clocks")}


def test_nodes_of_two_versions_are_told(healthy: CommandLine) -> None:
    (worker,) = asyncio.run(healthy.storage.workers.list())
    asyncio.run(healthy.storage.workers.beat(replace(worker, id="node-2#def", version="1.2.4")))
    ended = healthy("doctor")

    assert "they are of versions 1.2.3 and 1.2.4" in ended.out


def test_a_variable_that_means_nothing_is_told(healthy: CommandLine) -> None:
    healthy.conditions.unknown_variables = ("TOCSIN_CONCURENCY",)
    ended = healthy("doctor", "--json")

    assert (ended.code, troubles(ended)) == (0, [("warning", "settings")])


def test_the_options_name_what_is_looked_at(healthy: CommandLine) -> None:
    healthy("doctor", "--database-url", "postgresql://u@h/x", "--redis-url", "redis://h", "--config", "x.toml")
    (asked,) = healthy.conditions.asked

    assert (asked.database_url, asked.redis_url, asked.config) == ("postgresql://u@h/x", "redis://h", Path("x.toml"))


def found(ended: Ended) -> set[tuple[str, str]]:
    return {(each["level"], each["subject"]) for each in ended.answer["items"] if each["level"] != "ok"}


def words(ended: Ended) -> str:
    every: list[Any] = ended.answer["items"]
    return "\n".join(each["message"] for each in every)


async def test_a_node_on_real_servers_is_looked_at_with_all_that_it_stands_on(
    tmp_path: Path, postgres_url: str, redis_server: LocalRedis
) -> None:
    engines = ("--database-url", postgres_url, "--redis-url", redis_server.url)
    async with serving(tmp_path, *engines) as program:
        ended = await run(tmp_path, "--server", program.url, "doctor", *engines, "--json")

    assert "PostgreSQL 18" in words(ended)
    assert "Redis 6.2" in words(ended)
    assert "with those of the node, the database, Redis" in words(ended)
    assert found(ended) == {("error", "database"), ("warning", "database")}
    assert "fsync is off" in words(ended)


async def test_a_database_that_may_lose_what_it_confirmed_is_told(tmp_path: Path, own_postgres: LocalPostgres) -> None:
    connection = await asyncpg.connect(own_postgres.url())
    await connection.execute("ALTER DATABASE postgres SET synchronous_commit = off")
    await connection.close()
    ended = await run(tmp_path, "doctor", "--json", "--database-url", own_postgres.url("postgres"))

    assert ended.code == 1
    assert {("error", "server"), ("warning", "schema"), ("warning", "database")} <= found(ended)
    assert "synchronous_commit is off" in words(ended)


async def test_a_database_and_a_redis_that_are_away_are_told_and_hinder_nothing_else(tmp_path: Path) -> None:
    away = ("--database-url", "postgresql://nobody@127.0.0.1:1/none", "--redis-url", "redis://127.0.0.1:1")
    async with serving(tmp_path) as program:
        ended = await run(tmp_path, "--server", program.url, "doctor", "--json", *away)

    assert ended.code == 1
    assert found(ended) == {("error", "database"), ("error", "redis")}
    assert "127.0.0.1:1: connection refused" in words(ended)


async def test_leases_that_nobody_takes_back_are_told(tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    async with serving(tmp_path, "--roles", "api,executor") as program:
        job = await program.scheduler.schedule_recurring("x", schedule="every 1h", handler_name="hold")
        execution = await program.scheduler.trigger_job(job.id)

        async def runs() -> bool:
            return (await program.scheduler.get_execution(execution.id)).status is ExecutionStatus.RUNNING

        await until(runs)
        program.kill()
        let_leases_lapse(tmp_path, 7200)
        ended = await run(tmp_path, "--server", program.url, "doctor", "--json")

    assert ("warning", "leases") in found(ended)
    assert "1 execution is held although the lease ran out" in words(ended)
