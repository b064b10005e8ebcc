"""
PostgreSQL for tests: `postgres_url` is a new database with the schema, `empty_postgres_url` one without.

Both are on a server that the session starts when a test first asks, and gone after the test. A test
that is to run on other versions than the newest is parametrised by `postgres_version`; a test that stops,
pauses or floods a server has one to itself in `own_postgres`.

`postgres_access` is for suites of hundreds of tests that have several engines: one database for all of them,
emptied before each. With the program of a pgbouncer in `LOCAL_POOLER` it is reached through that one, in
transaction mode. `LOCAL_POSTGRES` names another server for them all (`deploy.local.postgres_programs`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

import asyncpg
import pytest

from deploy.local.postgres import NEWEST, LocalPostgres, throwaway_postgres
from deploy.local.postgres_programs import PostgresUnavailable
from tests.postgres.pooler import CHOICE as POOLER
from tests.postgres.pooler import a_pooler
from tocsin.adapters.postgres import migrate
from tocsin.adapters.postgres.connection import Access

PostgresServers = Callable[[int], LocalPostgres]

_NUMBERS = count(1)
_TEMPLATE = "migrated"
_POOLED_CONNECTIONS = 20

_SWEEP = """
SET lock_timeout = '10s';
SET session_replication_role = replica; -- so that no foreign key asks for an order
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'tocsin' AND tablename <> 'schema_migrations' LOOP
        EXECUTE format('DELETE FROM tocsin.%I', name);
    END LOOP;
END
$$
"""


def _await(work: Coroutine[Any, Any, object]) -> None:
    # In a thread of its own: a fixture may be asked for by an async one, where a loop runs already.
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, work).result()


def _execute(url: str, *statements: str) -> None:
    async def work() -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    _await(work())


@contextmanager
def _database(server: LocalPostgres, template: str) -> Iterator[str]:
    name = f"test_{next(_NUMBERS)}"
    _execute(server.url(), f"CREATE DATABASE {name} TEMPLATE {template}")
    yield server.url(name)
    _execute(server.url(), f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres_servers() -> Iterator[PostgresServers]:
    """The session's server of a major version, started when it is first asked for."""
    running: dict[int, LocalPostgres] = {}
    with ExitStack() as stack:

        def server(version: int) -> LocalPostgres:
            if version not in running:
                running[version] = _started(stack, version)
            return running[version]

        yield server


def _started(stack: ExitStack, version: int) -> LocalPostgres:
    """A machine that cannot run it skips the tests, except where that would go unnoticed."""
    try:
        return stack.enter_context(throwaway_postgres(version=version))
    except PostgresUnavailable as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def postgres_server(postgres_servers: PostgresServers) -> LocalPostgres:
    """The newest version; shared, so no test may stop it."""
    return postgres_servers(NEWEST)


@pytest.fixture(scope="session")
def migrated_postgres(postgres_servers: PostgresServers) -> Callable[[int], str]:
    """The name of a database with the schema, a template, on the server of a version."""
    migrated: set[int] = set()

    def template(version: int) -> str:
        if version not in migrated:
            server = postgres_servers(version)
            _execute(server.url(), f"CREATE DATABASE {_TEMPLATE}")
            _await(migrate.up(Access(url=server.url(_TEMPLATE))))
            migrated.add(version)
        return _TEMPLATE

    return template


@pytest.fixture
def postgres_version() -> int:
    """The major version of the test's database; to be parametrised over."""
    return NEWEST


@pytest.fixture
def empty_postgres_url(postgres_servers: PostgresServers, postgres_version: int) -> Iterator[str]:
    with _database(postgres_servers(postgres_version), "template1") as url:
        yield url


@pytest.fixture
def postgres_url(
    postgres_servers: PostgresServers, migrated_postgres: Callable[[int], str], postgres_version: int
) -> Iterator[str]:
    with _database(postgres_servers(postgres_version), migrated_postgres(postgres_version)) as url:
        yield url


@pytest.fixture(scope="session")
def _swept_postgres(
    postgres_server: LocalPostgres, migrated_postgres: Callable[[int], str]
) -> Iterator[tuple[str, Access]]:
    """Where the shared database is swept, and how it is used."""
    with ExitStack() as stack:
        url = stack.enter_context(_database(postgres_server, migrated_postgres(postgres_server.version)))
        if os.environ.get(POOLER):
            pooled = stack.enter_context(a_pooler(url, connections=_POOLED_CONNECTIONS))
            yield url, Access(url=pooled, pooler=True)
        else:
            yield url, Access(url=url)


@pytest.fixture
def postgres_access(_swept_postgres: tuple[str, Access]) -> Access:
    """The way to a database with the schema and no rows, for a test that leaves the schema alone."""
    url, access = _swept_postgres
    _execute(url, _SWEEP)
    return access


@pytest.fixture
def own_postgres(postgres_version: int) -> Iterator[LocalPostgres]:
    """A server for one test, which may do with it what it likes."""
    with ExitStack() as stack:
        yield _started(stack, postgres_version)
