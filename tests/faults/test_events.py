"""Events are published, each twice, while nodes are killed: what they lead to is there once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout

from tests.faults.cluster import Cluster, Node, within
from tests.faults.rig import Rig

HANDLERS: Final = 5
BATCH: Final = 100
PUBLISHERS: Final = 4
KILL_SECONDS: Final = 4.0


async def test_each_event_leads_to_each_of_its_handlers_once_though_it_is_sent_twice_and_nodes_die(rig: Rig) -> None:
    numbers = range(rig.size.events)
    expected = len(numbers) * HANDLERS
    async with rig.cluster() as cluster, ClientSession(timeout=ClientTimeout(total=30)) as session:
        async with killing(cluster):
            for number in range(HANDLERS):
                await published(cluster, session, "event-handlers?on_conflict=keep", handler(number))
            batches = [numbers[first : first + BATCH] for first in numbers[::BATCH]] * 2
            Random(11).shuffle(batches)  # noqa: S311 - mixes repetitions among the rest, guards nothing
            waiting = iter(batches)

            async def publish() -> None:
                for batch in waiting:
                    await published(cluster, session, "events", [cloud_event(number) for number in batch])

            await asyncio.gather(*(publish() for _ in range(PUBLISHERS)))

            async def done() -> bool | None:
                async with rig.connection() as connection:
                    ended = await connection.fetchval(
                        "SELECT count(*) FROM tocsin.executions WHERE origin = 'event' AND status = 'success'"
                    )
                return True if ended >= expected else None

            await within(rig.size.patience, done, every=0.5)
        # What was just started again cannot yet be asked to stop.
        await cluster.ready()
        assert set(await cluster.stop()) == {0}

    async with rig.connection() as connection:
        events = await connection.fetchval("SELECT count(*) FROM tocsin.events WHERE name = 'order.created'")
        [(executions, pairs)] = await connection.fetch(
            "SELECT count(*), count(DISTINCT (event_id, event_handler_id)) FROM tocsin.executions"
            " WHERE origin = 'event'"
        )
        counted = await connection.fetch("SELECT triggered, matched, succeeded FROM tocsin.event_handler_counters")
    assert (events, executions, pairs) == (len(numbers), expected, expected)
    assert [tuple(row) for row in counted] == [(len(numbers), len(numbers), len(numbers))] * HANDLERS


@asynccontextmanager
async def killing(cluster: Cluster) -> AsyncIterator[None]:
    """Kill one node after the other meanwhile, but for the last one, and start it again at once."""

    async def kill() -> None:
        chance = Random(5)  # noqa: S311 - picks victims, guards nothing
        while True:
            await asyncio.sleep(KILL_SECONDS)
            victim = chance.choice(cluster.nodes[:-1])
            victim.kill()
            victim.start()
            await victim.ready()

    task = asyncio.create_task(kill())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def published(cluster: Cluster, session: ClientSession, path: str, body: object) -> None:
    """Send a request to one node after the other until one has answered, as a client would who never gives up."""
    kind = "application/cloudevents-batch+json" if isinstance(body, list) else "application/json"
    number = 0
    while True:
        node = cluster.nodes[number % len(cluster.nodes)]
        number += 1
        url = f"{await address(node)}/api/v1/{path}"
        try:
            async with session.post(url, json=body, headers={"Content-Type": kind}) as answer:
                text = await answer.text()
                if answer.status < 500:
                    assert answer.status in {200, 201, 202}, text
                    return
        except (ClientError, TimeoutError):
            await asyncio.sleep(0.1)


async def address(node: Node) -> str:
    """Wait until a node listens, and tell where."""
    return str((await node.logged("http.listening"))["url"])


def handler(number: int) -> dict[str, object]:
    return {
        "event": "order.*",
        "key": f"handler-{number}",
        "filter": "event.data.number >= 0",
        "action": {"type": "call", "handler_name": "take", "options": {"lock_timeout_seconds": 30}},
    }


def cloud_event(number: int) -> dict[str, object]:
    return {
        "specversion": "1.0",
        "type": "order.created",
        "source": "/shop",
        "id": str(number),
        "data": {"number": number},
    }
