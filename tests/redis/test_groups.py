from __future__ import annotations

import asyncio

from deploy.local.redis import LocalRedis
from tests.redis.pipes import RUNS, Pipes, a_dispatch, drain, sent, take, until


async def test_what_was_sent_before_anybody_received_is_delivered(pipes: Pipes) -> None:
    sender, receiver = await pipes.node("timer"), await pipes.node("executor")
    batch = [a_dispatch() for _ in range(3)]
    await sender.dispatch(batch)

    assert await take(receiver) == batch


async def test_a_flush_in_mid_flight_loses_only_what_was_there_and_says_so(brittle: Pipes) -> None:
    node = await brittle.node()
    before = [a_dispatch() for _ in range(3)]
    await node.dispatch(before)
    held = await take(node, limit=1)
    await brittle.redis.flushall()

    after = [a_dispatch() for _ in range(3)]
    await node.dispatch(after)

    assert await node.lost(sent([*before, *after])) == before
    assert await take(node) == after
    await node.acknowledge([*held, *after])
    assert await brittle.length() == 0


async def test_a_receiver_that_waits_through_a_flush_gets_what_is_sent_after_it(brittle: Pipes) -> None:
    node = await brittle.node()
    assert await take(node) == []
    waiting = asyncio.create_task(take(node, wait=60))
    await until(brittle.is_awaited)
    await brittle.redis.flushall()
    dispatch = a_dispatch()

    await node.dispatch([dispatch])

    assert await waiting == [dispatch]


async def test_a_restart_empties_the_pipe_and_nothing_else(brittle: Pipes, own_redis: LocalRedis) -> None:
    node = await brittle.node()
    gone = a_dispatch()
    await node.dispatch([gone])
    own_redis.restart()

    dispatch = a_dispatch()
    await node.dispatch([dispatch])

    assert await drain(node) == [dispatch]
    assert await node.lost(sent([gone])) == [gone]


async def test_a_group_that_is_gone_is_made_anew_at_the_beginning_of_its_stream(pipes: Pipes) -> None:
    node = await pipes.node()
    batch = [a_dispatch(), a_dispatch(priority=100)]
    await node.dispatch(batch)
    assert len(await take(node)) == 2
    await pipes.redis.xgroup_destroy(pipes.key(), "executors")

    assert await take(node, wait=60) == batch[:1]


async def test_one_missing_stream_keeps_nothing_of_another_from_its_receiver(pipes: Pipes) -> None:
    node = await pipes.node()
    assert await take(node) == []
    dispatch = a_dispatch(priority=100)
    await node.dispatch([dispatch])
    await pipes.redis.delete(pipes.key("high"))

    assert await take(node) == [dispatch]


async def test_waiting_costs_no_more_than_a_look_now_and_then(brittle: Pipes) -> None:
    node = await brittle.node()
    await take(node)
    before = (await brittle.redis.info("commandstats"))["cmdstat_eval"]["calls"]

    assert await take(node, wait=1) == []

    assert (await brittle.redis.info("commandstats"))["cmdstat_eval"]["calls"] - before <= 8
    assert await brittle.redis.ttl(brittle.key(capability=RUNS)) > 0


async def test_a_node_whose_wait_was_in_vain_only_waits_again(brittle: Pipes) -> None:
    node = await brittle.node()
    await take(node, wait=0.01)
    before = (await brittle.redis.info("commandstats"))["cmdstat_eval"]["calls"]

    for _ in range(20):
        assert await take(node, wait=0.01) == []

    # Now and then it looks for what others let lie.
    assert (await brittle.redis.info("commandstats"))["cmdstat_eval"]["calls"] - before <= 4
    dispatch = a_dispatch()
    await node.dispatch([dispatch])
    assert await take(node, wait=60) == [dispatch]
