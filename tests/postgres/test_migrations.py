from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.contracts.steps import TENANT, a_running_attempt, execution
from tests.makers import START, a_job, a_success, a_worker, decided, planner
from tests.postgres.nodes import a_connection
from tests.postgres.rows_in_every_state import fill
from tests.postgres.sessions import until_calls_wait_for_a_lock
from tocsin.adapters.postgres import Access, UnusableSchema, migrate, open_postgres
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus
from tocsin.domain.lifecycle import pause, resume
from tocsin.ports.queries import ExecutionFilter, JobFilter
from tocsin.ports.schema import MigrationStatus
from tocsin.ports.storage import Storage

NEWEST: Final = migrate.migrations()[-1].version
VERSIONS: Final = range(1, NEWEST + 1)
ROOT: Final = Path(__file__).parents[2]
LEASE: Final = timedelta(seconds=30)

NEXT_VERSION: Final = """
ALTER TABLE jobs ADD COLUMN colour text NOT NULL DEFAULT 'grey';
ALTER TABLE job_counters ADD COLUMN colour text NOT NULL DEFAULT 'grey';
ALTER TABLE executions ADD COLUMN colour text NOT NULL DEFAULT 'grey', ADD COLUMN shade integer;
ALTER TABLE workers ADD COLUMN colour text NOT NULL DEFAULT 'grey';
CREATE TABLE colours (colour text NOT NULL PRIMARY KEY);
CREATE INDEX executions_colour ON executions (colour);
INSERT INTO schema_migrations (version, name, checksum, compatible) VALUES (9999, 'colours', 'x', true);
"""

CLAIMED: Final = """
UPDATE executions
SET status = 'running', attempt = 1, worker_id = 'claimer', started_at = now(), lease_expires_at = now()
WHERE status = 'pending'"""
LEASED_IN_NO_CLAIM: Final = """
SELECT count(*) FROM executions AS e
WHERE lease_expires_at IS NOT NULL AND NOT EXISTS (SELECT FROM claims AS c WHERE e.id = ANY(c.execution_ids))"""

SLOW: Final = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE INSERT ON schema_migrations FOR EACH ROW EXECUTE FUNCTION slow();
"""
SHORT: Final = 0.5

STARTS: Final = """
import asyncio, sys
from tests.makers import a_job
from tocsin.adapters.postgres import Access, open_postgres

async def main():
    sys.stdin.readline()
    async with open_postgres(Access(url=sys.argv[1])) as storage:
        await storage.jobs.add(a_job())

asyncio.run(main())
"""


@pytest.fixture
def access(empty_postgres_url: str) -> Access:
    return Access(url=empty_postgres_url)


async def run(access: Access, statements: str) -> None:
    async with a_connection(access.url) as connection:
        await connection.execute(statements)


async def ask(access: Access, query: str) -> Any:  # noqa: ANN401 - whatever a test asks for
    async with a_connection(access.url) as connection:
        return await connection.fetchval(query)


async def tables(access: Access, schema: str = "tocsin") -> set[str]:
    async with a_connection(access.url) as connection:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1", schema)
    return {row["tablename"] for row in rows}


async def fill_up(access: Access) -> None:
    await migrate.up(access)
    async with a_connection(access.url) as connection:
        await fill(connection)


def versions(answer: Sequence[MigrationStatus]) -> list[int]:
    return [each.version for each in answer]


def taken(answer: Sequence[MigrationStatus]) -> list[bool]:
    return [each.applied_at is not None for each in answer]


def test_the_steps_are_numbered_without_a_gap() -> None:
    assert versions([each.taken(None) for each in migrate.migrations()]) == [*VERSIONS]


async def test_an_empty_database_has_no_step_and_asking_makes_none(access: Access) -> None:
    assert taken(await migrate.status(access)) == [False] * NEWEST
    assert await tables(access) == set()
    assert await ask(access, "SELECT to_regnamespace('tocsin')") is None


async def test_up_takes_every_step_once(access: Access) -> None:
    assert versions(await migrate.up(access)) == [*VERSIONS]
    assert versions(await migrate.up(access)) == []
    assert taken(await migrate.status(access)) == [True] * NEWEST


async def test_up_stops_where_it_is_told_to(access: Access) -> None:
    assert versions(await migrate.up(access, to=1)) == [1]
    assert taken(await migrate.status(access)) == [True] + [False] * (NEWEST - 1)
    assert versions(await migrate.up(access)) == [*VERSIONS[1:]]


@pytest.mark.parametrize("to", range(NEWEST + 1))
async def test_down_and_up_again_work_with_rows_in_every_state(access: Access, to: int) -> None:
    await fill_up(access)

    assert versions(await migrate.down(access, to)) == [*VERSIONS[to:]]
    assert versions(await migrate.up(access)) == [*VERSIONS[to:]]

    jobs = len(JobStatus)
    assert await ask(access, "SELECT count(*) FROM jobs") == (jobs if to >= 1 else 0)
    assert await ask(access, "SELECT count(*) FROM executions") == (jobs * len(ExecutionStatus) if to >= 2 else 0)


@pytest.mark.parametrize(
    ("found", "condition"),
    [
        ("SELECT execution_id FROM open_executions", "status IN ('pending', 'running')"),
        ("SELECT unnest(execution_ids) FROM claims", "lease_expires_at IS NOT NULL"),
        ("SELECT id FROM executions WHERE has_failed", "status IN ('failed', 'timeout')"),
    ],
)
async def test_what_is_open_leased_or_failed_is_found_after_the_step_that_moves_it(
    access: Access, found: str, condition: str
) -> None:
    await fill_up(access)
    await migrate.down(access, 5)

    await migrate.up(access)

    async with a_connection(access.url) as connection:
        rows = await connection.fetch(found)
        wanted = await connection.fetch(f"SELECT id FROM executions WHERE {condition}")  # noqa: S608 - of this file
    assert wanted
    assert sorted(row[0] for row in rows) == sorted(row[0] for row in wanted)


async def test_versions_that_do_not_repeat_their_definition_are_whole_again_after_the_way_down(
    access: Access, clock: ManualClock
) -> None:
    async with open_postgres(access, clock) as storage:
        job = await storage.jobs.add(a_job())
        for step in (pause, resume):
            await storage.jobs.change(TENANT, job.id, decided(step))
        versions = (await storage.jobs.versions(TENANT, job.id, limit=5)).items
    [narrow] = [step.version for step in migrate.migrations() if step.name == "narrow_versions"]

    await migrate.down(access, narrow - 1)

    async with a_connection(access.url) as connection:
        rows = await connection.fetch("SELECT before, after FROM job_versions ORDER BY version DESC")
    stored = [tuple(None if text is None else json.loads(text) for text in row.values()) for row in rows]
    assert stored == [(each.before, each.after) for each in versions]


async def test_the_step_that_narrows_versions_lets_whoever_changes_a_job_finish(access: Access) -> None:
    await fill_up(access)
    [narrow] = [step.version for step in migrate.migrations() if step.name == "narrow_versions"]
    await migrate.down(access, narrow - 1)
    async with a_connection(access.url) as changer, a_connection(access.url) as onlooker:
        async with changer.transaction():
            await changer.execute("UPDATE jobs SET updated_at = updated_at")
            step = asyncio.create_task(migrate.up(access))
            await until_calls_wait_for_a_lock(onlooker, 1)
            await changer.execute("UPDATE job_versions SET reason = reason")
        await step


async def test_the_step_that_moves_what_is_open_waits_for_whoever_claims(access: Access) -> None:
    await fill_up(access)
    await migrate.down(access, 5)
    async with a_connection(access.url) as claimer, a_connection(access.url) as onlooker:
        begun = claimer.transaction()
        await begun.start()
        await claimer.execute(CLAIMED)
        step = asyncio.create_task(migrate.up(access))
        await until_calls_wait_for_a_lock(onlooker, 1)
        await begun.commit()
        await step

        assert await onlooker.fetchval(LEASED_IN_NO_CLAIM) == 0
        assert await onlooker.fetchval("SELECT count(*) FROM claims WHERE worker_id = 'claimer'") == 1


async def test_down_leaves_nothing_of_what_a_step_made(access: Access) -> None:
    await fill_up(access)

    await migrate.down(access, 0)

    assert await tables(access) == {"schema_migrations"}
    assert await ask(access, "SELECT count(*) FROM pg_class WHERE relnamespace = 'tocsin'::regnamespace") == 2
    assert await ask(access, "SELECT count(*) FROM pg_proc WHERE pronamespace = 'tocsin'::regnamespace") == 0


async def test_a_step_that_fails_leaves_the_schema_as_it_was(access: Access) -> None:
    await migrate.up(access, to=1)
    await run(access, "CREATE TABLE workers ()")

    with pytest.raises(Exception, match="workers"):
        await migrate.up(access)

    assert taken(await migrate.status(access)) == [True] + [False] * (NEWEST - 1)
    assert "executions" not in await tables(access)


async def test_steps_may_take_longer_than_anybody_waits_for_a_lock(
    access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate.up(access, to=1)
    await run(access, SLOW)
    monkeypatch.setattr(migrate, "PATIENCE", SHORT)

    assert versions(await migrate.up(access)) == [*VERSIONS[1:]]


async def test_a_node_that_starts_leaves_long_steps_to_the_command(
    access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate.up(access, to=1)
    await run(access, SLOW)
    async with AsyncExitStack() as stack:
        with monkeypatch.context() as patience:
            patience.setattr(migrate, "PATIENCE", SHORT)
            with pytest.raises(StoreUnavailable, match="`tocsin migrate up` takes as long"):
                await stack.enter_async_context(open_postgres(access))

    assert taken(await migrate.status(access)) == [True] + [False] * (NEWEST - 1)


async def test_who_waits_in_vain_for_somebody_elses_step_gives_up(
    access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "PATIENCE", SHORT)
    async with a_connection(access.url) as other, other.transaction():
        await other.execute("SELECT pg_advisory_xact_lock($1)", migrate.LOCK)

        with pytest.raises(StoreUnavailable, match="in time"):
            await migrate.up(access)


async def test_opening_keeps_the_rows_of_a_schema_that_is_up_to_date(access: Access, clock: ManualClock) -> None:
    job = a_job()
    async with open_postgres(access, clock) as first:
        await first.jobs.add(job)

    async with open_postgres(access, clock) as second:
        assert await second.jobs.get(job.tenant_id, job.id) == job


async def test_ten_nodes_that_start_at_once_make_one_schema(access: Access) -> None:
    answers = await asyncio.gather(*(migrate.up(access) for _ in range(10)))

    assert sorted(map(len, answers)) == [0] * 9 + [NEWEST]
    assert await ask(access, "SELECT count(*) FROM schema_migrations") == NEWEST


async def test_processes_that_start_at_once_make_one_schema(access: Access) -> None:
    pipe = asyncio.subprocess.PIPE
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", STARTS, access.url), env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=pipe
        )
        for _ in range(3)
    ]
    await asyncio.gather(*(process.communicate(b"go\n") for process in processes))

    assert [process.returncode for process in processes] == [0, 0, 0]
    assert await ask(access, "SELECT count(*) FROM jobs") == 3
    assert await ask(access, "SELECT count(*) FROM schema_migrations") == NEWEST


async def test_a_schema_of_a_newer_version_that_does_not_allow_it_is_left_alone(access: Access) -> None:
    await migrate.up(access)
    await run(access, "INSERT INTO schema_migrations VALUES (9999, 'time_travel', 'x', now(), false)")

    for use in (migrate.up(access), migrate.status(access), migrate.down(access, 0)):
        with pytest.raises(UnusableSchema, match="newer version"):
            await use
    with pytest.raises(UnusableSchema, match="newer version"):
        async with open_postgres(access):
            pass
    assert "jobs" in await tables(access)


async def test_a_step_that_was_edited_after_it_was_taken_is_noticed(access: Access) -> None:
    await migrate.up(access)
    await run(access, "UPDATE schema_migrations SET checksum = 'another' WHERE version = 2")

    with pytest.raises(UnusableSchema, match="step 2_executions"):
        await migrate.up(access)


async def test_a_step_that_only_a_newer_version_knows_is_left_alone(access: Access) -> None:
    await migrate.up(access)
    await run(access, NEXT_VERSION)

    assert versions(await migrate.up(access)) == []
    assert [each.name for each in await migrate.status(access)][-1] == "colours"
    assert "colours" in await tables(access)


async def test_steps_below_one_that_only_a_newer_version_knows_cannot_be_undone(access: Access) -> None:
    await migrate.up(access)
    await run(access, NEXT_VERSION)

    with pytest.raises(UnusableSchema, match="newer version"):
        await migrate.down(access, 1)
    assert "workers" in await tables(access)


async def a_slice_of_the_protocol(storage: Storage, clock: ManualClock) -> None:
    """Have a job fire, run, and be paused and listed, and a worker tell of itself."""
    job = await storage.jobs.add(a_job(key=str(clock.now()), created_at=clock.now()))
    clock.advance(61)
    [dispatch] = (await storage.ledger.fire(planner, limit=10)).dispatches
    [attempt] = await storage.ledger.claim([dispatch.execution_id], worker_id="node-1")
    hold = (attempt.execution_id, attempt.attempt)
    assert await storage.ledger.renew({hold: LEASE}, worker_id="node-1") == []
    await storage.ledger.finish([a_success(attempt)])
    await storage.jobs.change(TENANT, job.id, decided(pause))
    await storage.workers.beat(a_worker())

    assert (await execution(storage, attempt.execution_id)).status is ExecutionStatus.SUCCESS
    assert (await storage.jobs.get(TENANT, job.id)).counters.success_count == 1
    assert job.id in [each.id for each in (await storage.jobs.list(TENANT, JobFilter())).items]
    listed = await storage.executions.list(TENANT, ExecutionFilter(job_id=job.id))
    assert [row.id for row in listed.items] == [attempt.execution_id]
    assert len((await storage.jobs.versions(TENANT, job.id, limit=5)).items) == 2
    assert len(await storage.workers.list()) == 1


async def test_this_version_works_on_the_schema_of_the_next(access: Access, clock: ManualClock) -> None:
    await migrate.up(access)
    await run(access, NEXT_VERSION)

    async with open_postgres(access, clock) as storage:
        await a_slice_of_the_protocol(storage, clock)


async def test_this_version_goes_on_while_the_next_takes_its_step(access: Access, clock: ManualClock) -> None:
    async with open_postgres(access, clock) as storage:
        for _ in range(2):
            await a_slice_of_the_protocol(storage, clock)
        await run(access, NEXT_VERSION)

        await a_slice_of_the_protocol(storage, clock)


async def test_the_tables_of_another_program_in_the_database_are_left_alone(access: Access, clock: ManualClock) -> None:
    await run(access, "CREATE TABLE public.jobs (title text); INSERT INTO public.jobs VALUES ('sweep the chimney')")
    async with open_postgres(access, clock) as storage:
        await a_running_attempt(storage)

        assert (await storage.jobs.list(TENANT, JobFilter())).total == 1

    await migrate.down(access, 0)
    assert await tables(access, "public") == {"jobs"}
    assert await ask(access, "SELECT title FROM public.jobs") == "sweep the chimney"


async def test_a_user_who_may_only_use_the_schema_can_bring_it_up(access: Access) -> None:
    await run(access, "CREATE ROLE tenant LOGIN; CREATE SCHEMA tocsin AUTHORIZATION tenant")
    try:
        theirs = Access(url=access.url.replace("tocsin@", "tenant@"))
        assert versions(await migrate.up(theirs)) == [*VERSIONS]
    finally:
        await run(access, "DROP SCHEMA tocsin CASCADE; DROP ROLE tenant")


async def test_the_clock_of_the_server_is_the_one_that_fires(access: Access) -> None:
    async with open_postgres(access) as storage:
        before = await ask(access, "SELECT now()")
        now = await storage.jobs.now()
        after = await ask(access, "SELECT now()")

    assert START < before <= now <= after
