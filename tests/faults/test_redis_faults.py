from __future__ import annotations

import asyncio

from deploy.local.redis import LocalRedis
from tests.faults.conftest import only
from tests.faults.load import begun, store_load
from tests.faults.rig import Rig

BUSY = 4
"""How many executions nodes may run together for ten jobs that fire every second; five would be enough for them."""

pytestmark = only("redis")


def pipe_of(rig: Rig) -> LocalRedis:
    assert rig.redis is not None
    return rig.redis


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
            await asyncio.to_thread(redis.command, "FLUSHALL")
            await asyncio.sleep(rig.size.load / 6)

        await rig.settled(cluster, load)
        assert list(cluster.said("dispatch.repeated")), "no flush hit anything on its way"


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
