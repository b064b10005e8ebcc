"""
What the hot statements read in large tables, and while nobody may clear away what is gone.

As it stands this fills 100,000 jobs and as many executions on each version; with TOCSIN_TEST_ROWS=1000000 in the
environment a million of each, which takes about half a minute a version.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

import asyncpg
import pytest

from deploy.local.postgres import AVAILABLE_VERSIONS
from tests.postgres_server import PostgresServers
from tocsin.adapters.postgres import Access
from tocsin.adapters.postgres.connection import SCHEMA
from tocsin.adapters.postgres.frontier import DUE_MARGIN
from tocsin.adapters.postgres.statements import statements
from tocsin.domain.firing import LOOK_AHEAD

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

ROWS: Final = int(os.environ.get("TOCSIN_TEST_ROWS", "100000"))
GONE: Final = 20_000
BATCH: Final = 50
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
NOW: Final = START + timedelta(seconds=GONE + 1000)
MINUTE: Final = timedelta(minutes=1)
IDS: Final = [UUID(f"01900000-0000-7000-9000-{GONE + n * 100:012x}") for n in range(1, BATCH + 1)]
EVER: Final = datetime.min.replace(tzinfo=UTC)
# A row is found by an index and locked; a row written anew has an entry in each index that its state belongs in.
A_ROW_READ: Final = 10
A_ROW_WRITTEN: Final = 60

# One job a second, each with one execution; one in a hundred of these waits to be claimed since the statistics were
# made, by which none does.
FILL: Final = (
    "SET session_replication_role = replica",
    f"""
INSERT INTO jobs (id, tenant_id, status, next_run, exhausted, created_at, updated_at, version, definition)
SELECT
    ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'default', 'active',
    timestamptz '2026-01-01Z' + n * interval '1 second', false, '2026-01-01Z', '2026-01-01Z', 1,
    '{{"name": "report", "type": "interval", "handler_name": "report", "handler_type": "function"}}'
FROM generate_series(1, {ROWS}) AS n""",  # noqa: S608 - numbers of this file
    f"""
INSERT INTO executions (
    id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, available_at,
    dispatched_at, attempt, failures, max_retries, holds_slot, past_attempts, metadata
)
SELECT
    ('01900000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid,
    ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, 'default',
    'success', 'schedule', at, at, 50, at, at, 0, 0, 3, false, '[]', '{{}}'
FROM generate_series(1, {ROWS}) AS n, LATERAL (SELECT timestamptz '2025-01-01Z' + n * interval '1 second') AS a (at)
""",  # noqa: S608 - numbers of this file
    "VACUUM ANALYZE jobs",
    "VACUUM ANALYZE executions",
    """
WITH waiting AS (
    UPDATE executions SET status = 'pending', holds_slot = true WHERE extract(epoch FROM scheduled_at)::bigint % 100 = 0
    RETURNING id, job_id, dispatched_at
)

INSERT INTO open_executions (execution_id, job_id, dispatched_at) SELECT id, job_id, dispatched_at FROM waiting""",
)

# What fires, claims and finishes leave behind, in tables whose statistics know nothing of it.
FIRED: Final = f"next_run <= timestamptz '2026-01-01Z' + {GONE} * interval '1 second'"
RUN: Final = f"scheduled_at <= timestamptz '2025-01-01Z' + {GONE} * interval '1 second'"
WEAR: Final = (
    f"UPDATE jobs SET next_run = next_run + interval '1 year' WHERE {FIRED}",  # noqa: S608 - conditions of this file
    f"""
WITH pending AS (UPDATE executions SET status = 'pending' WHERE {RUN} RETURNING id, job_id, dispatched_at)

INSERT INTO open_executions (execution_id, job_id, dispatched_at) SELECT id, job_id, dispatched_at FROM pending
ON CONFLICT DO NOTHING""",  # noqa: S608 - as above
    f"""
WITH running AS (
    UPDATE executions SET status = 'running', started_at = dispatched_at, lease_expires_at = '2027-01-01Z'
    WHERE {RUN}
    RETURNING id, started_at
)

INSERT INTO claims (id, worker_id, claimed_at, execution_ids) SELECT id, 'node', started_at, ARRAY[id] FROM running""",  # noqa: S608 - as above
    f"""
WITH ended AS (UPDATE executions SET status = 'success', lease_expires_at = NULL WHERE {RUN} RETURNING id)

DELETE FROM open_executions WHERE execution_id IN (SELECT id FROM ended)""",  # noqa: S608 - as above
    "DELETE FROM claims",
)


@pytest.fixture(scope="session")
def filled_postgres(
    postgres_servers: PostgresServers, migrated_postgres: Callable[[int], str]
) -> Callable[[int], Awaitable[str]]:
    """The address of the filled database of a version, filled when it is first asked for."""
    filled: dict[int, str] = {}

    async def url(version: int) -> str:
        if version not in filled:
            server, template = postgres_servers(version), migrated_postgres(version)
            await run(server.url(), f"CREATE DATABASE filled TEMPLATE {template}")
            await run(server.url("filled"), *FILL)
            filled[version] = server.url("filled")
        return filled[version]

    return url


async def run(url: str, *texts: str) -> None:
    connection = await asyncpg.connect(url, server_settings={"search_path": SCHEMA})
    for text in texts:
        await connection.execute(text)
    await connection.close()


@pytest.fixture(params=AVAILABLE_VERSIONS)
async def url(request: pytest.FixtureRequest, filled_postgres: Callable[[int], Awaitable[str]]) -> str:
    return await filled_postgres(request.param)


@pytest.fixture
async def filled(url: str) -> AsyncIterator[Connection]:
    """A session as the adapter's are."""
    connection = await Access(url=url, deadline=60).connect()
    yield connection
    await connection.close()


async def buffers(connection: Connection, file: str, name: str, **parameters: object) -> int:
    """Run a statement, undo it, and tell how many pages it read, each time that it did."""
    statement = statements(file)[name]
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.text}"
    begun = connection.transaction()
    await begun.start()
    [explained] = json.loads(await connection.fetchval(explain, *statement.arguments(parameters)))
    await begun.rollback()
    return int(explained["Plan"]["Shared Hit Blocks"]) + int(explained["Plan"]["Shared Read Blocks"])


async def claimed(connection: Connection) -> int:
    worker = {"worker_id": "node", "lock_timeout_seconds": 60, "look_ahead": LOOK_AHEAD}
    worker |= {"claim_id": IDS[0], "settled": []}
    return await buffers(connection, "ledger", "claim", ids=IDS, now=NOW, is_told=False, **worker)


async def found_due(connection: Connection, since: datetime) -> int:
    looked = await buffers(connection, "jobs", "lock_due_jobs", since=since, until=NOW, limit=BATCH)
    return looked + await buffers(connection, "jobs", "next_due", since=since)


async def found_undelivered(connection: Connection, since: datetime) -> int:
    parameters = {"capabilities": ["function/report"], "grace": timedelta(), "now": NOW, "limit": BATCH}
    beginning = {"after_at": since, "after_id": UUID(int=0)}
    looked = await buffers(connection, "ledger", "undelivered", **parameters, **beginning)
    return looked + await buffers(connection, "ledger", "first_dispatched", since=since)


async def found_lapsed(connection: Connection, since: datetime) -> int:
    parameters = {"now": NOW, "limit": BATCH, "lock_timeout_seconds": 60, "look_ahead": LOOK_AHEAD}
    looked = await buffers(connection, "ledger", "lapsed", since=since, **parameters)
    return looked + await buffers(connection, "ledger", "first_claimed", since=since)


async def test_a_claim_reads_no_more_than_it_takes(filled: Connection) -> None:
    assert BATCH * 2 < await claimed(filled) < BATCH * A_ROW_WRITTEN


async def test_the_timer_reads_no_more_than_it_locks(filled: Connection) -> None:
    assert BATCH < await found_due(filled, EVER) < BATCH * A_ROW_READ


@pytest.mark.parametrize(
    ("file", "name", "parameters"),
    [
        ("ledger", "renew", {"attempts": [1] * BATCH, "leases": [MINUTE] * BATCH, "now": NOW, "worker_id": "node"}),
        ("ledger", "redispatch", {"dispatched_at": [START] * BATCH, "now": NOW}),
        ("ledger", "expired", {"now": NOW, "look_ahead": LOOK_AHEAD}),
        ("ledger", "still_running", {}),
        ("ledger", "lock_accounts", {"types_at_stake": ["one_time"], "locked": []}),
        ("ledger", "lock_held", {}),
        ("ledger", "lock_unreleased", {}),
        ("ledger", "lock_reported", {}),
        ("executions", "dispatches", {}),
    ],
)
async def test_what_is_told_by_its_id_is_read_by_its_id(
    filled: Connection, file: str, name: str, parameters: dict[str, object]
) -> None:
    assert await buffers(filled, file, name, ids=IDS, **parameters) < BATCH * A_ROW_READ * 2


async def test_the_sweeper_reads_no_more_than_it_lists(filled: Connection) -> None:
    assert BATCH < await found_undelivered(filled, EVER) < BATCH * A_ROW_READ * 2
    assert await buffers(filled, "ledger", "mark_ready", now=NOW, limit=BATCH) < A_ROW_READ
    assert await buffers(filled, "ledger", "next_available") < A_ROW_READ


@pytest.fixture
async def worn(url: str, filled: Connection) -> AsyncIterator[Connection]:
    """The same while a backup looks at how it all stood before much was fired and run."""
    backup = await asyncpg.connect(url)
    await backup.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
    await run(url, *WEAR)
    yield filled
    await backup.close()


async def test_while_nobody_may_clear_away_what_is_gone_claims_and_fires_read_no_more(worn: Connection) -> None:
    assert BATCH * 2 < await claimed(worn) < BATCH * A_ROW_WRITTEN
    assert await found_due(worn, EVER) > BATCH * A_ROW_READ
    assert BATCH < await found_due(worn, NOW - DUE_MARGIN) < BATCH * A_ROW_READ


@pytest.mark.parametrize("look", [found_undelivered, found_lapsed])
async def test_nor_does_the_sweeper_look_through_all_that_was_run(
    worn: Connection, look: Callable[[Connection, datetime], Awaitable[int]]
) -> None:
    # The last that was run was dispatched, and started, at the beginning of 2025 and GONE seconds.
    last = START.replace(year=2025) + timedelta(seconds=GONE)

    assert await look(worn, EVER) > BATCH * A_ROW_READ * 2
    assert await look(worn, last) < BATCH * A_ROW_READ
