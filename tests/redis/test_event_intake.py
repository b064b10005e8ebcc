from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from redis.exceptions import OutOfMemoryError

from deploy.local.redis import LocalRedis
from tests.redis.event_streams import AT_ONCE, Streams, one, take
from tests.redis.pipes import until
from tocsin.adapters.redis import IntakeTiming
from tocsin.domain.errors import DispatcherUnavailable
from tocsin.domain.json import EVENT_LIMIT

PATIENT = IntakeTiming(redeliver_after=timedelta(minutes=1))
PATIENCE = 30


async def test_events_come_in_their_order_however_early_they_were_added(streams: Streams) -> None:
    added = [await streams.add(name=f"order.n{number}") for number in range(25)]
    intake = await streams.intake()

    assert [arrival.id for arrival in await take(intake, limit=20)] == added[:20]
    assert [arrival.id for arrival in await take(intake, limit=20)] == added[20:]


async def test_each_event_goes_to_one_node(streams: Streams) -> None:
    one_node, other = await streams.intake("node-1"), await streams.intake("node-2")
    added = [await streams.add(name="order.created") for _ in range(40)]

    shares = await asyncio.gather(*(take(node, limit=20) for node in (one_node, other)))

    assert sorted(arrival.id for share in shares for arrival in share) == sorted(added)


async def test_a_node_that_waits_is_woken_by_an_event(streams: Streams) -> None:
    intake = await streams.intake()
    waiting = asyncio.ensure_future(take(intake, wait=PATIENCE))

    async def is_awaited() -> bool:
        return any("b" in client["flags"] for client in await streams.redis.client_list())

    await until(is_awaited)
    entry_id = await streams.add(name="order.created")

    assert [arrival.id for arrival in await waiting] == [entry_id]


async def test_an_entry_that_is_too_large_is_malformed_also_for_a_node_that_waits(streams: Streams) -> None:
    intake = await streams.intake()
    waiting = asyncio.ensure_future(take(intake, wait=PATIENCE))
    await asyncio.sleep(0)
    await streams.add(name="order.created", data="x" * (2 * EVENT_LIMIT))

    [arrival] = await waiting

    assert arrival.malformed == "data: is the largest of fields that take more than 2097152 bytes"


async def test_nothing_to_receive_is_waited_out(streams: Streams) -> None:
    intake = await streams.intake()

    assert await take(intake, wait=0.02) == []
    assert await take(intake, limit=0, wait=0.02) == []


async def test_one_answer_holds_no_more_bytes_than_can_be_read_in_a_moment(streams: Streams) -> None:
    intake = await streams.intake()
    large = '"' + "x" * (EVENT_LIMIT - 2) + '"'
    for _ in range(30):
        await streams.add(name="order.created", data=large)

    assert len(await take(intake)) == 4


async def test_what_is_acknowledged_is_gone_from_the_stream(streams: Streams) -> None:
    intake = await streams.intake()
    for _ in range(3):
        await streams.add(name="order.created")
    first, *others = await take(intake)

    await intake.acknowledge([first])
    assert (await streams.length(), await streams.pending()) == (2, 2)

    await intake.acknowledge(others)
    await intake.acknowledge([])
    assert (await streams.length(), await streams.pending()) == (0, 0)


async def test_what_a_dead_node_held_goes_to_another_and_the_delivery_is_counted(streams: Streams) -> None:
    dead, heir = await streams.intake("dead"), await streams.intake("heir", timing=AT_ONCE)
    added = [await streams.add(name="order.created") for _ in range(3)]
    assert [arrival.deliveries for arrival in await take(dead)] == [1, 1, 1]
    added.append(await streams.add(name="order.created"))

    inherited = await take(heir, wait=PATIENCE)

    assert [(arrival.id, arrival.deliveries) for arrival in inherited[:3]] == [(id_, 2) for id_ in added[:3]]
    assert [(arrival.id, arrival.deliveries) for arrival in inherited[3:]] in ([], [(added[3], 1)])


async def test_what_is_held_for_a_moment_stays_with_its_node(streams: Streams) -> None:
    holder, other = await streams.intake("holder"), await streams.intake("other", timing=IntakeTiming())
    await streams.add(name="order.created")
    await one(holder)

    assert await take(other) == []


async def test_all_that_a_dead_node_held_comes_however_much_it_is(streams: Streams) -> None:
    dead = await streams.intake("dead")
    # Whoever took an entry over keeps it for a minute: so none comes twice.
    heir = await streams.intake("heir", timing=PATIENT)
    added = [await streams.add(name="order.created") for _ in range(200)]
    await take(dead)
    await streams.age(added)

    inherited = [arrival.id for _ in range(29) for arrival in await take(heir, limit=7)]

    assert inherited == added


async def test_an_entry_that_came_often_comes_alone(streams: Streams) -> None:
    intake = await streams.intake(timing=PATIENT)
    first, suspect, last = [await streams.add(name="order.created") for _ in range(3)]
    await take(intake)
    await streams.age([first, last])
    await streams.redis.xclaim(streams.key, "nodes", "dead", 0, [suspect], idle=120_000, retrycount=3, justid=True)
    heir = await streams.intake("heir", timing=PATIENT)

    answers = []
    for _ in range(3):
        new = await streams.add(name="order.created")
        answers.append([(arrival.id, arrival.deliveries) for arrival in await take(heir)])

    assert [len(answer) for answer in answers] == [2, 1, 3]
    assert answers[0][0] == (first, 2)
    assert answers[1] == [(suspect, 4)]
    assert answers[2][0] == (last, 2)
    assert answers[2][-1] == (new, 1)


async def test_a_deleted_entry_that_is_still_pending_is_let_go(streams: Streams) -> None:
    dead, heir = await streams.intake("dead"), await streams.intake("heir", timing=AT_ONCE)
    added = [await streams.add(name="order.created") for _ in range(3)]
    await take(dead)
    await streams.redis.xdel(streams.key, added[1])

    inherited = await take(heir, wait=PATIENCE)

    assert [arrival.id for arrival in inherited] == [added[0], added[2]]
    assert await streams.pending() == 2


async def test_what_is_set_aside_lies_in_the_dead_letter_as_it_was(streams: Streams) -> None:
    intake = await streams.intake()
    entry_id = await streams.add(name="order.created", data="{order", color=b"\xff")
    arrival = await one(intake)

    await intake.set_aside([arrival], ["malformed: color: is not UTF-8"])

    assert (await streams.length(), await streams.pending()) == (0, 0)
    [fields] = await streams.dead()
    assert fields == {
        b"name": b"order.created",
        b"data": b"{order",
        b"color": b"\xff",
        b"reason": b"malformed: color: is not UTF-8",
        b"entry": entry_id.encode(),
        b"stream": streams.key.encode(),
        b"deliveries": b"1",
    }


async def test_of_an_entry_that_is_too_large_the_dead_letter_keeps_the_beginning(streams: Streams) -> None:
    intake = await streams.intake()
    await streams.add(name="order.created", data="x" * (2 * EVENT_LIMIT), more="y")

    await intake.set_aside([await one(intake)], ["malformed: too large"])

    [fields] = await streams.dead()
    assert fields[b"name"] == b"order.created"
    assert len(b"name" + b"order.created" + b"data" + fields[b"data"]) == 65_536
    assert b"more" not in fields
    assert fields[b"reason"] == b"malformed: too large"


async def test_the_dead_letter_keeps_the_newest_and_many_at_once(streams: Streams) -> None:
    intake = await streams.intake()
    for number in range(200):
        await streams.add(name=f"n{number}")
    arrivals = await take(intake)

    await intake.set_aside(arrivals, [f"reason {arrival.id}" for arrival in arrivals])

    dead = await streams.dead()
    assert [fields[b"name"].decode() for fields in dead] == [f"n{number}" for number in range(200)]
    assert all(fields[b"reason"] == b"reason " + fields[b"entry"] for fields in dead)
    assert await streams.length() == 0


async def test_what_cannot_be_kept_in_the_dead_letter_stays_and_comes_again(streams: Streams) -> None:
    intake = await streams.intake(timing=AT_ONCE)
    await streams.redis.set(f"{streams.key}:dead", "in the way")
    await streams.add(name="order.created")

    with pytest.raises(DispatcherUnavailable, match="WRONGTYPE"):
        await intake.set_aside([await one(intake)], ["failed"])

    [again] = await take(intake, wait=PATIENCE)
    assert again.deliveries == 2


async def test_consumers_that_are_gone_are_removed(streams: Streams) -> None:
    gone, busy = await streams.intake("gone"), await streams.intake("busy")
    await streams.add(name="order.created")
    await gone.acknowledge([await one(gone)])
    await streams.add(name="order.created")
    await one(busy)

    async def only_the_busy_one_is_left() -> bool:
        await take(await streams.intake("tending", timing=IntakeTiming(consumer_life=timedelta(0))))
        names = {each["name"] for each in await streams.redis.xinfo_consumers(streams.key, "nodes")}
        return b"gone" not in names and b"busy" in names

    await until(only_the_busy_one_is_left)
    assert await streams.redis.ttl(streams.key) == -1


async def test_after_a_flush_the_group_is_made_anew_and_nothing_added_since_is_passed_over(
    brittle_streams: Streams,
) -> None:
    intake = await brittle_streams.intake()
    await brittle_streams.add(name="order.lost")
    await one(intake)
    await brittle_streams.redis.flushall()
    added = await brittle_streams.add(name="order.created")

    [arrival] = await take(intake, wait=PATIENCE)

    assert arrival.id == added
    assert brittle_streams.notes.of("events.stream_lost") == [{"stream": brittle_streams.key}]


async def test_a_flush_is_survived_by_a_node_that_waits(brittle_streams: Streams) -> None:
    intake = await brittle_streams.intake()
    await take(intake)
    waiting = asyncio.ensure_future(take(intake, wait=PATIENCE))
    await asyncio.sleep(0)
    await brittle_streams.redis.flushall()
    added = await brittle_streams.add(name="order.created")

    assert [arrival.id for arrival in await waiting] == [added]


async def test_what_was_received_before_a_flush_can_be_acknowledged_and_set_aside_after_it(
    brittle_streams: Streams,
) -> None:
    intake = await brittle_streams.intake()
    await brittle_streams.add(name="order.lost")
    arrival = await one(intake)
    await brittle_streams.redis.flushall()

    await intake.set_aside([arrival], ["failed"])
    await intake.acknowledge([arrival])

    assert await brittle_streams.dead() == []


async def test_a_server_that_was_away_and_came_back_empty_is_read_again(
    brittle_streams: Streams, own_redis: LocalRedis
) -> None:
    intake = await brittle_streams.intake()
    await take(intake)
    own_redis.kill()
    with pytest.raises(DispatcherUnavailable):
        await take(intake, wait=0.1)
    own_redis.start()
    added = await brittle_streams.add(name="order.created")

    async def is_read() -> bool:
        try:
            return [arrival.id for arrival in await take(intake, wait=0.1)] == [added]
        except DispatcherUnavailable:
            return False

    await until(is_read)


async def test_a_server_that_is_full_refuses_publishers_and_lets_nodes_go_on(brittle_streams: Streams) -> None:
    intake = await brittle_streams.intake(timing=AT_ONCE)
    added = [await brittle_streams.add(name="order.created") for _ in range(3)]
    await take(intake, limit=1)
    await brittle_streams.redis.config_set("maxmemory", "1")
    with pytest.raises(OutOfMemoryError):
        await brittle_streams.add(name="order.created")

    received = await take(intake, wait=PATIENCE)

    assert [arrival.id for arrival in received] == added
    await intake.acknowledge(received[1:])
    with pytest.raises(DispatcherUnavailable, match="OOM"):
        await intake.set_aside(received[:1], ["failed"])
    assert await brittle_streams.length() == 1


async def test_an_intake_whose_wait_was_in_vain_only_waits_again(brittle_streams: Streams) -> None:
    intake = await brittle_streams.intake(timing=PATIENT)
    await take(intake, wait=0.01)
    before = (await brittle_streams.redis.info("commandstats"))["cmdstat_eval"]["calls"]

    for _ in range(20):
        assert await take(intake, wait=0.01) == []

    assert (await brittle_streams.redis.info("commandstats"))["cmdstat_eval"]["calls"] - before <= 1
    added = await brittle_streams.add(name="order.created")
    assert [arrival.id for arrival in await take(intake, wait=PATIENCE)] == [added]
