from __future__ import annotations

from datetime import timedelta

from tests.makers import START
from tests.redis.pipes import AT_ONCE, Pipes, a_dispatch, drain, sent, take
from tocsin.adapters.redis import RedisDispatcher
from tocsin.adapters.redis.losses import LONGEST_TAIL, MOST_PENDING
from tocsin.ports.dispatcher import Dispatch, Sent

PAGE = 500


async def lost(node: RedisDispatcher, candidates: list[Sent]) -> list[Dispatch]:
    """Ask page by page, as a sweeper does."""
    pages = [candidates[first : first + PAGE] for first in range(0, len(candidates), PAGE)]
    return [dispatch for page in pages for dispatch in await node.lost(page)]


def a_second_apart(dispatches: list[Dispatch]) -> list[Sent]:
    """Say that each page was dispatched a second after the one before."""
    return [(each, START + timedelta(seconds=number // PAGE)) for number, each in enumerate(dispatches)]


async def test_a_backlog_of_50_000_is_not_lost_until_a_flush_makes_it_so(brittle: Pipes) -> None:
    node, other = await brittle.node(), await brittle.node("other")
    backlog = [a_dispatch() for _ in range(50_000)]
    await node.dispatch(backlog)
    candidates = a_second_apart(backlog)

    assert await lost(node, candidates) == []
    received = await take(node, limit=300)
    assert await lost(node, candidates) == []
    await node.acknowledge(received)
    assert await lost(node, candidates[300:]) == []
    assert await lost(other, candidates[300:]) == []

    await brittle.redis.flushall()
    await take(other)
    assert await lost(node, candidates) == backlog
    assert await lost(other, candidates) == backlog


async def test_what_is_sent_again_after_a_flush_is_not_lost_and_the_rest_still_is(brittle: Pipes) -> None:
    node = await brittle.node()
    backlog = [a_dispatch() for _ in range(5_000)]
    candidates = a_second_apart(backlog)
    await node.dispatch(backlog)
    assert await lost(node, candidates) == []
    await brittle.redis.flushall()

    repeated: list[Dispatch] = []
    for first in range(0, len(candidates), PAGE):
        page = await node.lost(candidates[first : first + PAGE])
        repeated += page
        await node.dispatch(page)

    assert repeated == backlog
    again = [(each, START + timedelta(days=1)) for each in repeated]
    assert await lost(node, again) == []


async def test_a_loss_behind_a_backlog_is_found_once_that_is_received(pipes: Pipes) -> None:
    node = await pipes.node()
    backlog, gone = [a_dispatch() for _ in range(LONGEST_TAIL + 1)], a_dispatch()
    await node.dispatch(backlog)
    assert await node.lost(sent([gone])) == []

    later = [a_dispatch() for _ in range(LONGEST_TAIL + 1)]
    await node.dispatch(later)
    received = await take(node, limit=len(backlog))

    # A queue as long as before has grown meanwhile, and none of it counts as lost.
    newer = START + timedelta(days=1)
    assert await node.lost([*sent([gone]), *sent(later, newer)]) == [gone]
    assert await node.lost(sent(received)) == []


async def test_a_loss_is_found_although_the_queue_never_gets_short(pipes: Pipes) -> None:
    node, gone = await pipes.node(), a_dispatch()
    await node.dispatch([a_dispatch() for _ in range(2 * LONGEST_TAIL)])
    looks = 0

    while not await node.lost(sent([gone])):
        looks += 1
        assert looks <= 25
        await node.acknowledge(await take(node, limit=100))
        await node.dispatch([a_dispatch() for _ in range(100)])

    assert looks == 20


async def test_what_is_pending_beyond_the_part_that_is_looked_at_is_not_lost(pipes: Pipes) -> None:
    node, gone = await pipes.node(), a_dispatch()
    batch = [a_dispatch() for _ in range(MOST_PENDING + 1)]
    await node.dispatch(batch)
    assert await node.lost(sent([gone])) == []
    received = await take(node, limit=len(batch))
    assert received == batch

    # The group is past whatever was dispatched by then, though not past all of it in somebody's hands.
    assert await node.lost(sent([*batch, gone])) == []

    await node.acknowledge(batch[:1])
    assert await node.lost(sent([*batch[1:], gone])) == [gone]


async def test_what_a_dead_receiver_holds_is_not_lost(pipes: Pipes) -> None:
    dead, heir = await pipes.node("dead"), await pipes.node("heir", timing=AT_ONCE)
    dispatch = a_dispatch()
    await dead.dispatch([dispatch])
    await take(dead)

    assert await heir.lost(sent([dispatch])) == []
    assert await take(heir, wait=60) == [dispatch]
    assert await heir.lost(sent([dispatch])) == []


async def test_what_was_delivered_and_is_no_longer_pending_is_lost_although_it_lies_in_the_stream(pipes: Pipes) -> None:
    node = await pipes.node()
    dispatch = a_dispatch()
    await node.dispatch([dispatch])
    await take(node)
    await pipes.redis.xgroup_delconsumer(pipes.key(), "executors", "node-1")

    assert await node.lost(sent([dispatch])) == [dispatch]


async def test_a_dispatch_of_another_band_or_capability_does_not_stand_for_this_one(pipes: Pipes) -> None:
    node = await pipes.node()
    dispatch = a_dispatch(priority=50)
    await node.dispatch([dispatch])
    moved = [
        Dispatch(execution_id=dispatch.execution_id, capability="http", priority=50),
        Dispatch(execution_id=dispatch.execution_id, capability=dispatch.capability, priority=100),
    ]

    assert await node.lost(sent([dispatch, *moved])) == moved


async def test_nothing_is_lost_while_nobody_has_received_yet(pipes: Pipes) -> None:
    node = await pipes.node()
    batch = [a_dispatch() for _ in range(LONGEST_TAIL + 1)]
    await node.dispatch(batch)

    assert await node.lost(sent(batch)) == []
    assert await drain(node) == batch
