from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from tests.end_to_end.program import DATABASE, Ended, run, serving
from tocsin.domain.errors import InvalidInput
from tocsin.settings import load_settings, unknown_variables


async def refused(folder: Path, *options: str, **environment: str) -> Ended:
    ended = await run(folder, "serve", "--port", "0", *options, environment=environment)
    assert ended.code != 0
    assert "Traceback" not in ended.stderr
    return ended


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("host", "::"),
        ("host", "node.example.com"),
        ("port", "65536"),
        ("port", "-1"),
        ("database_url", "mysql://localhost/jobs"),
        ("database_url", "postgresql://tocsin:s]c[h@h/x"),
        ("redis_url", "redis://beside.a.file"),
        ("roles", "api,leader"),
        ("roles", ""),
        ("concurrency", "0"),
        ("drain_seconds", "soon"),
        ("retention_days", "0"),
        ("log_level", "loud"),
    ],
)
def test_a_setting_out_of_bounds_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        load_settings({}, environment={f"TOCSIN_{name.upper()}": value})

    assert {error.field for error in refusal.value.errors} == {name}


def test_roles_are_refused_with_those_there_are() -> None:
    for roles, words in (
        ("", "roles: name at least one of api, timer"),
        ("api,leader", "roles: leader: must be some of"),
    ):
        with pytest.raises(InvalidInput, match=words):
            load_settings({"roles": roles}, environment={})
    with pytest.raises(InvalidInput, match="name at least one"):
        load_settings({"roles": ()}, environment={})


async def test_a_node_that_cannot_be_as_it_was_told_says_what_is_wrong_and_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("concurency = 5\n", "utf-8")
    beyond_loopback, misspelled, no_module = await asyncio.gather(
        refused(tmp_path, "--host", "0.0.0.0"),  # noqa: S104 - that it is refused is the point
        refused(tmp_path, "--config", "bad.toml"),
        refused(tmp_path, "--handlers", "no_such_module"),
    )

    assert [beyond_loopback.code, misspelled.code, no_module.code] == [2, 2, 2]
    assert "host: 0.0.0.0 can be reached from other machines" in beyond_loopback.stderr
    assert "concurency:" in misspelled.stderr
    assert "handlers: cannot import no_such_module" in no_module.stderr
    assert not (tmp_path / DATABASE).exists()


async def test_variables_that_are_no_settings_are_told_without_their_values(tmp_path: Path) -> None:
    environment = {"TOCSIN_CONCURENCY": "secret", "TOCSIN_SERVER": "http://localhost:1", "tocsin_port": "1"}

    ended = await run(tmp_path, "settings", "--json", environment=environment)

    assert unknown_variables({**environment, "TOCSIN_PORT": "1", "TOCSIN_": "x"}) == ["TOCSIN_", "TOCSIN_CONCURENCY"]
    assert [row["name"] for row in ended.answer if row["source"] == "unknown, ignored"] == ["TOCSIN_CONCURENCY"]
    assert "secret" not in ended.stdout


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = await refused(tmp_path, "--port", str(port))

    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr


async def test_what_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    notes = tmp_path / "notes.db"
    notes.write_text("These are my notes, and they are no database.\n" * 100, "utf-8")
    before = notes.read_bytes()

    folder, text = await asyncio.gather(
        refused(tmp_path, "--database-url", "sqlite:///folder.db"),
        refused(tmp_path, "--database-url", "sqlite:///notes.db"),
    )

    assert "folder.db" in folder.stderr
    assert "notes.db" in text.stderr
    assert notes.read_bytes() == before


async def test_the_schema_goes_up_with_the_node_and_down_and_up_by_command(tmp_path: Path) -> None:
    async def steps(*words: str) -> list[tuple[int, bool]]:
        ended = await run(tmp_path, "migrate", *words, "--json")
        assert ended.code == 0, ended.stderr
        return [(step["version"], step["applied_at"] is not None) for step in ended.answer["items"]]

    async with serving(tmp_path):
        known = await steps("status")
    assert known == [(version, True) for version in range(1, len(known) + 1)]
    assert len(known) >= 3
    assert await steps("down", "--yes", "--steps", str(len(known))) == [(version, False) for version, _ in known]
    assert await steps("up") == known
