from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.contracts.steps import an_idle_job, execution, trigger
from tests.makers import a_job, decided
from tests.sqlite.next_version import make_next_version
from tests.sqlite.rows_in_every_state import fill
from tocsin.adapters.sqlite import UnusableDatabase, migrate, open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus
from tocsin.domain.lifecycle import cancel, pause, resume
from tocsin.ports.storage import Storage

NEWEST = migrate.migrations()[-1].version


def tables(path: Path) -> set[str]:
    # But for those of the engine itself, which nobody can drop.
    ours = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute(ours)}


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        [total] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - a test names it
        return int(total)


def rows(path: Path, table: str) -> list[dict[str, object]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3")  # noqa: S608 - a test names it
        return [dict(row) for row in found]


def run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def versions(answer: object) -> list[int]:
    assert isinstance(answer, list)
    return [each.version for each in answer]


def test_the_steps_are_numbered_without_a_gap() -> None:
    assert [each.version for each in migrate.migrations()] == list(range(1, NEWEST + 1))


def test_a_missing_file_has_no_step_and_is_not_made(path: Path) -> None:
    assert [each.applied_at for each in migrate.status(path)] == [None] * NEWEST
    assert not path.exists()


def test_up_takes_every_step_once(path: Path) -> None:
    assert versions(migrate.up(path)) == list(range(1, NEWEST + 1))
    assert versions(migrate.up(path)) == []
    assert all(each.applied_at is not None for each in migrate.status(path))


def test_up_stops_where_it_is_told_to(path: Path) -> None:
    assert versions(migrate.up(path, to=1)) == [1]
    assert [each.applied_at is not None for each in migrate.status(path)] == [True] + [False] * (NEWEST - 1)


@pytest.mark.parametrize("to", range(NEWEST + 1))
def test_down_and_up_again_work_with_rows_in_every_state(path: Path, to: int) -> None:
    migrate.up(path)
    fill(path)

    assert versions(migrate.down(path, to)) == list(range(to + 1, NEWEST + 1))
    assert versions(migrate.up(path)) == list(range(to + 1, NEWEST + 1))

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    jobs = len(JobStatus)
    assert count(path, "jobs") == (jobs if to >= 1 else 0)
    assert count(path, "executions") == (jobs * len(ExecutionStatus) if to >= 2 else 0)


async def test_versions_that_do_not_repeat_their_definition_are_whole_again_after_the_way_down(
    path: Path, clock: ManualClock
) -> None:
    async with open_sqlite(path, clock) as storage:
        job = await storage.jobs.add(a_job(metadata={"n": 1.0, "a": None}))
        for step in (pause, resume):
            await storage.jobs.change(job.tenant_id, job.id, decided(step))
        versions = (await storage.jobs.versions(job.tenant_id, job.id, limit=5)).items
    [narrow] = [step.version for step in migrate.migrations() if step.name == "narrow_versions"]

    migrate.down(path, narrow - 1)

    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT before, after FROM job_versions ORDER BY version DESC").fetchall()
    stored = [tuple(None if text is None else json.loads(text) for text in row) for row in rows]
    assert stored == [(each.before, each.after) for each in versions]


async def test_versions_that_are_damaged_keep_no_other_from_the_way_down(path: Path, clock: ManualClock) -> None:
    async with open_sqlite(path, clock) as storage:
        sound, *damaged = [await storage.jobs.add(a_job()) for _ in range(5)]
        for job in (sound, *damaged):
            for step in (pause, resume):
                await storage.jobs.change(job.tenant_id, job.id, decided(step))
        versions = (await storage.jobs.versions(sound.tenant_id, sound.id, limit=5)).items
    text, truth, list_, none = (str(job.id) for job in damaged)
    with closing(sqlite3.connect(path)) as connection, connection:
        for job_id, version, after in (
            (text, 1, '{"definition": "text"}'),
            (truth, 3, '{"status": "active", "deleted": 0}'),
            (list_, 3, "[]"),
            (none, 1, '{"status": null}'),
        ):
            connection.execute(
                "UPDATE job_versions SET after = ? WHERE job_id = ? AND version = ?", (after, job_id, version)
            )
    [narrow] = [step.version for step in migrate.migrations() if step.name == "narrow_versions"]

    migrate.down(path, narrow - 1)

    stored = {(row["job_id"], row["version"]): json.loads(str(row["after"])) for row in rows(path, "job_versions")}
    assert [stored[str(sound.id), each.version] for each in versions] == [each.after for each in versions]
    whole = stored[str(sound.id), 3]
    assert stored[text, 3] == {**whole, "definition": "text"}
    assert stored[truth, 3] == {**whole, "deleted": 0, "definition": stored[truth, 1]["definition"]}
    assert stored[list_, 3] == []
    assert stored[none, 3] == {**whole, "definition": None}


async def test_what_waits_with_an_end_that_a_stranger_gave_it_is_still_cancelled_with_its_job(
    path: Path, clock: ManualClock
) -> None:
    async with open_sqlite(path, clock) as storage:
        job = await an_idle_job(storage)
        [waiting] = await trigger(storage, job, 1)
    [step] = [step.version for step in migrate.migrations() if step.name == "open_executions"]
    migrate.down(path, step - 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE executions SET completed_at = 1")

    async with open_sqlite(path, clock) as storage:
        await storage.jobs.change(job.tenant_id, job.id, decided(cancel))
        row = await execution(storage, waiting.id)

    assert row.status is ExecutionStatus.CANCELLED


def test_down_leaves_nothing_of_what_a_step_made(path: Path) -> None:
    migrate.up(path)
    fill(path)

    migrate.down(path, 0)

    assert tables(path) == {"schema_migrations"}


async def test_opening_keeps_the_rows_of_a_file_that_is_up_to_date(path: Path, clock: ManualClock) -> None:
    job = a_job()
    async with open_sqlite(path, clock) as first:
        await first.jobs.add(job)

    async with open_sqlite(path, clock) as second:
        assert await second.jobs.get(job.tenant_id, job.id) == job


async def test_nodes_that_start_at_once_make_one_schema(path: Path, clock: ManualClock) -> None:
    async def start() -> None:
        async with open_sqlite(path, clock, busy_timeout=30) as storage:
            await storage.jobs.add(a_job())

    await asyncio.gather(*(start() for _ in range(4)))

    assert count(path, "jobs") == 4
    assert count(path, "schema_migrations") == NEWEST


def test_a_schema_of_a_newer_version_that_does_not_allow_it_is_left_alone(path: Path) -> None:
    migrate.up(path)
    run(path, "INSERT INTO schema_migrations VALUES (9999, 'time_travel', 'x', 0, 0)")

    for use in (migrate.up, migrate.status, lambda path: migrate.down(path, 0)):
        with pytest.raises(UnusableDatabase, match="newer version"):
            use(path)
    assert "jobs" in tables(path)


def test_a_step_that_was_edited_after_it_was_taken_is_noticed(path: Path) -> None:
    migrate.up(path)
    run(path, "UPDATE schema_migrations SET checksum = 'another' WHERE version = 2")

    with pytest.raises(UnusableDatabase, match="step 2_executions"):
        migrate.up(path)


def test_a_step_that_only_a_newer_version_knows_is_left_alone(path: Path) -> None:
    make_next_version(path)

    assert versions(migrate.up(path)) == []
    assert [each.name for each in migrate.status(path)][-1] == "colours"
    assert "colours" in tables(path)


def test_steps_below_one_that_only_a_newer_version_knows_cannot_be_undone(path: Path) -> None:
    make_next_version(path)

    with pytest.raises(UnusableDatabase, match="newer version"):
        migrate.down(path, 1)
    assert "workers" in tables(path)


def test_a_file_from_before_steps_said_whether_they_are_compatible_goes_on(path: Path) -> None:
    migrate.up(path, to=3)
    run(path, "ALTER TABLE schema_migrations DROP COLUMN compatible")

    assert [each.applied_at is not None for each in migrate.status(path)] == [True] * 3 + [False] * (NEWEST - 3)
    assert versions(migrate.up(path)) == list(range(4, NEWEST + 1))
    assert [each.compatible for each in migrate.status(path)] == [each.compatible for each in migrate.migrations()]


def test_a_newer_step_that_says_nothing_about_itself_is_not_trusted(path: Path) -> None:
    migrate.up(path)
    run(path, "INSERT INTO schema_migrations VALUES (9999, 'time_travel', 'x', 0, 1)")
    run(path, "ALTER TABLE schema_migrations DROP COLUMN compatible")

    with pytest.raises(UnusableDatabase, match="newer version"):
        migrate.up(path)


def test_a_drained_worker_is_draining_to_the_version_before(path: Path) -> None:
    migrate.up(path)
    fill(path)

    migrate.down(path, 4)

    with closing(sqlite3.connect(path)) as connection:
        shown = dict(connection.execute("SELECT id, status FROM workers"))
    assert shown["drained"] == "draining"


def test_executions_and_their_logs_are_the_same_whichever_checks_they_are_held_against(path: Path) -> None:
    migrate.up(path)
    fill(path)
    before = {table: rows(path, table) for table in ("executions", "execution_logs")}

    migrate.down(path, 8)
    assert {table: rows(path, table) for table in before} == before
    migrate.up(path)

    assert {table: rows(path, table) for table in before} == before
    assert all(before.values())


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize(("column", "value"), [("status", "lost"), ("origin", "moon"), ("holds_slot", "2")])
def test_what_no_execution_may_be_is_refused_by_the_table(path: Path, version: int, column: str, value: str) -> None:
    migrate.up(path)
    fill(path)
    migrate.down(path, version)

    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        run(path, f"UPDATE executions SET {column} = '{value}'")  # noqa: S608 - a test names it


@pytest.mark.parametrize("version", [8, 9])
def test_logs_go_with_their_executions_whichever_checks_those_are_held_against(path: Path, version: int) -> None:
    migrate.up(path)
    fill(path)
    migrate.down(path, version)

    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM executions")

    assert count(path, "execution_logs") == 0


def test_the_database_of_another_program_is_left_alone(path: Path) -> None:
    run(path, "CREATE TABLE songs (title TEXT)")

    with pytest.raises(UnusableDatabase, match="another program"):
        migrate.up(path)
    assert tables(path) == {"songs"}


def test_down_waits_for_no_one_that_writes_for_ever(
    storage: Storage, path: Path, stranger: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    del storage
    monkeypatch.setattr(migrate, "_BUSY_TIMEOUT", 0.1)
    stranger.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailable, match="locked"):
        migrate.down(path, 0)
