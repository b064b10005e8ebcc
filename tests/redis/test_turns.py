from __future__ import annotations

from collections import Counter

from tests.redis.pipes import Pipes, a_dispatch, take
from tocsin.domain.bands import Band, band_of
from tocsin.ports.dispatcher import Dispatch

PRIORITIES = (10, 50, 70, 90)


async def test_under_a_backlog_each_band_has_its_share_and_the_urgent_come_first(pipes: Pipes) -> None:
    node = await pipes.node()
    await node.dispatch([a_dispatch(priority) for priority in PRIORITIES for _ in range(100)])

    received = [dispatch.priority for dispatch in await take(node, limit=30)]

    assert Counter(received) == {90: 16, 70: 8, 50: 4, 10: 2}
    assert received == sorted(received, reverse=True)


async def test_no_band_starves_however_little_is_asked_for_at_a_time(pipes: Pipes) -> None:
    node = await pipes.node()
    await node.dispatch([a_dispatch(priority) for priority in PRIORITIES for _ in range(30)])

    received = [band_of((await take(node, limit=1))[0].priority) for _ in range(30)]

    assert Counter(received) == {Band.CRITICAL: 16, Band.HIGH: 8, Band.MEDIUM: 4, Band.LOW: 2}
    assert received[0] is Band.CRITICAL


async def test_turns_that_a_band_cannot_use_go_to_the_most_urgent_that_can(pipes: Pipes) -> None:
    node = await pipes.node()
    await node.dispatch([a_dispatch(priority) for priority in (10, 50) for _ in range(30)])

    assert Counter(dispatch.priority for dispatch in await take(node, limit=30)) == {50: 28, 10: 2}
    assert Counter(dispatch.priority for dispatch in await take(node, limit=30)) == {50: 2, 10: 28}


async def test_urgent_work_overtakes_a_backlog(pipes: Pipes) -> None:
    node = await pipes.node()
    await node.dispatch([a_dispatch(10) for _ in range(100)])
    urgent = a_dispatch(100)
    await node.dispatch([urgent])

    assert (await take(node, limit=5))[0] == urgent


async def test_no_capability_starves_beside_a_busy_one(pipes: Pipes) -> None:
    node = await pipes.node()
    await node.dispatch([a_dispatch(capability="busy") for _ in range(100)])
    await node.dispatch([a_dispatch(capability="quiet")])

    received = [(await take(node, limit=1, capabilities=("busy", "quiet")))[0].capability for _ in range(2)]

    assert sorted(received) == ["busy", "quiet"]


async def test_the_limit_holds_over_many_streams_also_for_one_that_waits(pipes: Pipes) -> None:
    node, sender = await pipes.node(), await pipes.node("timer")
    capabilities = [f"function/{number}" for number in range(20)]
    batch = [a_dispatch(priority, capability) for capability in capabilities for priority in PRIORITIES]
    await sender.dispatch(batch)

    received: list[Dispatch] = []
    while len(received) < len(batch):
        part = await take(node, limit=3, wait=60, capabilities=capabilities)
        assert len(part) <= 3
        await node.acknowledge(part)
        received += part

    assert {*received} == {*batch}
    assert await pipes.length() == 0


async def test_what_a_waiting_receiver_was_given_beyond_its_limit_is_sent_again(pipes: Pipes) -> None:
    node = await pipes.node()
    assert await take(node, capabilities=("a", "b", "c")) == []
    batch = [a_dispatch(capability=capability) for capability in ("a", "b", "c")]
    # Filled behind the back of its first look: a blocking read takes one entry of each stream.
    look, looks = node._reader.take, 0  # noqa: SLF001 - the moment between a look and the wait cannot be met otherwise

    async def late(streams: object, limit: int) -> object:
        nonlocal looks
        found = await look(streams, limit)  # type: ignore[arg-type]  # handed through
        looks += 1
        if looks == 1:
            await node.dispatch(batch)
        return found

    node._reader.take = late  # type: ignore[method-assign,assignment]  # noqa: SLF001 - as above
    [first] = await take(node, limit=1, wait=60, capabilities=("a", "b", "c"))
    others = await take(node, limit=5, capabilities=("a", "b", "c"))
    await node.acknowledge([first, *others])

    assert {first, *others} == {*batch}
    assert await pipes.length() == 0
