from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

import tocsin.adapters.sqlite as adapter
from tocsin.adapters.sqlite.claiming import CLAIMABLE
from tocsin.adapters.sqlite.held_finishes import Held
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


@pytest.mark.parametrize(
    ("file", "name"), [("executions", "insert_execution"), ("ledger", "finish"), ("jobs", "advance")]
)
def test_what_is_written_for_each_execution_builds_no_list_to_check_it(
    stranger: sqlite3.Connection, file: str, name: str
) -> None:
    parameters: defaultdict[str, object] = defaultdict(lambda: None)

    steps = [step[1] for step in stranger.execute(f"EXPLAIN {statements(file)[name]}", parameters)]

    assert "OpenEphemeral" not in steps


@pytest.mark.parametrize("name", ["claim", "finish_well"])
def test_what_is_written_for_a_batch_builds_one_list_of_it_and_none_for_each_row(
    stranger: sqlite3.Connection, name: str
) -> None:
    parameters = defaultdict[str, object](lambda: None, taken="[]", ended="[]")

    steps = [step[1] for step in stranger.execute(f"EXPLAIN {statements('ledger')[name]}", parameters)]

    assert steps.count("OpenEphemeral") == 1
    assert steps.index("OpenEphemeral") < steps.index("VFilter")


@pytest.mark.parametrize(("name", "fields"), [("claimable", CLAIMABLE), ("held", Held._fields)])
def test_what_crosses_as_an_array_is_read_in_the_order_in_which_it_is_written(
    name: str, fields: tuple[str, ...]
) -> None:
    [_, body] = (SQL / "ledger.sql").read_text("utf-8").split(f"-- name: {name}\n")
    [_, array] = body.split("json_array(", 1)

    written = re.findall(r"(?:e\.|-- with: )?(\w+)[,\n]", array[: array.index(")")])

    # What a claim writes anew is not read.
    not_read = {"number": "rowid", "started_at": "NULL"}
    assert written == [not_read.get(each, each) for each in fields]


@pytest.mark.parametrize("name", ["undelivered", "ready"])
def test_no_look_at_a_backlog_sorts_it(stranger: sqlite3.Connection, name: str) -> None:
    assert [step for step in plan_of(stranger, statements("ledger")[name]) if "ORDER BY" in step] == []


def written_indexes(stranger: sqlite3.Connection, name: str, table: str = "jobs", file: str = "jobs") -> set[str]:
    parameters: defaultdict[str, object] = defaultdict(lambda: None, dict.fromkeys((*SETS, "taken", "ended"), "[]"))
    pages = dict(stranger.execute("SELECT rootpage, name FROM sqlite_schema WHERE tbl_name = ?", [table]))
    steps = list(stranger.execute(f"EXPLAIN {statements(file)[name]}", parameters))
    opened = {cursor: pages[page] for _, operation, cursor, page, *_ in steps if operation == "OpenWrite"}
    return {opened[cursor] for _, operation, cursor, *_ in steps if operation == "IdxInsert" and cursor in opened}


def test_a_fire_touches_no_index_of_jobs_but_that_of_when_they_are_due(stranger: sqlite3.Connection) -> None:
    assert written_indexes(stranger, "advance") == {"jobs_due"}


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("redispatch", set()),
        ("claim", {"executions_leased"}),
        ("finish_well", {"executions_leased", "executions_open"}),
    ],
)
def test_on_its_way_an_execution_leaves_the_indexes_of_the_history_alone(
    stranger: sqlite3.Connection, name: str, others: set[str]
) -> None:
    waiting = {"executions_ready", "executions_admitted"}

    assert written_indexes(stranger, name, "executions", "ledger") == waiting | others


def test_a_fire_reads_no_definition_to_write_how_far_its_job_is(stranger: sqlite3.Connection) -> None:
    parameters: defaultdict[str, object] = defaultdict(lambda: None)

    steps = stranger.execute(f"EXPLAIN {statements('jobs')['advance']}", parameters).fetchall()

    assert [step for step in steps if "json" in str(step[5])] == []


def test_the_end_of_a_job_leaves_the_indexes_alone_that_do_not_go_by_it(stranger: sqlite3.Connection) -> None:
    assert not {"jobs_of_tenant", "jobs_deleted"} & written_indexes(stranger, "save_standing")


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_statement_is_introduced_by_a_sentence(file: str, name: str) -> None:
    text = (SQL / f"{file}.sql").read_text("utf-8")

    assert re.search(rf"^-- name: {name}\n-- [A-Z].+(\n-- .+)*\.\n\S", text, re.MULTILINE)


def test_every_statement_is_used() -> None:
    code = "".join(path.read_text("utf-8") for path in SQL.parent.glob("*.py"))

    assert [name for _, name in NAMED if f'["{name}"]' not in code] == []


def test_every_part_is_used_and_stands_wherever_a_statement_names_it() -> None:
    text = "".join(path.read_text("utf-8") for path in SQL.glob("*.sql"))

    assert set(re.findall(r"-- part: (\w+)", text)) == set(re.findall(r"-- with: (\w+)", text))
    assert [name for file, name in NAMED if "-- with:" in statements(file)[name]] == []
