from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from tests.application.rig import Rig
from tests.makers import an_event
from tocsin.application.relay import PATIENCE, Relay
from tocsin.application.turns import MOST_MISSES
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.event import Event, EventOrigin
from tocsin.domain.fan_out import Decide
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.domain.resolution import Resolved
from tocsin.ports.events import EventStore, Fanned
from tocsin.ports.queries import EventFilter

ENDLESS = "endless"
POISON = "poison"


class SlowEvents:
    """A store of events over another one, which may be down, and which never answers to one kind of event."""

    def __init__(self, inner: EventStore) -> None:
        self._inner = inner
        self.is_down = False

    async def trigger(self, batch: Sequence[Resolved], decide: Decide, *, revision: int) -> Fanned:
        names = {each.event.name for each in batch}
        if self.is_down or ENDLESS in names:
            raise StoreUnavailable("the deadline is over")
        if POISON in names:
            raise ZeroDivisionError
        return await self._inner.trigger(batch, decide, revision=revision)


class Desk:
    """A node that relays, and an outbox to fill."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.outbox = rig.storage.outbox
        self.store = SlowEvents(rig.storage.events)
        self.relay = self.another_node()

    def another_node(self) -> Relay:
        parts = self.rig.events_on(self.rig.storage, self.rig.pipe)
        parts.events.store = self.store  # type: ignore[assignment]  # of a store it has what a relay needs
        return parts.relay

    async def let_out(self, *names: str) -> list[Event]:
        """Have a handler publish events; facts would need their listener."""
        await self.rig.storage.outbox.listen("test", tenant_id=None, pattern="**", lease=timedelta(hours=1))
        events = [an_event(name=name, origin=EventOrigin.PUBLISH) for name in names]
        await self.outbox.append(events)
        return events

    async def rounds(self, count: int) -> int:
        """Let some rounds pass; answer how many of them failed."""
        failed = 0
        for _ in range(count):
            try:
                await self.relay.run_once()
            except StoreUnavailable:
                failed += 1
        return failed

    async def names(self) -> list[str]:
        page = await self.rig.storage.events.list(DEFAULT_TENANT, EventFilter(limit=250))
        return sorted(event.name for event in page.items)

    @property
    def lost(self) -> list[object]:
        return [note["name"] for note in self.rig.notes.of("event.lost")]


@pytest.fixture
def desk(rig: Rig) -> Desk:
    return Desk(rig)


async def test_an_event_that_the_store_never_answers_to_holds_up_none_and_is_told_of_as_lost(desk: Desk) -> None:
    first, endless, last = await desk.let_out("order.first", ENDLESS, "order.last")

    assert await desk.rounds(1) == 1
    assert await desk.names() == ["order.first", "order.last"]
    assert await desk.rounds(PATIENCE) == PATIENCE - 2
    await desk.let_out("order.later")
    assert await desk.rounds(1) == 0

    [note] = desk.rig.notes.of("event.lost")
    assert (note["event_id"], note["name"]) == (str(endless.id), ENDLESS)
    assert await desk.names() == ["order.first", "order.last", "order.later"]
    assert {event.id for event in (await desk.outbox.read(after=None, limit=9)).events} >= {first.id, last.id}


async def test_an_outage_loses_nothing_however_long_it_is(desk: Desk) -> None:
    await desk.let_out("order.first", "order.second")
    desk.store.is_down = True
    assert await desk.rounds(5 * PATIENCE) == 5 * PATIENCE

    desk.store.is_down = False
    assert await desk.rounds(1) == 0

    assert await desk.names() == ["order.first", "order.second"]
    assert not desk.lost


async def test_an_event_alone_waits_because_nothing_tells_it_from_an_outage(desk: Desk) -> None:
    await desk.let_out(ENDLESS)
    assert await desk.rounds(3 * PATIENCE) == 3 * PATIENCE
    assert not desk.lost

    await desk.let_out("order.good")
    await desk.rounds(1)
    assert await desk.names() == ["order.good"]
    await desk.rounds(PATIENCE - 1)

    assert desk.lost == [ENDLESS]


async def test_more_events_that_are_never_answered_than_one_round_has_time_for_hold_up_none(desk: Desk) -> None:
    await desk.let_out(*[ENDLESS] * (2 * MOST_MISSES), "order.good")

    await desk.rounds(3)
    assert await desk.names() == ["order.good"]
    await desk.rounds(3 * PATIENCE)

    assert desk.lost == [ENDLESS] * (2 * MOST_MISSES)
    assert await desk.rounds(1) == 0


async def test_an_event_that_fails_is_told_of_once_beside_one_that_is_never_answered(desk: Desk) -> None:
    await desk.let_out(POISON, ENDLESS, "order.good")

    await desk.rounds(PATIENCE)

    assert desk.lost == [POISON, ENDLESS]
    assert await desk.names() == ["order.good"]


async def test_what_another_node_went_on_with_is_not_held_against_what_comes_after_it(desk: Desk) -> None:
    await desk.let_out(ENDLESS, "order.good")
    await desk.rounds(PATIENCE - 1)
    await desk.outbox.advance("relay", (await desk.outbox.read(after=None, limit=9)).position)
    desk.relay.forget()
    await desk.let_out("order.later")

    assert await desk.rounds(1) == 0

    assert await desk.names() == ["order.good", "order.later"]
    assert not desk.lost
