from __future__ import annotations

import asyncio
import socket
import traceback
from collections.abc import AsyncIterator, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from deploy.local.postgres import LocalPostgres
from tests.contracts.steps import TENANT
from tests.makers import a_job, a_worker, an_event_job, decided, triggered
from tests.postgres.nodes import a_connection
from tests.postgres.pooler import a_pooler
from tests.postgres.sessions import COUNT, CUT, until_calls_wait_for_a_lock
from tocsin.adapters.postgres import Access, Database, Unreachable, open_postgres
from tocsin.adapters.postgres.connection import TOO_LATE
from tocsin.adapters.postgres.jobs import PostgresJobs
from tocsin.adapters.postgres.statements import statements
from tocsin.adapters.postgres.transaction import Transaction
from tocsin.domain.errors import InvalidInput, JobNotFound, StoreUnavailable
from tocsin.domain.job import ScheduledJob
from tocsin.domain.lifecycle import pause
from tocsin.domain.months import days_of
from tocsin.ports.queries import JobFilter
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    import asyncpg

    Connection = asyncpg.Connection[asyncpg.Record]

NOW: Final = statements("jobs")["now"]
SECRET: Final = "correct-horse"  # noqa: S105 - nobody's, which no message may repeat
SHORT: Final = 0.5


@pytest.fixture
async def job(storage: Storage) -> ScheduledJob:
    return await storage.jobs.add(an_event_job())


@pytest.fixture
async def hasty(access: Access) -> AsyncIterator[Storage]:
    """A store that gives up soon."""
    async with open_postgres(Access(url=access.url, deadline=SHORT)) as opened:
        yield opened


def demand_password(server: LocalPostgres, role: str) -> None:
    rules: Path = server.folder / "data" / "pg_hba.conf"
    rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{rules.read_text('utf-8')}", "utf-8")
    server.restart()


async def test_connections_that_are_cut_between_calls_are_replaced(
    storage: Storage, job: ScheduledJob, stranger: Connection
) -> None:
    await asyncio.gather(*(storage.jobs.get(TENANT, job.id) for _ in range(5)))
    await stranger.fetch(CUT)

    answers = await asyncio.gather(*(storage.jobs.get(TENANT, job.id) for _ in range(5)))

    assert answers == [job] * 5


async def test_a_connection_that_is_cut_in_a_transaction_undoes_it_and_the_next_call_works(
    database: Database, stranger: Connection
) -> None:
    first, second = an_event_job(), an_event_job()
    jobs = PostgresJobs(database)

    async def work(transaction: Transaction) -> None:
        await transaction.connection.execute("CREATE TABLE traces ()")
        await stranger.fetch(CUT)
        await transaction.rows(NOW, now=None)

    with pytest.raises(StoreUnavailable, match="out of reach"):
        await database.write(work)

    assert await jobs.add(first) == first
    assert await jobs.add(second) == second
    assert await stranger.fetchval("SELECT to_regclass('traces')") is None


@pytest.mark.parametrize("stop", [LocalPostgres.stop, LocalPostgres.stop_immediately])
async def test_a_server_that_was_restarted_is_found_again(own_postgres: LocalPostgres, stop: Any) -> None:  # noqa: ANN401 - a method
    async with open_postgres(Access(url=own_postgres.url())) as storage:
        job = await storage.jobs.add(an_event_job())
        stop(own_postgres)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="out of reach"):
                await storage.jobs.get(TENANT, job.id)
            with pytest.raises(StoreUnavailable, match="out of reach"):
                await storage.jobs.change(TENANT, job.id, triggered())
        own_postgres.start()

        assert await storage.jobs.get(TENANT, job.id) == job
        assert (await storage.jobs.change(TENANT, job.id, triggered())).execution is not None


async def test_a_server_that_hangs_is_given_up_in_time_and_found_again(own_postgres: LocalPostgres) -> None:
    async with open_postgres(Access(url=own_postgres.url(), deadline=SHORT, connections=2)) as storage:
        job = await storage.jobs.add(an_event_job())
        own_postgres.pause()
        try:
            calls = [storage.jobs.get(TENANT, job.id), storage.jobs.add(a_job()), storage.executions.queue(None)]
            async with asyncio.timeout(30):
                answers = await asyncio.gather(*calls, storage.jobs.list(TENANT, JobFilter()), return_exceptions=True)
        finally:
            own_postgres.resume()

        assert [(type(answer), str(answer)) for answer in answers] == [(StoreUnavailable, TOO_LATE)] * 4
        assert await storage.jobs.get(TENANT, job.id) == job
        assert (await storage.jobs.list(TENANT, JobFilter())).total == 1


async def test_a_store_is_closed_in_time_while_its_server_hangs(own_postgres: LocalPostgres) -> None:
    try:
        async with asyncio.timeout(30):
            async with open_postgres(Access(url=own_postgres.url(), deadline=SHORT)) as storage:
                await storage.jobs.now()
                own_postgres.pause()
    finally:
        own_postgres.resume()


async def test_no_more_connections_are_made_than_allowed_and_requests_make_half_of_them(
    access: Access, stranger: Connection
) -> None:
    database = Database(Access(url=access.url, connections=4))
    await database.open()
    jobs = PostgresJobs(database)
    seen: list[int] = []
    in_turn = asyncio.Lock()

    async def call() -> None:
        await jobs.add(an_event_job())
        async with in_turn:
            seen.append(await stranger.fetchval(COUNT))

    await asyncio.gather(*(call() for _ in range(50)))
    await database.close()

    assert max(seen) == 2
    assert await stranger.fetchval("SELECT count(*) FROM jobs") == 50


async def test_a_heartbeat_does_not_wait_for_reports(access: Access, stranger: Connection) -> None:
    async with open_postgres(Access(url=access.url, connections=4)) as storage:
        await stranger.execute("BEGIN; LOCK TABLE jobs")
        nobody, days = uuid4(), days_of("2026-01", ZoneInfo("UTC"))
        calls: list[Coroutine[Any, Any, object]] = [
            *(storage.executions.queue(None) for _ in range(2)),
            *(storage.overviews.outcomes(TENANT, [nobody], limit=1) for _ in range(2)),
            *(storage.overviews.daily(TENANT, nobody, days, at_most=1) for _ in range(2)),
            *(storage.jobs.ids(TENANT, JobFilter(), at_most=1) for _ in range(2)),
        ]
        reports = [asyncio.ensure_future(call) for call in calls]
        await until_calls_wait_for_a_lock(stranger, 2)

        assert (await storage.workers.beat(a_worker())).status == "live"
        assert await storage.ledger.stopped([]) == []
        assert not any(report.done() for report in reports)
        await stranger.execute("ROLLBACK")
        await asyncio.gather(*reports)


async def test_a_closed_store_says_so(access: Access) -> None:
    async with open_postgres(access) as storage:
        pass

    with pytest.raises(StoreUnavailable, match="closed"):
        await storage.jobs.now()


async def refusal_of(url: str) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as refusal:
        async with open_postgres(Access(url=url, deadline=5)):
            pass
    return refusal.value


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://me:{secret}@127.0.0.1:1/tocsin", "127.0.0.1:1: connection refused"),
        ("postgresql://me:{secret}@127.0.0.1:1,127.0.0.1:2/tocsin", "127.0.0.1:1, 127.0.0.1:2: connection refused"),
        ("postgresql:///tocsin?host=127.0.0.1&port=1&user=me&password={secret}", "127.0.0.1:1: connection refused"),
        ("postgresql://me:{secret}@no-such-host.invalid/tocsin", "no-such-host.invalid:5432: no such host"),
    ],
)
async def test_a_server_that_cannot_be_reached_is_named_without_the_password(url: str, reason: str) -> None:
    refusal = await refusal_of(url.format(secret=SECRET))

    assert isinstance(refusal, Unreachable)
    assert str(refusal) == f"the database is out of reach ({reason})"


async def test_a_server_that_does_not_answer_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Unreachable) as refusal:
            await Access(url=f"postgresql://me:{SECRET}@127.0.0.1:{port}/x", deadline=SHORT).connect()

    assert str(refusal.value) == f"{TOO_LATE} (127.0.0.1:{port})"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:{secret}@127.0.0.1/tocsin",
        "postgresql://me:{secret}@127.0.0.1:port/tocsin",
        "postgresql://me:{secret}@127.0.0.1:99999/tocsin",
        "postgresql://me:{secret}/x@127.0.0.1/tocsin",
        "postgresql://me:{secret}@[::1/tocsin",
    ],
)
async def test_a_url_that_cannot_be_read_is_refused_by_name_without_the_password(url: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        async with open_postgres(Access(url=url.format(secret=SECRET))):
            pass

    assert [error.field for error in refusal.value.errors] == ["database_url"]
    assert SECRET not in "".join(traceback.format_exception(refusal.value))


async def test_a_pooler_that_was_not_told_of_is_recognised(own_postgres: LocalPostgres) -> None:
    with a_pooler(own_postgres.url(), connections=2) as url:
        refusal = await refusal_of(url)

    assert "TOCSIN_DATABASE_POOLER=true" in str(refusal)
    assert not isinstance(refusal, Unreachable)


async def test_a_database_that_does_not_exist_is_told(access: Access) -> None:
    server, _, _ = access.url.rpartition("/")

    assert str(await refusal_of(f"{server}/missing")).startswith("the server has no such database (")


async def test_a_wrong_password_is_told_without_it(own_postgres: LocalPostgres) -> None:
    async with a_connection(own_postgres.url()) as stranger:
        await stranger.execute("CREATE ROLE locked SUPERUSER LOGIN PASSWORD 'another'")
    demand_password(own_postgres, "locked")

    for login in (f"locked:{SECRET}", "locked", f"nobody:{SECRET}"):
        refusal = await refusal_of(own_postgres.url().replace("tocsin@", f"{login}@"))
        assert str(refusal) == f"the database refused the user name or password (127.0.0.1:{own_postgres.port})"
        assert not isinstance(refusal, Unreachable)
    async with open_postgres(Access(url=own_postgres.url().replace("tocsin@", "locked:another@"))) as storage:
        assert await storage.jobs.now()


async def test_a_lock_of_a_stranger_is_waited_for_no_longer_than_the_deadline(
    hasty: Storage, stranger: Connection
) -> None:
    waited, last = an_event_job(), an_event_job()
    async with stranger.transaction():
        await stranger.execute("LOCK TABLE jobs, workers")

        for call in (hasty.jobs.add(waited), hasty.jobs.get(TENANT, waited.id), hasty.workers.list()):
            with pytest.raises(StoreUnavailable) as refusal:
                await call
            assert str(refusal.value) == TOO_LATE

    with pytest.raises(JobNotFound):
        await hasty.jobs.get(TENANT, waited.id)
    assert await hasty.jobs.add(last) == last


async def test_the_server_gives_up_a_single_statement_too(hasty: Storage, stranger: Connection) -> None:
    async with stranger.transaction():
        await stranger.execute("LOCK TABLE locks")
        with pytest.raises(StoreUnavailable):
            await hasty.locks.acquire("retention", holder="node-1", lease=timedelta(seconds=9))
        await until_calls_wait_for_a_lock(stranger, 0)

    assert await stranger.fetchval("SELECT count(*) FROM locks") == 0


async def test_a_cancelled_call_leaves_no_lock_behind(
    storage: Storage, job: ScheduledJob, stranger: Connection, access: Access
) -> None:
    await stranger.execute("BEGIN")
    await stranger.execute("SELECT FROM job_counters FOR UPDATE")
    call = asyncio.ensure_future(storage.jobs.change(TENANT, job.id, decided(pause)))
    async with a_connection(access.url) as other:
        await until_calls_wait_for_a_lock(other, 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        # Long before the store's own deadline, and while what it waited for is still locked.
        await other.execute("SET lock_timeout = '5s'")
        await other.execute("SELECT FROM jobs FOR UPDATE")

    await stranger.execute("ROLLBACK")
    assert await storage.jobs.get(TENANT, job.id) == job


async def test_a_call_that_is_cancelled_again_and_again_costs_no_connection(
    access: Access, job: ScheduledJob, stranger: Connection
) -> None:
    async with open_postgres(Access(url=access.url, connections=1)) as storage:
        async with stranger.transaction():
            await stranger.execute("LOCK TABLE jobs")
            for _ in range(5):
                call = asyncio.ensure_future(storage.jobs.get(TENANT, job.id))
                await asyncio.wait([call], timeout=0.02)
                call.cancel()
                await asyncio.wait([call])

        assert await storage.jobs.get(TENANT, job.id) == job


@pytest.mark.parametrize("name", ["nul \0", "half \ud800"])
async def test_a_text_that_no_store_keeps_is_refused_in_words(storage: Storage, name: str) -> None:
    for refused in (an_event_job(name=name), an_event_job(created_by=name)):
        with pytest.raises(InvalidInput, match="must not contain NUL or lone surrogate characters"):
            await storage.jobs.add(refused)

    assert (await storage.jobs.list(TENANT, JobFilter())).total == 0
