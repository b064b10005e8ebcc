from __future__ import annotations

from datetime import timedelta

from tests.redis.pipes import AT_ONCE, Pipes, a_dispatch, drain, take, until
from tocsin.adapters.redis import Timing
from tocsin.ports.dispatcher import Dispatch

TENDING = Timing(tend_every=timedelta(0))


async def test_what_is_acknowledged_leaves_nothing_behind(pipes: Pipes) -> None:
    node = await pipes.node()
    batch = [a_dispatch(priority) for priority in (10, 50, 70, 90)] * 3
    await node.dispatch(batch)

    assert {*await drain(node)} == {*batch}

    assert await pipes.length() == 0
    assert (await pipes.redis.xpending(pipes.key(), "executors"))["pending"] == 0


async def test_trimming_drops_what_the_group_is_past_and_nothing_else(pipes: Pipes) -> None:
    node = await pipes.node(timing=TENDING)
    batch = [a_dispatch() for _ in range(5)]
    await node.dispatch(batch)
    await take(node, limit=3)
    pending = await pipes.redis.xpending_range(pipes.key(), "executors", "-", "+", 3)
    # A receiver that died between the two commands of an acknowledgement.
    await pipes.redis.xack(pipes.key(), "executors", pending[0]["message_id"], pending[2]["message_id"])
    assert await pipes.length() == 5

    assert [*await take(node, limit=1), *await take(node, limit=1)] == batch[3:]

    left = [entry for entry, _ in await pipes.redis.xrange(pipes.key())]
    assert left[0] == pending[1]["message_id"]
    assert len(left) == 4


async def test_undelivered_work_outlives_any_tending(pipes: Pipes) -> None:
    sender, receiver = await pipes.node("timer"), await pipes.node("executor", timing=AT_ONCE)
    batch = [a_dispatch() for _ in range(300)]
    await sender.dispatch(batch)

    received: list[Dispatch] = []
    while len(received) < len(batch):
        part = await take(receiver, limit=1)
        await receiver.acknowledge(part)
        received += part

    assert received == batch


async def test_a_consumer_that_is_gone_is_removed_once_nothing_of_it_is_pending(pipes: Pipes) -> None:
    dead, alive = await pipes.node("dead"), await pipes.node("alive", timing=AT_ONCE)
    dispatch = a_dispatch()
    await dead.dispatch([dispatch])
    await take(dead)
    assert await pipes.consumers() == {"dead"}

    assert await take(alive, wait=60) == [dispatch]
    await alive.acknowledge([dispatch])

    async def is_removed() -> bool:
        await take(alive)
        return "dead" not in await pipes.consumers()

    await until(is_removed)


async def test_a_consumer_with_something_pending_is_kept(pipes: Pipes) -> None:
    holder = await pipes.node("holder")
    other = await pipes.node("other", timing=Timing(tend_every=timedelta(0), consumer_life=timedelta(0)))
    await holder.dispatch([a_dispatch()])
    await take(holder)

    await take(other)

    assert "holder" in await pipes.consumers()


async def test_a_stream_that_nobody_uses_any_more_is_gone_after_its_life(pipes: Pipes) -> None:
    node = await pipes.node(timing=Timing(stream_life=timedelta(seconds=1)))
    await node.dispatch([a_dispatch(capability="out/of/use")])
    assert await pipes.length() == 1

    async def is_gone() -> bool:
        return await pipes.length() == 0

    await until(is_gone)


async def test_a_stream_that_is_received_from_lives_on(pipes: Pipes) -> None:
    node = await pipes.node(timing=Timing(tend_every=timedelta(0), stream_life=timedelta(hours=1)))
    await take(node)
    await pipes.redis.expire(pipes.key(), 5)

    await take(node)

    assert await pipes.redis.ttl(pipes.key()) > 60
