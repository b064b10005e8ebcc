from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from deploy.local.redis import LocalRedis
from tests.application.rig import Notes
from tests.redis.pipes import RUNS, Pipes, a_dispatch, sent, take, until
from tocsin.adapters.redis import RedisDispatcher, open_redis_dispatcher
from tocsin.adapters.redis.connection import Connection
from tocsin.domain.errors import DispatcherUnavailable
from tocsin.ports.dispatcher import Dispatch

PATIENCE = 30

CALLS: dict[str, Callable[[RedisDispatcher, Dispatch], Awaitable[object]]] = {
    "dispatch": lambda node, dispatch: node.dispatch([dispatch]),
    "receive": lambda node, _: take(node, wait=0.1),
    "acknowledge": lambda node, dispatch: node.acknowledge([dispatch]),
    "lost": lambda node, dispatch: node.lost(sent([dispatch])),
}


async def recovered(node: RedisDispatcher) -> None:
    """Send until it works again."""

    async def works() -> bool:
        try:
            await node.dispatch([a_dispatch()])
        except DispatcherUnavailable:
            return False
        return True

    await until(works)


@pytest.mark.parametrize("call", CALLS)
async def test_a_server_that_is_paused_fails_every_call_by_its_deadline_and_works_again_after(
    brittle: Pipes, own_redis: LocalRedis, call: str
) -> None:
    node, held = await brittle.node(deadline=0.2), a_dispatch()
    await node.dispatch([held])
    await take(node)
    own_redis.pause()

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(DispatcherUnavailable, match="did not answer in time"):
            await CALLS[call](node, held)

    own_redis.resume()
    await recovered(node)
    assert await take(node, wait=PATIENCE)


async def test_a_server_that_did_not_answer_is_asked_again_only_after_a_pause(
    brittle: Pipes, own_redis: LocalRedis
) -> None:
    node = await brittle.node(deadline=0.2)
    own_redis.kill()

    with pytest.raises(DispatcherUnavailable, match="Redis is out of reach"):
        await node.dispatch([a_dispatch()])
    with pytest.raises(DispatcherUnavailable, match="out of reach a moment ago, and it is left alone"):
        await node.dispatch([a_dispatch()])

    own_redis.start()
    await recovered(node)


async def test_a_node_may_start_before_its_redis(brittle: Pipes, own_redis: LocalRedis) -> None:
    own_redis.kill()
    node = await brittle.node()
    with pytest.raises(DispatcherUnavailable):
        await take(node)

    own_redis.start()

    await recovered(node)
    assert len(await take(node)) == 1


async def test_a_connection_that_was_cut_is_replaced_without_an_error(brittle: Pipes) -> None:
    node = await brittle.node()
    await node.dispatch([a_dispatch()])
    await brittle.redis.client_kill_filter(_type="normal", skipme=True)

    await node.dispatch([a_dispatch()])

    assert len(await take(node)) == 2


async def test_many_calls_at_once_share_few_connections(brittle: Pipes) -> None:
    node = await brittle.node()

    await asyncio.gather(*(node.dispatch([a_dispatch()]) for _ in range(200)))

    assert len(await take(node, limit=300)) == 200
    assert (await brittle.redis.info("clients"))["connected_clients"] <= 17


async def test_no_error_tells_the_password(own_redis: LocalRedis) -> None:
    own_redis.command("CONFIG", "SET", "requirepass", "right")
    url = f"redis://:s3cr3t@127.0.0.1:{own_redis.port}/0"
    async with open_redis_dispatcher(url, Notes(), consumer="node-1") as node:
        with pytest.raises(DispatcherUnavailable) as refused:
            await node.dispatch([a_dispatch()])

    assert str(refused.value) == "Redis refused the user name or password"
    assert "s3cr3t" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster", "redis+sentinel"])
async def test_a_server_that_is_not_there_is_out_of_reach(scheme: str) -> None:
    async with open_redis_dispatcher(f"{scheme}://127.0.0.1:1/main", Notes(), consumer="node-1") as node:
        with pytest.raises(DispatcherUnavailable, match="Redis is out of reach"):
            await node.dispatch([a_dispatch()])


async def test_a_refusal_is_told_by_its_code_and_does_not_count_as_an_outage(pipes: Pipes) -> None:
    node = await pipes.node()
    await pipes.redis.set(pipes.key(), "in the way")

    for _ in range(2):
        with pytest.raises(DispatcherUnavailable, match="refused a command: WRONGTYPE"):
            await node.dispatch([a_dispatch()])
    await node.dispatch([a_dispatch(capability="http")])


async def test_nothing_to_receive_is_waited_out(pipes: Pipes) -> None:
    node = await pipes.node()
    waiting = asyncio.ensure_future(node.receive(capabilities=[], limit=5, wait=0.02))
    await asyncio.sleep(0)
    assert not waiting.done()

    assert await waiting == []
    assert await node.receive(capabilities=[RUNS], limit=-1, wait=0) == []


class Closing:
    """A client whose connection the event loop has closed: what uvloop says of that, and asyncio never does."""

    async def ping(self) -> None:
        raise RuntimeError(
            "unable to perform operation on <TCPTransport closed=True reading=False>; the handler is closed"
        )

    async def fail(self) -> None:
        raise RuntimeError("a mistake of ours")


async def test_a_connection_that_uvloop_had_closed_already_is_out_of_reach() -> None:
    connection = Connection(cast("Any", Closing()), deadline=5)

    with pytest.raises(DispatcherUnavailable, match="out of reach"):
        await connection.run(lambda client: client.ping())


async def test_a_mistake_of_ours_is_no_outage() -> None:
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        await Connection(cast("Any", Closing()), deadline=5).run(lambda client: cast("Any", client).fail())
