from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

import tocsin.adapters.sqlite as adapter
from tocsin.adapters.sqlite.statements import statements

SQL = Path(adapter.__file__).parent / "sql"
NAMED = [(file.stem, name) for file in sorted(SQL.glob("*.sql")) for name in statements(file.stem)]
SETS = ("ids", "holds", "seen", "nominals", "vacancies", "floors", "events", "keys", "cancels", "job_ids")
LARGE = "e|j|g|f|jobs|executions|execution_logs|workers|events|event_flows|event_gatherings|outbox"

# These add up whatever there is, so they read whatever there is.
READS_ALL = {
    ("figures", "jobs_by_status"),
    ("ledger", "removable"),
    ("workers", "workers"),
    ("workers", "forget"),
    ("workers", "bury"),
}


def plan_of(connection: sqlite3.Connection, statement: str) -> list[str]:
    parameters: defaultdict[str, object] = defaultdict(lambda: None, dict.fromkeys(SETS, "[]"))
    return [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_statement_is_prepared_by_the_engine(stranger: sqlite3.Connection, file: str, name: str) -> None:
    parameters: defaultdict[str, object] = defaultdict(lambda: None, dict.fromkeys(SETS, "[]"))

    assert stranger.execute(f"EXPLAIN {statements(file)[name]}", parameters).fetchall()


@pytest.mark.parametrize(("file", "name"), [each for each in NAMED if each not in READS_ALL])
def test_no_statement_walks_through_a_whole_table(stranger: sqlite3.Connection, file: str, name: str) -> None:
    scans = re.compile(rf"SCAN ({LARGE})( USING (COVERING )?INDEX (?P<index>\w+))?$")
    partial = {"jobs_due", "jobs_deleted", "executions_open", "executions_admitted", "executions_leased"}
    in_order = {"event_gatherings_due"}

    found = [match["index"] for step in plan_of(stranger, statements(file)[name]) if (match := scans.match(step))]

    assert set(found) <= partial | in_order


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_statement_is_introduced_by_a_sentence(file: str, name: str) -> None:
    text = (SQL / f"{file}.sql").read_text("utf-8")

    assert re.search(rf"^-- name: {name}\n-- [A-Z].+(\n-- .+)*\.\n\S", text, re.MULTILINE)


def test_every_statement_is_used() -> None:
    code = "".join(path.read_text("utf-8") for path in SQL.parent.glob("*.py"))

    assert [name for _, name in NAMED if f'["{name}"]' not in code] == []
