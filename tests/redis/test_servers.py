from __future__ import annotations

import pytest

from deploy.local.ports import free_port
from deploy.local.redis import LocalRedis, throwaway_redis
from tests.application.rig import Notes
from tests.redis.pipes import a_dispatch, sent, take, until
from tocsin.adapters.redis import RedisDispatcher, open_redis_dispatcher

CAPABILITIES = ("http", "function/report", "command")


async def carries(node: RedisDispatcher) -> None:
    """Send a piece of work of each kind through, and ask what is lost."""
    batch = [a_dispatch(priority, capability) for priority in (10, 50, 70, 90) for capability in CAPABILITIES]
    await node.dispatch(batch)
    assert await node.lost(sent(batch)) == []
    received = await take(node, capabilities=CAPABILITIES, wait=60)
    assert {*received} == {*batch}
    await node.acknowledge(received)
    assert await node.lost(sent(batch)) == batch
    assert await take(node, capabilities=CAPABILITIES, wait=0.05) == []


async def test_a_cluster_carries_all_streams_of_a_prefix() -> None:
    # Nodes of a cluster talk on a port 10,000 above: it too must lie below those of outgoing connections.
    port = next(port for port in iter(free_port, 0) if port < 22_000)
    with throwaway_redis("cluster-enabled yes", port=port) as server:
        server.command("CLUSTER", "ADDSLOTS", *map(str, range(16_384)))

        async def is_up() -> bool:
            return b"cluster_state:ok" in server.command("CLUSTER", "INFO")

        await until(is_up)
        async with open_redis_dispatcher(
            f"redis+cluster://127.0.0.1:{server.port}", Notes(), consumer="node-1"
        ) as node:
            await carries(node)


async def test_sentinels_name_the_master(redis_server: LocalRedis) -> None:
    with throwaway_redis(watches=redis_server.port) as sentinel:
        url = f"redis+sentinel://127.0.0.1:{sentinel.port}/tocsin?db=1"
        async with open_redis_dispatcher(url, Notes(), consumer="node-1", prefix="sentinel") as node:
            await carries(node)
    assert b":0\r\n" in redis_server.command("EXISTS", "{sentinel}:dispatch:low:http")


async def test_prefixes_keep_those_who_share_a_server_apart(redis_server: LocalRedis) -> None:
    async with (
        open_redis_dispatcher(redis_server.url, Notes(), consumer="node-1", prefix="apart-1") as one,
        open_redis_dispatcher(redis_server.url, Notes(), consumer="node-1", prefix="apart-2") as other,
    ):
        dispatch = a_dispatch()
        await one.dispatch([dispatch])

        assert await take(other) == []
        assert await take(one) == [dispatch]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:s3cr3t@host/db",
        "redis://:s3cr3t@host:s3cr3t/0",
        "redis://:s3cr3t@host:6379/0?socket_timeout=s3cr3t",
        "redis+sentinel://:s3cr3t@host:26379",
        "redis+sentinel://:s3cr3t@host:s3cr3t/name",
        "redis+sentinel://:s3cr3t@host/name?db=s3cr3t",
        "s3cr3t",
        "",
    ],
)
async def test_a_url_that_cannot_be_read_is_refused_without_telling_the_password(url: str) -> None:
    with pytest.raises(ValueError, match="the URL of Redis") as refused:
        async with open_redis_dispatcher(url, Notes(), consumer="node-1"):
            pass

    assert "s3cr3t" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("prefix", ["", "{a}", "a}"])
async def test_a_prefix_that_would_scatter_the_keys_of_a_cluster_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="no braces"):
        async with open_redis_dispatcher("redis://localhost", Notes(), consumer="node-1", prefix=prefix):
            pass
