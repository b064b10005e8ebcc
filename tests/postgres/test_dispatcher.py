from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import asyncpg
import pytest

from deploy.local.postgres import AVAILABLE_VERSIONS, LocalPostgres
from tests.contracts.steps import an_idle_job, trigger
from tests.makers import START, new_id
from tests.postgres.nodes import Node, a_connection, a_node, messages_of
from tests.postgres.sessions import until_calls_wait_for_a_lock
from tocsin.adapters.memory import LocalBells
from tocsin.adapters.postgres import Access, Database, PostgresDispatcher, dispatcher, migrate, postgres_storage
from tocsin.adapters.postgres.ranges import FULL_LOOK, SECOND_LOOK, SETTLED, Range, Ranges
from tocsin.adapters.postgres.statements import Statement, statements
from tocsin.adapters.postgres.transaction import Row
from tocsin.adapters.system import ManualClock
from tocsin.domain.bands import Band, band_of
from tocsin.domain.errors import DispatcherUnavailable
from tocsin.ports.bells import TIMER
from tocsin.ports.dispatcher import Dispatch

RUNS = frozenset({"function/report", "http"})
PATIENT = 30.0
A_BACKLOG = """
INSERT INTO dispatches (execution_id, capability, priority)
SELECT gen_random_uuid(), (ARRAY['http', 'function/report', 'foreign'])[1 + n % 3], 25 * (1 + n % 4)
FROM generate_series(1, $1::integer) AS n"""


class CountedDatabase(Database):
    """A database that counts what it was asked."""

    asked: Counter[str]

    async def rows(self, statement: Statement, **parameters: object) -> list[Row]:
        self.asked[statement.name] += 1
        return await super().rows(statement, **parameters)


def a_batch(size: int, *, priority: int = 50, capability: str = "http") -> list[Dispatch]:
    return [Dispatch(execution_id=new_id(START), capability=capability, priority=priority) for _ in range(size)]


async def all_received(node: Node, *, limit: int) -> list[Dispatch]:
    received: list[Dispatch] = []
    while batch := await node.dispatcher.receive(capabilities=RUNS, limit=limit, wait=0.05):
        received += batch
    return received


async def lost(node: Node, batch: Sequence[Dispatch]) -> list[Dispatch]:
    return [*await node.dispatcher.lost([(each, START) for each in batch])]


def buffers(plan: Sequence[asyncpg.Record]) -> int:
    found = json.loads(plan[0][0])[0]["Plan"]
    return int(found["Shared Hit Blocks"]) + int(found["Shared Read Blocks"])


async def buffers_of_a_look(
    connection: asyncpg.Connection[asyncpg.Record], ranges: Sequence[Range], *, limit: int
) -> int:
    """How many pages taking touches, by the server's own account; nothing is taken."""
    statement = statements("dispatches")["take_dispatches"]
    arguments = statement.arguments(
        {
            "limit": limit,
            "capability": [each.capability for each in ranges],
            "band": [each.band for each in ranges],
            "low": [each.low for each in ranges],
            "high": [each.high for each in ranges],
            "floor": [each.floor for each in ranges],
            "share": [limit for _ in ranges],
        }
    )
    transaction = connection.transaction()
    await transaction.start()
    plan = await connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.text}", *arguments)
    await transaction.rollback()
    return buffers(plan)


async def test_nodes_that_receive_at_once_share_the_work_and_nothing_comes_twice(postgres_url: str) -> None:
    async with a_node(postgres_url) as one, a_node(postgres_url) as other, a_node(postgres_url) as third:
        batch = a_batch(2000)
        await asyncio.gather(*(one.dispatcher.dispatch(batch[start::4]) for start in range(4)))

        received = await asyncio.gather(*(all_received(node, limit=7) for node in (one, other, third)))

        assert all(received)
        ids = [each.execution_id for share in received for each in share]
        assert sorted(ids) == [each.execution_id for each in batch]


async def test_nodes_that_hand_on_the_same_at_once_hand_it_on_once(postgres_url: str) -> None:
    async with a_node(postgres_url) as one, a_node(postgres_url) as other:
        batch = a_batch(500)

        await asyncio.gather(
            *(node.dispatcher.dispatch(order) for node in (one, other) for order in (batch, batch[::-1]))
        )

        assert await all_received(one, limit=200) == batch


async def test_a_node_that_waits_is_woken_by_another(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "HEARING_PAUSE", 2 * PATIENT)
    async with a_node(postgres_url) as one, a_node(postgres_url) as other:
        # The second look is not before the bell rings.
        assert not await other.dispatcher.receive(capabilities=RUNS, limit=5, wait=0)
        waiting = asyncio.create_task(other.dispatcher.receive(capabilities=RUNS, limit=5, wait=PATIENT))
        batch = a_batch(1)

        await one.dispatcher.dispatch(batch)

        assert await waiting == batch


async def test_a_batch_is_one_notification(postgres_url: str) -> None:
    async with a_node(postgres_url) as node, messages_of(postgres_url) as until_heard:
        await node.dispatcher.dispatch(a_batch(500))
        node.bells.ring(TIMER)

        heard = await until_heard(TIMER)
        assert heard.count("dispatch") == 1


async def test_behind_a_pooler_a_node_finds_what_others_hand_on(postgres_url: str) -> None:
    async with a_node(postgres_url, pooler=True) as one, a_node(postgres_url, pooler=True) as other:
        waiting = asyncio.create_task(other.dispatcher.receive(capabilities=RUNS, limit=5, wait=PATIENT))
        await asyncio.sleep(0)
        batch = a_batch(3)

        await one.dispatcher.dispatch(batch)

        assert await waiting == batch


async def test_an_idle_node_that_hears_hardly_asks(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "HEARING_PAUSE", 2 * PATIENT)
    database = CountedDatabase(Access(url=postgres_url))
    database.asked = Counter()
    await database.open()
    idle = PostgresDispatcher(database, LocalBells())

    for _ in range(100):
        assert not await idle.receive(capabilities=RUNS, limit=5, wait=0.001)

    assert database.asked == {"era": 1, "known_floors": 1, "take_dispatches": 1}
    await database.close()


async def test_every_band_gets_its_share_and_leaves_what_it_does_not_use(postgres_url: str) -> None:
    async with a_node(postgres_url) as node:
        for band in Band:
            await node.dispatcher.dispatch(a_batch(10, priority=band))

        def bands(received: Sequence[Dispatch]) -> Counter[Band]:
            return Counter(band_of(each.priority) for each in received)

        first = await node.dispatcher.receive(capabilities=RUNS, limit=15, wait=0)
        assert bands(first) == {Band.CRITICAL: 8, Band.HIGH: 4, Band.MEDIUM: 2, Band.LOW: 1}
        second = await node.dispatcher.receive(capabilities=RUNS, limit=15, wait=0)
        assert bands(second) == {Band.CRITICAL: 2, Band.HIGH: 6, Band.MEDIUM: 6, Band.LOW: 1}


async def test_one_at_a_time_the_least_urgent_has_its_turn_too(postgres_url: str) -> None:
    async with a_node(postgres_url) as node:
        await node.dispatcher.dispatch([*a_batch(50, priority=100), *a_batch(5, priority=0)])

        received = [await node.dispatcher.receive(capabilities=RUNS, limit=1, wait=0) for _ in range(15)]

        assert [each.priority for batch in received for each in batch].count(0) == 1


async def test_after_a_crash_of_the_server_all_is_lost_and_carried_again(own_postgres: LocalPostgres) -> None:
    await migrate.up(Access(url=own_postgres.url()))
    async with a_node(own_postgres.url()) as node:
        batch = a_batch(20)
        await node.dispatcher.dispatch(batch)
        assert await node.dispatcher.receive(capabilities=RUNS, limit=5, wait=0) == batch[:5]
        assert await lost(node, batch[5:]) == []

        await asyncio.to_thread(own_postgres.stop_immediately)
        with pytest.raises(DispatcherUnavailable):
            await node.dispatcher.receive(capabilities=RUNS, limit=5, wait=0)
        await asyncio.to_thread(own_postgres.start)

        assert await lost(node, batch) == batch
        await node.dispatcher.dispatch(batch)
        assert await all_received(node, limit=50) == batch


async def test_what_is_no_longer_to_be_run_is_removed_in_time(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "TIDYING", 0.0)
    async with a_node(postgres_url) as node:
        storage = postgres_storage(node.database)
        pending, cancelled = await trigger(storage, await an_idle_job(storage, concurrency=2), 2)
        carried = [
            Dispatch(execution_id=each.id, capability="function/gone", priority=50) for each in (pending, cancelled)
        ]
        await node.dispatcher.dispatch(carried)
        await storage.executions.cancel(cancelled.tenant_id, cancelled.id)

        assert await lost(node, carried) == carried[1:]


@pytest.mark.parametrize("postgres_version", AVAILABLE_VERSIONS)
@pytest.mark.parametrize("analyzed", [False, True])
async def test_a_look_touches_a_few_pages_whatever_the_backlog(postgres_url: str, analyzed: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    async with a_connection(postgres_url) as connection:
        await connection.execute(A_BACKLOG, 100_000)
        if analyzed:
            await connection.execute("ANALYZE dispatches")

        assert await buffers_of_a_look(connection, Ranges().look(RUNS).ranges, limit=20) < 1000
        assert await buffers_of_a_look(connection, Ranges().look(["unheard of"]).ranges, limit=20) < 50


A_DISPATCH: Final = """
    INSERT INTO dispatches (id, execution_id, capability, priority) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4)
"""


@asynccontextmanager
async def an_old_snapshot(postgres_url: str) -> AsyncIterator[None]:
    """Keep the server from removing any row that is deleted from now on."""
    async with a_connection(postgres_url) as holder, holder.transaction(isolation="repeatable_read", readonly=True):
        await holder.fetch("SELECT FROM jobs")
        yield


@pytest.mark.parametrize("postgres_version", AVAILABLE_VERSIONS)
async def test_while_an_old_snapshot_is_held_looks_begin_past_what_was_taken(postgres_url: str) -> None:
    async with an_old_snapshot(postgres_url), a_connection(postgres_url) as connection:
        await connection.execute(A_BACKLOG, 20_000)
        clock = ManualClock()
        knowing = Ranges(clock.monotonic)
        taken = await connection.fetch("DELETE FROM dispatches RETURNING id, capability, priority")
        rising = sorted(taken, key=lambda row: row["id"])
        knowing.learn(knowing.look(RUNS), [((row["capability"], row["priority"]), row["id"]) for row in rising], {})
        for _ in range(3):
            clock.advance(SECOND_LOOK)
            look = knowing.look(RUNS)

        assert await buffers_of_a_look(connection, Ranges().look(RUNS).ranges, limit=20) > 1000
        assert await buffers_of_a_look(connection, look.ranges, limit=20) < 100


@pytest.mark.parametrize("postgres_version", AVAILABLE_VERSIONS)
async def test_the_rows_that_a_look_passes_on_its_way_are_passed_once(postgres_url: str) -> None:
    async with an_old_snapshot(postgres_url), a_connection(postgres_url) as connection:
        await connection.execute(A_BACKLOG, 60_000)
        await connection.execute("DELETE FROM dispatches")
        nothing = await buffers_of_a_look(connection, Ranges().look(RUNS).ranges, limit=20)
        await connection.execute(A_BACKLOG, 12)

        assert await buffers_of_a_look(connection, Ranges().look(RUNS).ranges, limit=20) < 1.2 * nothing


async def settle(node: Node, clock: ManualClock) -> None:
    """Have a node take all that there is, and look back at it until it knows, and has told, that nothing is left."""
    await all_received(node, limit=500)
    for _ in range(3):
        clock.advance(2 * SETTLED)
        assert not await node.dispatcher.receive(capabilities=RUNS, limit=20, wait=0)


async def test_a_node_that_starts_begins_past_what_others_took(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    async with (
        a_node(postgres_url) as old,
        an_old_snapshot(postgres_url),
        a_node(postgres_url) as new,
        a_connection(postgres_url) as connection,
    ):
        monkeypatch.setattr(old.dispatcher, "_ranges", Ranges(clock.monotonic))
        await connection.execute(A_BACKLOG, 5_000)
        await settle(old, clock)
        batch = a_batch(3)
        await old.dispatcher.dispatch(batch)
        floors = await connection.fetch("SELECT number FROM dispatch_floors")

        assert await new.dispatcher.receive(capabilities=RUNS, limit=20, wait=0) == batch
        assert min(row["number"] for row in floors) > 4_900


async def test_a_node_that_gets_nothing_begins_past_what_others_took(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_node(postgres_url) as node, a_connection(postgres_url) as connection:
        ranges = Ranges(ManualClock().monotonic)
        monkeypatch.setattr(node.dispatcher, "_ranges", ranges)
        monkeypatch.setattr(dispatcher, "TELLING", timedelta())
        assert not await node.dispatcher.receive(capabilities=RUNS, limit=5, wait=0)
        await connection.execute("INSERT INTO dispatch_floors VALUES ('http', 50, 4711, now())")

        assert not await node.dispatcher.receive(capabilities=RUNS, limit=5, wait=0)

        assert 4711 in {each.floor for each in ranges.look(RUNS).ranges}


async def test_what_lies_below_a_floor_is_found_at_once_after_the_server_lost_its_tables(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    async with a_node(postgres_url) as node, a_connection(postgres_url) as connection:
        monkeypatch.setattr(node.dispatcher, "_ranges", Ranges(clock.monotonic))
        await connection.execute(A_BACKLOG, 500)
        await settle(node, clock)
        # What a crash does, or a standby that takes over; the node's connections may be others by then.
        await connection.execute("TRUNCATE dispatches, dispatch_floors, dispatch_era RESTART IDENTITY")
        batch = a_batch(3)
        await node.dispatcher.dispatch(batch)

        received = [await node.dispatcher.receive(capabilities=RUNS, limit=20, wait=0) for _ in range(2)]

        assert [*received[0], *received[1]] == batch


async def test_once_something_is_found_below_a_floor_no_node_believes_that_floor(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    async with a_node(postgres_url) as one, a_node(postgres_url) as other, a_connection(postgres_url) as connection:
        monkeypatch.setattr(one.dispatcher, "_ranges", Ranges(clock.monotonic))
        monkeypatch.setattr(other.dispatcher, "_ranges", Ranges(clock.monotonic, first_full_look=10 * FULL_LOOK))
        await connection.execute(A_BACKLOG, 500)
        await settle(one, clock)
        assert not await other.dispatcher.receive(capabilities=RUNS, limit=20, wait=0)
        below = a_batch(3)
        for number, each in enumerate(below, start=1):
            await connection.execute(A_DISPATCH, number, each.execution_id, each.capability, each.priority)
        assert not await one.dispatcher.receive(capabilities=RUNS, limit=1, wait=0)

        clock.advance(FULL_LOOK)
        received = [
            await node.dispatcher.receive(capabilities=RUNS, limit=1, wait=0) for node in (one, one, other, other)
        ]

        assert {each for batch in received for each in batch} == {*below}
        assert not await connection.fetch("SELECT FROM dispatch_floors")


async def test_what_was_settled_in_an_era_that_has_ended_is_told_to_nobody(postgres_url: str) -> None:
    async with a_node(postgres_url) as node, a_connection(postgres_url) as connection:
        assert not await node.dispatcher.receive(capabilities=RUNS, limit=1, wait=0)
        era = await connection.fetchval("SELECT era FROM dispatch_era")
        told = {"capability": ["http"], "priority": [50], "number": [4711], "pause": timedelta()}

        async with connection.transaction():
            await connection.execute("UPDATE dispatch_era SET era = gen_random_uuid()")
            telling = asyncio.create_task(node.database.rows(statements("dispatches")["note_floors"], era=era, **told))
            await until_calls_wait_for_a_lock(connection, 1)

        assert await telling == []
        assert not await connection.fetch("SELECT FROM dispatch_floors")


async def test_what_others_are_taking_hides_nothing_less_urgent(postgres_url: str) -> None:
    async with (
        a_node(postgres_url) as node,
        a_connection(postgres_url) as connection,
        a_connection(postgres_url) as other,
    ):
        await node.dispatcher.dispatch(old := a_batch(5, priority=45))
        await node.dispatcher.dispatch(a_batch(10, priority=50))
        await node.dispatcher.dispatch(a_batch(10, priority=45))
        async with other.transaction():
            await other.execute("DELETE FROM dispatches WHERE priority = 50")
            first = await node.dispatcher.receive(capabilities=RUNS, limit=12, wait=0)

        rest = await all_received(node, limit=12)

        assert [*first, *rest][:5] == old
        assert not await connection.fetchval("SELECT count(*) FROM dispatches")
