"""From a service that adds to the stream to the store: nodes over one memory, and a real Redis."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.application.rig import Rig
from tests.makers import a_handler
from tests.redis.event_streams import AT_ONCE, Streams
from tests.redis.pipes import until
from tocsin.adapters.cel import open_cel
from tocsin.adapters.redis import IntakeTiming
from tocsin.application.arrivals import MOST_DELIVERIES, Arrivals
from tocsin.domain.event import Event, RunJob
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.domain.trace import TraceContext, span_of
from tocsin.ports.events import Fanned
from tocsin.ports.queries import EventFilter

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"
PATIENT = IntakeTiming(redeliver_after=timedelta(minutes=1))


class Failing:
    """A store on which no event can be stored."""

    async def trigger(self, *_: object, **__: object) -> Fanned:
        raise ZeroDivisionError


@dataclass(slots=True)
class Fleet:
    """Nodes that share a store and a stream."""

    rig: Rig
    streams: Streams

    async def node(self, name: str, *, timing: IntakeTiming | None = None) -> Arrivals:
        """Begin a node."""
        events = self.rig.events_on(self.rig.storage, self.rig.pipe).events
        intake = await self.streams.intake(name, timing=timing)
        return Arrivals(intake=intake, events=events, telemetry=self.rig.notes)

    async def events(self, tenant: str = DEFAULT_TENANT) -> list[Event]:
        """Read what is stored, oldest first."""
        page = await self.rig.storage.events.list(tenant, EventFilter(limit=250))
        return [*reversed(page.items)]

    async def read_up(self, *nodes: Arrivals) -> None:
        """Let nodes read at the same time until nothing is left."""

        async def all_is_read() -> bool:
            await asyncio.gather(*(node.run_once() for node in nodes))
            return await self.streams.length() == 0

        await until(all_is_read)


@pytest.fixture
async def fleet(streams: Streams) -> AsyncIterator[Fleet]:
    async with open_cel() as expressions:
        yield Fleet(Rig(expressions), streams)


async def test_what_a_service_adds_happens_once_though_two_nodes_read_and_it_is_added_twice(fleet: Fleet) -> None:
    job = await fleet.rig.a_job(lambda _: None)
    await fleet.rig.storage.event_handlers.add(a_handler(event="order.*", action=RunJob(job_id=job.id)), None)
    nodes = [await fleet.node("node-1"), await fleet.node("node-2")]
    for number in range(100):
        for _ in range(2):
            await fleet.streams.add(id=f"order-{number}", name="order.created", data=json.dumps({"order": number}))

    await fleet.read_up(*nodes)

    events = await fleet.events()
    assert sorted(event.idempotency_key or "" for event in events) == sorted(f"order-{n}" for n in range(100))
    assert len(await fleet.rig.history(job)) == 100


async def test_what_a_node_died_with_after_the_commit_another_takes_over_and_it_happens_once(fleet: Fleet) -> None:
    dead = await fleet.node("dead")
    for _ in range(10):
        await fleet.streams.add(name="order.created")
    arrivals = await dead.intake.receive(limit=7, wait=0)
    for arrival in arrivals[:4]:
        assert arrival.event is not None
        await dead.events.accept(arrival.tenant_id, [arrival.event])
    assert await fleet.streams.pending() == 7

    await fleet.read_up(await fleet.node("heir", timing=AT_ONCE))

    assert len(await fleet.events()) == 10
    assert await fleet.streams.dead() == []


async def test_malformed_entries_lie_in_the_dead_letter_with_reasons_and_the_others_happen(fleet: Fleet) -> None:
    node = await fleet.node("node-1")
    await fleet.streams.add(data="1")
    await fleet.streams.add(name="order.created", data="{")
    await fleet.streams.add(name="order.created", **{"order-id": "7"})
    await fleet.streams.add(name="tocsin.job.created")
    await fleet.streams.add(name="order.created", data='"' + "x" * 1024 * 1024 + '"')
    await fleet.streams.add(name="order.created", data='"' + "x" * (1024 * 1024 - 2) + '"')

    await fleet.read_up(node)

    assert len(await fleet.events()) == 1
    reasons = [fields[b"reason"].decode() for fields in await fleet.streams.dead()]
    assert [reason.split(": ")[:2] for reason in sorted(reasons)] == [
        ["malformed", "attributes"],
        ["malformed", "data"],
        ["malformed", "data"],
        ["malformed", "name"],
        ["malformed", "name"],
    ]


async def test_an_event_that_every_node_dies_of_is_set_aside_and_takes_no_other_with_it(fleet: Fleet) -> None:
    added = [await fleet.streams.add(name=f"order.n{number}") for number in range(10)]
    deadly = added[4]
    for generation in range(MOST_DELIVERIES):
        intake = await fleet.streams.intake(f"dead-{generation}", timing=PATIENT)
        held = [arrival.id for arrival in await intake.receive(limit=200, wait=0)]
        while deadly not in held:
            node = await fleet.node(f"alive-{generation}", timing=PATIENT)
            await fleet.streams.age(held)
            await node.run_once()
            held = [arrival.id for arrival in await intake.receive(limit=200, wait=0)]
        await fleet.streams.age(held)

    await fleet.read_up(await fleet.node("alive", timing=PATIENT))

    assert [event.name for event in await fleet.events()] == [f"order.n{n}" for n in range(10) if n != 4]
    [dead] = await fleet.streams.dead()
    assert dead[b"entry"].decode() == deadly


async def test_an_event_that_always_fails_is_set_aside_after_five_deliveries(fleet: Fleet) -> None:
    node = await fleet.node("node-1", timing=AT_ONCE)
    node.events.store = Failing()  # type: ignore[assignment]  # of a store it has what arrivals need
    await fleet.streams.add(name="order.created")

    await fleet.read_up(node)

    [dead] = await fleet.streams.dead()
    assert dead[b"deliveries"] == b"5"
    assert dead[b"reason"] == b"failed 5 times: unexpected ZeroDivisionError; the log says more"


async def test_a_flush_loses_what_nobody_had_read_and_nothing_that_comes_after_it(
    brittle_streams: Streams,
) -> None:
    async with open_cel() as expressions:
        fleet = Fleet(Rig(expressions), brittle_streams)
        node = await fleet.node("node-1")
        await fleet.streams.add(name="order.before")
        await fleet.read_up(node)
        await fleet.streams.redis.flushall()
        await fleet.streams.add(name="order.after")

        await fleet.read_up(node)

        assert [event.name for event in await fleet.events()] == ["order.before", "order.after"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "order.created", "traceparent": TRACEPARENT, "tracestate": "vendor=1"},
        {
            "event": json.dumps(
                {
                    "specversion": "1.0",
                    "id": "7",
                    "source": "/shop",
                    "type": "order.created",
                    "traceparent": TRACEPARENT,
                    "tracestate": "vendor=1",
                }
            )
        },
    ],
)
async def test_the_trace_of_the_publisher_goes_on(fleet: Fleet, fields: dict[str, str]) -> None:
    node = await fleet.node("node-1")
    await fleet.streams.add(**fields)

    await fleet.read_up(node)

    [event] = await fleet.events()
    assert event.trace == TraceContext(trace_id=TRACE_ID, span_id=span_of(event.id), tracestate="vendor=1")
    assert event.parent_span_id == SPAN_ID
