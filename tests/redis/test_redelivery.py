from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.redis.pipes import AT_ONCE, Pipes, a_dispatch, drain, sent, take
from tocsin.adapters.redis import Timing
from tocsin.ports.dispatcher import Dispatch

MINUTE = timedelta(minutes=1)


async def test_what_a_dead_receiver_held_goes_to_another(pipes: Pipes) -> None:
    dead, heir = await pipes.node("dead"), await pipes.node("heir", timing=AT_ONCE)
    batch = [a_dispatch() for _ in range(3)]
    await dead.dispatch(batch)
    assert await take(dead) == batch

    assert await take(heir, wait=60) == batch
    await heir.acknowledge(batch)
    assert await pipes.length() == 0


async def test_what_is_held_for_a_moment_stays_with_its_receiver(pipes: Pipes) -> None:
    holder = await pipes.node("holder")
    other = await pipes.node("other", timing=Timing(redeliver_after=MINUTE))
    await holder.dispatch([a_dispatch()])
    await take(holder)

    assert await take(other) == []


async def test_all_that_a_dead_receiver_held_comes_however_many_pages_it_fills(pipes: Pipes) -> None:
    dead, heir = await pipes.node("dead"), await pipes.node("heir", timing=AT_ONCE)
    batch = [a_dispatch() for _ in range(1_000)]
    await dead.dispatch(batch)
    assert await take(dead, limit=1_000) == batch

    inherited: list[Dispatch] = []
    while len(inherited) < len(batch) and (part := await take(heir, limit=7, wait=60)):
        await heir.acknowledge(part)
        inherited += part

    assert inherited == batch


async def test_what_is_overdue_is_found_behind_more_of_what_is_not(pipes: Pipes) -> None:
    holder, heir = await pipes.node("holder"), await pipes.node("heir", timing=Timing(redeliver_after=MINUTE))
    early, late = [a_dispatch() for _ in range(6_000)], a_dispatch()
    await holder.dispatch([*early, late])
    assert len(await take(holder, limit=6_001)) == 6_001
    [last] = await pipes.redis.xrevrange(pipes.key(), count=1)
    await pipes.redis.xclaim(pipes.key(), "executors", "holder", 0, [last[0]], idle=120_000)

    received = [await take(heir, limit=1) for _ in range(2)]

    # One look goes through 5,000.
    assert received == [[], [late]]


async def test_a_deleted_entry_that_is_still_pending_is_let_go(pipes: Pipes) -> None:
    dead, heir = await pipes.node("dead"), await pipes.node("heir", timing=AT_ONCE)
    batch = [a_dispatch() for _ in range(3)]
    await dead.dispatch(batch)
    await take(dead)
    [_, deleted, _] = await pipes.redis.xpending_range(pipes.key(), "executors", "-", "+", 3)
    await pipes.redis.xdel(pipes.key(), deleted["message_id"])

    assert await take(heir, wait=60) == [batch[0], batch[2]]

    assert (await pipes.redis.xpending(pipes.key(), "executors"))["pending"] == 2
    assert await heir.lost(sent(batch)) == [batch[1]]


async def test_a_late_acknowledgement_ends_what_went_to_another_meanwhile(pipes: Pipes) -> None:
    slow, heir = await pipes.node("slow"), await pipes.node("heir", timing=AT_ONCE)
    dispatch = a_dispatch()
    await slow.dispatch([dispatch])
    await take(slow)
    assert await take(heir, wait=60) == [dispatch]

    await slow.acknowledge([dispatch])

    assert await drain(heir) == []
    assert await pipes.length() == 0


async def test_every_node_at_once_takes_each_dispatch_over_at_most_once(pipes: Pipes) -> None:
    dead = await pipes.node("dead")
    heirs = [await pipes.node(f"heir-{n}", timing=Timing(redeliver_after=timedelta(seconds=1))) for n in range(5)]
    batch = [a_dispatch() for _ in range(200)]
    await dead.dispatch(batch)
    await take(dead, limit=200)

    async def inherit(number: int) -> list[object]:
        got: list[object] = []
        while len(got) < 40 and (part := await take(heirs[number], limit=40 - len(got), wait=60)):
            await heirs[number].acknowledge(part)
            got += part
        return got

    shares = await asyncio.gather(*(inherit(number) for number in range(5)))

    taken = [dispatch for share in shares for dispatch in share]
    assert len(taken) == 200
    assert {*taken} == {*batch}
