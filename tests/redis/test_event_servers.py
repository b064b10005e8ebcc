from __future__ import annotations

import pytest

from deploy.local.ports import free_port
from deploy.local.redis import LocalRedis, throwaway_redis
from tests.application.rig import Notes
from tests.makers import an_event
from tests.redis.event_streams import AT_ONCE, take
from tests.redis.pipes import until
from tocsin.adapters.redis import RedisEventStreams, open_redis_event_streams

PATIENCE = 30


def add(server: LocalRedis, prefix: str) -> None:
    """Add an event as a service would that knows nothing of Tocsin."""
    server.command("XADD", f"{prefix}:events", "*", "name", "order.created", "data", "7")


async def passes_on(node: RedisEventStreams, heir: RedisEventStreams, server: LocalRedis, prefix: str) -> None:
    """Take events in, over, and aside, and let one out."""
    await take(node.intake)
    for _ in range(3):
        add(server, prefix)
    held = await take(node.intake, wait=PATIENCE)
    while len(held) < 3:
        held = [*held, *await take(node.intake, wait=PATIENCE)]
    inherited = await take(heir.intake, wait=PATIENCE)
    assert [arrival.id for arrival in inherited] == [arrival.id for arrival in held]
    await heir.intake.set_aside(inherited[:1], ["failed"])
    await heir.intake.acknowledge(inherited[1:])
    await node.export.publish([an_event(), an_event()])
    assert b":0\r\n" in server.command("XLEN", f"{prefix}:events")
    assert b":1\r\n" in server.command("XLEN", f"{prefix}:events:dead")
    assert b":2\r\n" in server.command("XLEN", f"{prefix}:facts")


async def test_a_cluster_carries_each_stream_in_a_slot_of_its_own() -> None:
    # Nodes of a cluster talk on a port 10,000 above: it too must lie below those of outgoing connections.
    port = next(port for port in iter(free_port, 0) if port < 22_000)
    with throwaway_redis("cluster-enabled yes", port=port) as server:
        server.command("CLUSTER", "ADDSLOTS", *map(str, range(16_384)))

        async def is_up() -> bool:
            return b"cluster_state:ok" in server.command("CLUSTER", "INFO")

        await until(is_up)
        url = f"redis+cluster://127.0.0.1:{server.port}"
        async with (
            open_redis_event_streams(url, Notes(), consumer="node-1") as node,
            open_redis_event_streams(url, Notes(), consumer="node-2", timing=AT_ONCE) as heir,
        ):
            await passes_on(node, heir, server, "tocsin")


async def test_sentinels_name_the_master() -> None:
    with throwaway_redis() as server, throwaway_redis(watches=server.port) as sentinel:
        url = f"redis+sentinel://127.0.0.1:{sentinel.port}/tocsin"
        async with (
            open_redis_event_streams(url, Notes(), consumer="node-1", prefix="other") as node,
            open_redis_event_streams(url, Notes(), consumer="node-2", prefix="other", timing=AT_ONCE) as heir,
        ):
            await passes_on(node, heir, server, "other")


@pytest.mark.parametrize("prefix", ["", "{a}"])
async def test_a_prefix_is_bound_as_that_of_the_pipe(prefix: str) -> None:
    with pytest.raises(ValueError, match="no braces"):
        async with open_redis_event_streams("redis://localhost", Notes(), consumer="node-1", prefix=prefix):
            pass
