from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from deploy.local.postgres import LocalPostgres
from tests.postgres.nodes import a_connection, a_node, heard_by, messages_of, until, wait
from tocsin.adapters.postgres import bells
from tocsin.adapters.postgres.bells import CHANNEL
from tocsin.domain.outage import Outage
from tocsin.ports.bells import DISPATCH, HEARTBEAT, REGISTRATION, TIMER

LISTENERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"


def own_tasks() -> list[asyncio.Task[object]]:
    return [task for task in asyncio.all_tasks() if task.get_name().startswith("tocsin")]


async def test_every_node_hears_what_one_rings(postgres_url: str) -> None:
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(a_node(postgres_url)) for _ in range(3)]
        heard = [heard_by(node.bells, TIMER) for node in nodes]

        nodes[0].bells.ring(TIMER)

        for event in heard:
            await wait(event)


async def test_who_rings_hears_it_once(postgres_url: str) -> None:
    async with a_node(postgres_url) as one, a_node(postgres_url) as other:
        heard: list[str] = []
        one.bells.listen(DISPATCH, lambda: heard.append(DISPATCH))
        other.bells.listen(DISPATCH, lambda: other.bells.ring(TIMER))
        answered = heard_by(one.bells, TIMER)

        one.bells.ring(DISPATCH)
        await wait(answered)

        assert heard == [DISPATCH]


async def test_rings_that_come_together_are_one_message(postgres_url: str) -> None:
    async with a_node(postgres_url) as node, messages_of(postgres_url) as until_heard:
        for _ in range(500):
            node.bells.ring(DISPATCH)
        await until_heard(DISPATCH)
        for _ in range(500):
            node.bells.ring(DISPATCH)
            node.bells.ring(TIMER)

        assert sorted(await until_heard(TIMER)) == [DISPATCH, DISPATCH, TIMER]


async def test_a_bell_can_be_rung_by_hand(postgres_url: str) -> None:
    async with a_node(postgres_url) as node, a_connection(postgres_url) as connection:
        heard = heard_by(node.bells, TIMER)

        await connection.execute(f"NOTIFY {CHANNEL}, '{TIMER}'")

        await wait(heard)


async def test_a_node_has_one_connection_that_listens(postgres_url: str) -> None:
    async with a_node(postgres_url) as node, a_connection(postgres_url) as connection:
        for name in (DISPATCH, TIMER, HEARTBEAT, REGISTRATION):
            heard_by(node.bells, name)

        assert len(await connection.fetch(LISTENERS)) == 1


async def test_a_listening_that_was_cut_heals_and_rings_for_what_it_missed(postgres_url: str) -> None:
    async with a_node(postgres_url) as node, a_node(postgres_url) as other, a_connection(postgres_url) as connection:
        missed, heard = heard_by(node.bells, TIMER), heard_by(node.bells, DISPATCH)
        await connection.execute(CUT)

        await wait(missed)
        assert node.bells.listening
        assert [said["failures"] for said in node.notes.of("bells.deaf")] == [1]
        assert len(node.notes.of("bells.heard")) == 1

        await wait(heard)
        heard.clear()
        other.bells.ring(DISPATCH)
        await wait(heard)


async def test_a_server_that_is_away_is_told_once_and_not_at_every_try(
    own_postgres: LocalPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bells, "LONGEST_BACKOFF", 0.01)
    async with a_node(own_postgres.url()) as node:
        tries, fail = 0, Outage.fail

        def counted(outage: Outage, kind: str, now: float) -> bool:
            nonlocal tries
            tries += 1
            return fail(outage, kind, now)

        monkeypatch.setattr(Outage, "fail", counted)
        own_postgres.stop()
        await until(lambda: tries > 5)
        own_postgres.start()
        await until(lambda: node.bells.listening)

    # That the listening was lost is one thing, that there is no server another.
    assert len(node.notes.of("bells.deaf")) == 2
    assert len(node.notes.of("bells.heard")) == 1


async def test_a_listening_that_went_silent_is_given_up_and_heals(
    own_postgres: LocalPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bells, "ATTENTION", 0.1)
    async with a_node(own_postgres.url(), deadline=0.5) as node:
        missed = heard_by(node.bells, TIMER)
        own_postgres.pause()
        await until(lambda: not node.bells.listening)

        own_postgres.resume()

        await wait(missed)
        assert node.bells.listening


async def test_behind_a_pooler_a_node_is_heard_and_hears_only_itself(postgres_url: str) -> None:
    async with (
        a_node(postgres_url) as direct,
        a_node(postgres_url, pooler=True) as pooled,
        messages_of(postgres_url) as until_heard,
    ):
        heard, heard_here = heard_by(direct.bells, TIMER), heard_by(pooled.bells, TIMER)

        pooled.bells.ring(TIMER)
        await wait(heard)
        assert heard_here.is_set()
        heard_here.clear()

        direct.bells.ring(TIMER)
        direct.bells.ring(HEARTBEAT)
        await until_heard(HEARTBEAT)
        assert not heard_here.is_set()
        assert not pooled.bells.listening


async def test_nobody_ends_the_bells_by_cancelling_every_task(postgres_url: str) -> None:
    async with a_node(postgres_url) as one, a_node(postgres_url) as other:
        heard = heard_by(other.bells, TIMER)
        for task in own_tasks():
            task.cancel()
        await wait(heard)
        heard.clear()

        one.bells.ring(TIMER)

        await wait(heard)


async def test_a_ring_while_the_database_is_away_is_lost_and_noted(postgres_url: str) -> None:
    async with a_node(postgres_url) as node, a_node(postgres_url) as other:
        await node.database.close()
        node.bells.ring(TIMER)
        await until(lambda: bool(node.notes.of("bells.unheard")))
        await node.database.open()
        heard = heard_by(other.bells, TIMER)

        node.bells.ring(TIMER)

        await wait(heard)


async def test_the_last_rings_of_a_node_are_still_heard_and_nothing_of_it_stays(postgres_url: str) -> None:
    async with a_node(postgres_url) as other, a_connection(postgres_url) as connection:
        before = set(own_tasks())
        heard = heard_by(other.bells, DISPATCH)
        async with a_node(postgres_url) as node:
            node.bells.ring(TIMER)
            node.bells.ring(DISPATCH)

        await wait(heard)
        assert set(own_tasks()) == before
        assert len(await connection.fetch(LISTENERS)) <= 1
