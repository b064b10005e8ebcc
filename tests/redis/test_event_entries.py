from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.redis.event_streams import Streams, one, take
from tocsin.domain.event import EventOrigin, NewEvent
from tocsin.domain.json import EVENT_LIMIT
from tocsin.domain.trace import TraceContext

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"
TRACE = TraceContext(trace_id=TRACE_ID, span_id=SPAN_ID, tracestate="vendor=1")
CLOUD_EVENT = {"specversion": "1.0", "id": "7", "source": "/shop", "type": "order.created"}


async def test_every_field_of_an_entry_is_a_part_of_its_event(streams: Streams) -> None:
    intake = await streams.intake()
    entry_id = await streams.add(
        name="order.created",
        data='{"order": 7}',
        source="/shop",
        subject="orders/7",
        time="2026-01-31T08:00:00Z",
        tenant="acme",
        idempotency_key="order-7",
        correlation_id="checkout-3",
        traceparent=TRACEPARENT,
        tracestate="vendor=1",
        region="eu",
    )

    arrival = await one(intake)

    assert (arrival.id, arrival.deliveries, arrival.tenant_id, arrival.malformed) == (entry_id, 1, "acme", None)
    assert arrival.event == NewEvent(
        name="order.created",
        data={"order": 7},
        source="/shop",
        subject="orders/7",
        time=datetime(2026, 1, 31, 8, tzinfo=UTC),
        idempotency_key="order-7",
        correlation_id="checkout-3",
        attributes={"region": "eu"},
        trace=TRACE,
        origin=EventOrigin.STREAM,
    )


async def test_a_name_is_enough(streams: Streams) -> None:
    intake = await streams.intake()
    await streams.add(name="order.created", data="", subject="", tenant="")

    arrival = await one(intake)

    assert arrival.event is not None
    assert arrival.tenant_id == "default"
    assert (arrival.event.name, arrival.event.data, arrival.event.subject) == ("order.created", None, None)


async def test_a_cloud_event_may_stand_in_one_field(streams: Streams) -> None:
    intake = await streams.intake()
    document = {**CLOUD_EVENT, "data": {"order": 7}, "region": "eu", "traceparent": TRACEPARENT}
    await streams.add(event=json.dumps(document), tenant="acme")

    arrival = await one(intake)

    assert arrival.tenant_id == "acme"
    assert arrival.event == NewEvent(
        name="order.created",
        data={"order": 7},
        source="/shop",
        idempotency_key="/shop#7",
        attributes={"region": "eu"},
        trace=TraceContext(trace_id=TRACE_ID, span_id=SPAN_ID),
        origin=EventOrigin.STREAM,
    )


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"id": "7"}, "7"),
        ({"id": "7", "source": "/shop"}, "/shop#7"),
        ({"id": "7", "source": "/shop", "idempotency_key": "mine"}, "mine"),
    ],
)
async def test_repetitions_are_told_apart_by_what_the_publisher_says(
    streams: Streams, fields: dict[str, str], key: str
) -> None:
    intake = await streams.intake()
    await streams.add(name="order.created", **fields)

    arrival = await one(intake)

    assert arrival.event is not None
    assert arrival.event.idempotency_key == key


async def test_an_entry_without_an_id_of_its_own_has_the_same_key_each_time_and_no_other_has_it(
    streams: Streams,
) -> None:
    first, again = await streams.intake("first"), await streams.intake("again")
    keys = set()
    for data in ("1", "2"):
        await streams.redis.delete(streams.key)
        await streams.redis.xadd(streams.key, {"name": "order.created", "data": data}, id="5-1")
        arrival = await one(first)
        await streams.redis.xgroup_destroy(streams.key, "nodes")
        repeated = await one(again)
        assert arrival.event is not None
        assert arrival.event == repeated.event
        keys.add(arrival.event.idempotency_key)

    assert len(keys) == 2


async def test_a_trace_context_that_is_malformed_counts_for_nothing(streams: Streams) -> None:
    intake = await streams.intake()
    await streams.add(name="order.created", traceparent="00-no-trace-01", tracestate="vendor=1")

    arrival = await one(intake)

    assert arrival.event is not None
    assert arrival.event.trace is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({b"data": b"1"}, "name: is required"),
        ({b"name": b"", b"data": b"1"}, "name: is required"),
        ({b"name": b"order.created", b"data": b"{order"}, "data: is not JSON"),
        ({b"name": b"order.created", b"data": b"NaN"}, "data: is not JSON: NaN is no JSON number"),
        ({b"name": b"order.created", b"data": b"[" * 200_000}, "data: nests too deeply"),
        ({b"name": b"order.created", b"time": b"yesterday"}, "time: must be an instant"),
        ({b"name": b"order.created", b"time": b"2026-01-31T08:00:00"}, "time: must be an instant"),
        ({b"name": b"order.created", b"tenant": b"x" * 65}, "tenant: must have between 1 and 64 characters"),
        ({b"name": b"order.created", b"data": b'"\xff"'}, "data: is not UTF-8"),
        ({b"name": b"order.created", b"subject": b"\xff"}, "subject: is not UTF-8"),
        ({b"name": b"order.created", b"\xff\xfe": b"1"}, "\ufffd\ufffd: is not UTF-8"),
        (
            {b"name": b"order.created", b"data": b"x" * (2 * EVENT_LIMIT)},
            "data: is the largest of fields that take",
        ),
        ({b"name": b"order.created", b"x" * (2 * EVENT_LIMIT): b""}, f"{'x' * 64}: is the largest of fields"),
        ({b"event": b"7"}, "body: must be a JSON object"),
        ({b"event": b"{"}, "event: is not JSON"),
        ({b"event": b'{"specversion": "1.0"}'}, "id: is required; source: is required; type: is required"),
        ({b"event": json.dumps(CLOUD_EVENT).encode(), b"data": b"1"}, "data: cannot go with event"),
    ],
)
async def test_an_entry_that_says_no_event_is_malformed_and_told_by_its_field(
    streams: Streams, fields: dict[bytes, bytes], reason: str
) -> None:
    intake = await streams.intake()
    await streams.add_fields(fields)
    await streams.add(name="order.created")

    malformed, sound = await take(intake)

    assert malformed.event is None
    assert malformed.malformed is not None
    assert malformed.malformed.startswith(reason)
    assert sound.event is not None
