from __future__ import annotations

import asyncio
import json
from uuid import UUID

import pytest

from deploy.local.redis import LocalRedis
from tests.makers import an_event
from tests.redis.event_streams import Streams
from tests.redis.pipes import until
from tocsin.domain.errors import DispatcherUnavailable
from tocsin.domain.event import EventOrigin
from tocsin.domain.trace import TraceContext

TRACE = TraceContext(
    trace_id="4bf92f3577b34da6a3ce929d0e0e4736", span_id="00f067aa0ba902b7", flags=0, tracestate="vendor=1"
)


async def published(streams: Streams) -> list[dict[bytes, bytes]]:
    """Read what anybody may read."""
    return [fields for _, fields in await streams.redis.xrange(f"{streams.prefix}:facts")]


async def test_an_event_goes_out_with_all_that_others_need(streams: Streams) -> None:
    export = (await streams.node()).export
    event = an_event(
        id=UUID("018f0000-0000-7000-8000-000000000001"),
        name="tocsin.job.created",
        tenant_id="acme",
        data={"job_id": "7", "name": "Grüße"},
        source="/tocsin",
        subject="jobs/7",
        origin=EventOrigin.FACT,
        depth=2,
        correlation_id="checkout-3",
        trace=TRACE,
    )

    await export.publish([event])

    [fields] = await published(streams)
    assert json.loads(fields.pop(b"data")) == {"job_id": "7", "name": "Grüße"}
    assert fields == {
        b"id": b"018f0000-0000-7000-8000-000000000001",
        b"name": b"tocsin.job.created",
        b"tenant": b"acme",
        b"time": b"2026-01-01T00:00:00+00:00",
        b"source": b"/tocsin",
        b"subject": b"jobs/7",
        b"depth": b"2",
        b"correlation_id": b"checkout-3",
        b"traceparent": b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
        b"tracestate": b"vendor=1",
    }


async def test_what_an_event_does_not_say_is_no_field(streams: Streams) -> None:
    export = (await streams.node()).export

    await export.publish([an_event(data=None)])

    [fields] = await published(streams)
    assert fields.keys() == {b"id", b"name", b"tenant", b"time", b"depth", b"traceparent", b"data"}
    assert fields[b"data"] == b"null"


async def test_events_go_out_in_their_order_however_many_and_large_they_are(streams: Streams) -> None:
    export = (await streams.node(kept=10_000)).export
    events = [an_event(data="x" * (1_000_000 if number % 200 < 10 else 10)) for number in range(1_200)]

    await export.publish(events)
    await export.publish([])

    assert [fields[b"id"].decode() for fields in await published(streams)] == [str(event.id) for event in events]


async def test_about_the_newest_stay(streams: Streams) -> None:
    export = (await streams.node(kept=100)).export
    events = [an_event() for _ in range(1_000)]

    await export.publish(events)

    kept = [fields[b"id"].decode() for fields in await published(streams)]
    assert 100 <= len(kept) <= 300
    assert kept == [str(event.id) for event in events[-len(kept) :]]


async def test_what_goes_out_can_be_read_by_a_group_as_usual(streams: Streams) -> None:
    export = (await streams.node()).export
    key = f"{streams.prefix}:facts"
    await streams.redis.xgroup_create(key, "billing", id="0", mkstream=True)

    await export.publish([an_event(name="tocsin.execution.failed")])

    [(_, [(_, fields)])] = await streams.redis.xreadgroup("billing", "reader-1", {key: ">"})
    assert fields[b"name"] == b"tocsin.execution.failed"


async def test_a_server_that_is_away_fails_the_call_and_takes_events_again_after(
    brittle_streams: Streams, own_redis: LocalRedis
) -> None:
    export = (await brittle_streams.node(deadline=0.5)).export
    event = an_event()
    own_redis.kill()
    async with asyncio.timeout(30):
        with pytest.raises(DispatcherUnavailable):
            await export.publish([event])
    own_redis.start()

    async def takes_it() -> bool:
        try:
            await export.publish([event])
        except DispatcherUnavailable:
            return False
        return True

    await until(takes_it)
    assert [fields[b"id"].decode() for fields in await published(brittle_streams)] == [str(event.id)]
