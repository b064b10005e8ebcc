from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from tests.application.rig import Rig
from tests.application.streams import MemoryStream
from tests.makers import a_handler
from tocsin.application.arrivals import BATCH, MOST_DELIVERIES, Arrivals
from tocsin.application.turns import MOST_MISSES
from tocsin.domain.errors import DispatcherUnavailable, StoreUnavailable
from tocsin.domain.event import Call, Event, EventHandlerMode, EventOrigin
from tocsin.domain.fan_out import Decide
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.domain.resolution import Resolved
from tocsin.ports.events import EventStore, Fanned
from tocsin.ports.queries import EventFilter
from tocsin.ports.telemetry import Metric

POISON = "poison"
ENDLESS = "endless"


class FaultyEvents:
    """A store of events over another one, which may be down; one kind of event always fails, one is never answered."""

    def __init__(self, inner: EventStore) -> None:
        self._inner = inner
        self.is_down = False
        self.batches: list[int] = []

    async def trigger(self, batch: Sequence[Resolved], decide: Decide, *, revision: int) -> Fanned:
        if self.is_down:
            raise StoreUnavailable("the store is away")
        self.batches.append(len(batch))
        if any(each.event.name == POISON for each in batch):
            raise ZeroDivisionError("s3cr3t")
        if any(each.event.name.startswith(ENDLESS) for each in batch):
            raise StoreUnavailable("the deadline is over")
        return await self._inner.trigger(batch, decide, revision=revision)


class Desk:
    """A node that reads a stream."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.stream = MemoryStream()
        self.store = FaultyEvents(rig.storage.events)
        self.arrivals = self.another_node()

    def another_node(self) -> Arrivals:
        events = self.rig.events_on(self.rig.storage, self.rig.pipe).events
        events.store = self.store  # type: ignore[assignment]  # of a store it has what arrivals need
        return Arrivals(intake=self.stream, events=events, telemetry=self.rig.notes, receive_wait=0.0)

    async def names(self, tenant: str = DEFAULT_TENANT) -> list[str]:
        """Name the stored events, in alphabetical order."""
        return sorted(event.name for event in await self.events(tenant))

    async def events(self, tenant: str = DEFAULT_TENANT) -> Sequence[Event]:
        return (await self.rig.storage.events.list(tenant, EventFilter(limit=250))).items

    @property
    def reasons(self) -> list[str]:
        return [reason for _, reason in self.stream.dead]


@pytest.fixture
def desk(rig: Rig) -> Desk:
    return Desk(rig)


async def test_what_arrives_is_stored_in_one_go_and_then_acknowledged(desk: Desk) -> None:
    for number in range(BATCH):
        desk.stream.add(f"order.n{number}")

    assert await desk.arrivals.run_once() == 0

    assert len(await desk.events()) == BATCH
    assert desk.store.batches == [BATCH]
    assert desk.stream.entries == {}
    assert {event.origin for event in await desk.events()} == {EventOrigin.STREAM}


async def test_an_event_belongs_to_the_tenant_that_its_entry_names(desk: Desk) -> None:
    desk.stream.add("order.ours")
    desk.stream.add("order.theirs", tenant="acme")

    await desk.arrivals.run_once()

    assert await desk.names() == ["order.ours"]
    assert await desk.names("acme") == ["order.theirs"]


async def test_two_entries_with_one_key_are_one_event_and_both_are_done(desk: Desk) -> None:
    desk.stream.add(key="order-7")
    desk.stream.add(key="order-7")

    await desk.arrivals.run_once()

    assert len(await desk.events()) == 1
    assert desk.stream.entries == {}


async def test_what_a_lost_node_had_stored_happens_once_when_another_takes_it_over(desk: Desk) -> None:
    desk.stream.add()
    desk.stream.down = {"acknowledge"}
    with pytest.raises(DispatcherUnavailable):
        await desk.arrivals.run_once()
    desk.stream.down.clear()
    desk.stream.lapse()

    await desk.another_node().run_once()

    assert len(await desk.events()) == 1
    assert desk.stream.entries == {}


async def test_an_acknowledgement_that_did_not_get_through_is_given_again(desk: Desk) -> None:
    desk.stream.add()
    desk.stream.down = {"acknowledge"}
    for _ in range(2):
        with pytest.raises(DispatcherUnavailable):
            await desk.arrivals.run_once()
    desk.stream.down.clear()

    await desk.arrivals.run_once()

    assert desk.stream.entries == {}
    assert desk.store.batches == [1]


async def test_a_malformed_entry_is_set_aside_with_its_reason_and_hinders_none(desk: Desk) -> None:
    bad = desk.stream.add(malformed="data: is not JSON")
    desk.stream.add("order.good")

    await desk.arrivals.run_once()

    assert await desk.names() == ["order.good"]
    assert [(arrival.id, reason) for arrival, reason in desk.stream.dead] == [(bad, "malformed: data: is not JSON")]
    assert desk.rig.notes.of("events.set_aside") == [
        {"entries": 1, "newest": bad, "reason": "malformed: data: is not JSON"}
    ]
    assert (Metric.EVENTS, 1, {"outcome": "set_aside"}) in desk.rig.notes.figures


@pytest.mark.parametrize("name", ["no name!", "tocsin.job.created"])
async def test_an_event_out_of_bounds_is_set_aside_by_itself(desk: Desk, name: str) -> None:
    desk.stream.add(name)
    desk.stream.add("order.good")

    await desk.arrivals.run_once()

    assert await desk.names() == ["order.good"]
    [reason] = desk.reasons
    assert reason.startswith("malformed: name: ")


async def test_while_the_store_is_away_nothing_more_is_received_and_nothing_counts_as_a_failure(desk: Desk) -> None:
    first = desk.stream.add("order.first")
    desk.store.is_down = True
    for _ in range(2 * MOST_DELIVERIES):
        with pytest.raises(StoreUnavailable):
            await desk.arrivals.run_once()
    second = desk.stream.add("order.second")
    with pytest.raises(StoreUnavailable):
        await desk.arrivals.run_once()
    assert {id_: entry.deliveries for id_, entry in desk.stream.entries.items()} == {first: 1, second: 0}

    desk.store.is_down = False
    await desk.arrivals.run_once()
    await desk.arrivals.run_once()

    assert await desk.names() == ["order.first", "order.second"]
    assert desk.stream.entries == {}
    assert desk.stream.dead == []


async def test_malformed_entries_are_set_aside_while_the_store_is_away(desk: Desk) -> None:
    desk.stream.add("order.good")
    desk.stream.add(malformed="name: is required")
    desk.store.is_down = True

    with pytest.raises(StoreUnavailable):
        await desk.arrivals.run_once()

    assert desk.reasons == ["malformed: name: is required"]


async def test_an_event_that_fails_comes_again_five_times_and_is_then_set_aside(desk: Desk) -> None:
    poison = desk.stream.add(POISON)
    desk.stream.add("order.good")

    for delivery in range(1, MOST_DELIVERIES):
        await desk.arrivals.run_once()
        assert desk.stream.entries[poison].deliveries == delivery
        desk.stream.lapse()
    await desk.arrivals.run_once()

    assert await desk.names() == ["order.good"]
    assert desk.stream.entries == {}
    assert desk.reasons == ["failed 5 times: unexpected ZeroDivisionError; the log says more"]
    assert [note["error"] for note in desk.rig.notes.of("event.failed")] == ["ZeroDivisionError: s3cr3t"] * 5


async def test_an_event_that_every_node_died_of_is_set_aside_before_it_kills_another(desk: Desk) -> None:
    desk.stream.add(POISON)
    for _ in range(MOST_DELIVERIES):
        await desk.stream.receive(limit=1, wait=0)
        desk.stream.lapse()

    await desk.arrivals.run_once()

    assert desk.reasons == ["came 5 times and nobody lived to say what became of it"]
    assert desk.store.batches == []


async def test_what_cannot_be_set_aside_now_holds_up_none_and_comes_again(desk: Desk) -> None:
    desk.stream.add(malformed="name: is required")
    desk.stream.add("order.good")
    desk.stream.down = {"set_aside"}
    with pytest.raises(DispatcherUnavailable):
        await desk.arrivals.run_once()
    assert await desk.names() == ["order.good"]
    assert len(desk.stream.entries) == 1
    desk.stream.down.clear()
    desk.stream.lapse()

    await desk.arrivals.run_once()

    assert desk.reasons == ["malformed: name: is required"]


async def test_a_handler_whose_caller_would_wait_does_not_hold_up_the_stream(desk: Desk) -> None:
    rig = desk.rig
    job = await rig.a_job(lambda _: None)
    handler = a_handler(event="order.*", mode=EventHandlerMode.SYNC, action=Call(handler_name="work-0", job_id=job.id))
    await rig.storage.event_handlers.add(handler, job)
    desk.stream.add()

    await desk.arrivals.run_once()

    [execution] = await rig.history(job)
    assert not execution.status.terminal
    assert desk.stream.entries == {}


async def rounds(arrivals: Arrivals, count: int) -> None:
    """Let some rounds pass, whatever they come to."""
    for _ in range(count):
        with suppress(StoreUnavailable):
            await arrivals.run_once()


async def test_an_event_that_the_store_never_answers_to_holds_up_none_and_is_set_aside_at_last(desk: Desk) -> None:
    endless = desk.stream.add(ENDLESS)
    for delivery in range(1, MOST_DELIVERIES + 1):
        desk.stream.add(f"order.n{delivery}", key=f"order-{delivery}")
        await rounds(desk.arrivals, 2)
        assert await desk.names() == [f"order.n{number}" for number in range(1, delivery + 1)]
        assert desk.stream.entries.keys() == ({endless} if delivery < MOST_DELIVERIES else set())
        desk.stream.lapse()

    assert desk.reasons == ["failed 5 times: the store takes other events, and too long for this one"]
    assert [note["deliveries"] for note in desk.rig.notes.of("event.failed")] == [1, 2, 3, 4, 5]


async def test_an_event_that_is_alone_in_not_being_answered_waits_until_another_comes(desk: Desk) -> None:
    endless = desk.stream.add(ENDLESS)
    await rounds(desk.arrivals, 3 * MOST_DELIVERIES)
    assert desk.stream.entries[endless].deliveries == 1
    assert not desk.rig.notes.of("event.failed")

    desk.stream.add("order.good")
    await rounds(desk.arrivals, 2)

    assert await desk.names() == ["order.good"]
    assert len(desk.rig.notes.of("event.failed")) == 1


async def test_more_events_that_are_never_answered_than_one_round_has_time_for_hold_up_none(desk: Desk) -> None:
    for number in range(3 * MOST_MISSES):
        desk.stream.add(f"{ENDLESS}.n{number}")
    desk.stream.add("order.good")

    await rounds(desk.arrivals, 5)

    assert await desk.names() == ["order.good"]


async def test_an_outage_after_an_event_was_not_answered_counts_as_no_failure(desk: Desk) -> None:
    desk.stream.add(ENDLESS)
    desk.stream.add("order.good")
    await rounds(desk.arrivals, 1)

    desk.store.is_down = True
    await rounds(desk.arrivals, 3 * MOST_DELIVERIES)

    assert not desk.rig.notes.of("event.failed")
    assert {entry.deliveries for entry in desk.stream.entries.values()} == {1}
