from __future__ import annotations

import asyncio

from deploy.local.redis import LocalRedis
from tests.faults.cluster import within
from tests.faults.conftest import only
from tests.faults.load import begun, store_load
from tests.faults.rig import Rig

BUSY = 4
"""How many executions nodes may run together for ten jobs that fire every second; five would be enough for them."""

FLUSH_WHAT_IS_UNDELIVERED = """
for _, key in ipairs(redis.call('KEYS', '*:dispatch:*')) do
  local received = '-'
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    for place, word in ipairs(group) do
      if word == 'last-delivered-id' then received = '(' .. group[place + 1] end
    end
  end
  if #redis.call('XRANGE', key, received, '+', 'COUNT', 1) > 0 then
    redis.call('FLUSHALL')
    return 1
  end
end
return 0
"""
"""Empties the server as soon as a stream holds what nobody has received; in one step, so that it is still there."""

pytestmark = only("redis")


def pipe_of(rig: Rig) -> LocalRedis:
    assert rig.redis is not None
    return rig.redis


async def flush_in_mid_flight(redis: LocalRedis) -> None:
    """Wait until something is on its way to a node, and flush it away."""

    async def flush() -> bool | None:
        answer = await asyncio.to_thread(redis.command, "EVAL", FLUSH_WHAT_IS_UNDELIVERED, "0")
        assert answer in {b":0\r\n", b":1\r\n"}, answer
        return True if answer == b":1\r\n" else None

    await within(30, flush)


async def test_redis_killed_and_back_empty_after_a_while_loses_and_doubles_nothing(rig: Rig) -> None:
    redis = pipe_of(rig)
    async with rig.cluster() as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)
        await begun(rig.storage, load)

        await asyncio.to_thread(redis.kill)
        await asyncio.sleep(rig.size.pause / 2)
        await asyncio.to_thread(redis.start)

        await rig.settled(cluster, load)


async def test_a_flush_in_mid_flight_loses_and_doubles_nothing(rig: Rig) -> None:
    redis = pipe_of(rig)
    # Nodes that can take less than there is, so that some of it is on its way.
    async with rig.cluster(concurrency=BUSY * rig.size.jobs // rig.size.nodes // 10) as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)
        await begun(rig.storage, load)

        for _ in range(3):
            await flush_in_mid_flight(redis)
            await asyncio.sleep(rig.size.load / 6)

        await rig.settled(cluster, load)
        assert list(cluster.said("dispatch.repeated")), "what was flushed away was never sent again"


async def test_redis_that_stands_still_loses_and_doubles_nothing(rig: Rig) -> None:
    redis = pipe_of(rig)
    async with rig.cluster() as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)
        await begun(rig.storage, load)

        redis.pause()
        await asyncio.sleep(rig.size.pause)
        redis.resume()

        await rig.settled(cluster, load)


async def test_redis_out_of_every_nodes_reach_loses_and_doubles_nothing(rig: Rig) -> None:
    async with rig.cluster(wired=True) as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)
        await begun(rig.storage, load)
        wires = [node.wires.redis for node in cluster.nodes if node.wires and node.wires.redis]

        for wire in wires:
            wire.cut()
        await asyncio.sleep(rig.size.pause)
        for wire in wires:
            wire.mend()

        await rig.settled(cluster, load)
