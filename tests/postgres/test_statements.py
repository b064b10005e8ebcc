from __future__ import annotations

import re
from pathlib import Path

import asyncpg
import pytest

import tocsin.adapters.postgres as adapter
from deploy.local.postgres import AVAILABLE_VERSIONS
from tocsin.adapters.postgres.connection import Access
from tocsin.adapters.postgres.statements import statements

SQL = Path(adapter.__file__).parent / "sql"
NAMED = [(file.stem, name) for file in sorted(SQL.glob("*.sql")) for name in statements(file.stem)]


@pytest.mark.parametrize("postgres_version", AVAILABLE_VERSIONS)
async def test_every_statement_is_prepared_by_the_server_with_every_parameter_named(postgres_url: str) -> None:
    connection = await Access(url=postgres_url).connect()
    refused = {}
    for file, name in NAMED:
        statement = statements(file)[name]
        try:
            prepared = await connection.prepare(statement.text)
        except asyncpg.PostgresError as error:
            refused[name] = str(error)
        else:
            assert len(prepared.get_parameters()) == len(statement.parameters), name
    await connection.close()

    assert len(NAMED) > 50
    assert refused == {}


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_statement_is_introduced_by_a_sentence(file: str, name: str) -> None:
    text = (SQL / f"{file}.sql").read_text("utf-8")

    assert re.search(rf"^-- name: {name}\n-- [A-Z].+(\n-- .+)*\.\n\S", text, re.MULTILINE)


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_no_parameter_is_told_by_its_place(file: str) -> None:
    assert not re.search(r"\$\d", (SQL / f"{file}.sql").read_text("utf-8"))


def test_every_statement_is_used() -> None:
    code = "".join(path.read_text("utf-8") for path in SQL.parent.glob("*.py"))

    assert [name for _, name in NAMED if f'"{name}"' not in code] == []


def test_a_part_stands_wherever_a_statement_names_it() -> None:
    ends = [statements("ledger")[name] for name in ("finish_well", "finish_last")]

    assert all("RETURNING e.id, e.job_id, e.duration_ms" in each.text for each in ends)
    assert [name for file, name in NAMED if "-- with:" in statements(file)[name].text] == []


def test_every_part_is_used() -> None:
    text = "".join(path.read_text("utf-8") for path in SQL.glob("*.sql"))

    assert set(re.findall(r"-- part: (\w+)", text)) == set(re.findall(r"-- with: (\w+)", text))
