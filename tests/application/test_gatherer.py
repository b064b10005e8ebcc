from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from tests.application.rig import Rig
from tocsin.application.gatherer import Gatherer
from tocsin.application.turns import MOST_MISSES
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.event import EventHandlerDefinition, Publish
from tocsin.domain.fan_out import Decide
from tocsin.domain.flow import Debounce, FlowControl, Gathering
from tocsin.domain.resolution import Resolved
from tocsin.ports.events import DueGatherings, EventStore, Fanned

QUIET = 10
FAILURES = [ZeroDivisionError("s3cr3t"), StoreUnavailable("the deadline is over")]


class FaultyEvents:
    """A store of events over another one, in which showing events of some names ends in an error."""

    def __init__(self, inner: EventStore) -> None:
        self._inner = inner
        self.errors: dict[str, Exception] = {}

    async def trigger(self, batch: Sequence[Resolved], decide: Decide, *, revision: int) -> Fanned:
        return await self._inner.trigger(batch, decide, revision=revision)

    async def due_gatherings(self, *, limit: int) -> DueGatherings:
        return await self._inner.due_gatherings(limit=limit)

    async def revisit(self, batch: Sequence[Resolved], decide: Decide, *, closes: Sequence[Gathering] = ()) -> Fanned:
        for each in batch:
            if each.event.name in self.errors:
                raise self.errors[each.event.name]
        return await self._inner.revisit(batch, decide, closes=closes)


class Desk:
    """A node that acts upon what one debounce holds, each name by itself."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.store = FaultyEvents(rig.storage.events)
        events = rig.events.events
        events.store = self.store  # type: ignore[assignment]  # of a store it has what a gatherer needs
        self.gatherer = Gatherer(store=self.store, resolver=events.resolver, events=events, batch=4)  # type: ignore[arg-type]  # as above

    async def hold(self, *names: str) -> None:
        """Have events held, and let their time come."""
        for name in names:
            flow = FlowControl(key="event.id", debounce=Debounce(seconds=QUIET))
            rule = EventHandlerDefinition(event=name, action=Publish(name=f"seen.{name}"), flow=flow, key=name)
            await self.rig.scheduler.on_event(rule)
        for name in names:
            await self.rig.scheduler.trigger_event(name)
            self.rig.clock.advance(0.001)
        self.rig.clock.advance(QUIET)

    async def rounds(self, count: int) -> None:
        for _ in range(count):
            await self.gatherer.run_once()

    async def acted_upon(self) -> list[str]:
        """Name the events that were acted upon, in that order."""
        out = await self.rig.storage.outbox.read(after=None, limit=100)
        return [event.name.removeprefix("seen.") for event in out.events]

    @property
    def failed(self) -> list[object]:
        return [note["error"] for note in self.rig.notes.of("gathering.failed")]


@pytest.fixture
def desk(rig: Rig) -> Desk:
    return Desk(rig)


@pytest.mark.parametrize("error", FAILURES, ids=repr)
async def test_what_cannot_be_acted_upon_holds_up_no_other_and_is_told_of_once(desk: Desk, error: Exception) -> None:
    await desk.hold("a", "b", "c")
    desk.store.errors["b"] = error

    await desk.rounds(3)
    assert await desk.acted_upon() == ["a", "c"]
    assert desk.failed == [f"{type(error).__name__}: {error}"]
    await desk.hold("d")
    await desk.rounds(1)
    assert await desk.acted_upon() == ["a", "c", "d"]

    desk.store.errors.clear()
    await desk.rounds(1)

    assert await desk.acted_upon() == ["a", "c", "d", "b"]
    assert len(desk.failed) == 1
    assert not (await desk.store.due_gatherings(limit=9)).items


@pytest.mark.parametrize("error", FAILURES, ids=repr)
async def test_more_failures_than_a_batch_has_room_for_hold_up_none(desk: Desk, error: Exception) -> None:
    names = [f"bad.n{number}" for number in range(desk.gatherer.batch + MOST_MISSES)]
    desk.store.errors = dict.fromkeys(names, error)
    await desk.hold(*names, "good")

    for _ in range(4):
        with suppress(StoreUnavailable):
            await desk.gatherer.run_once()

    assert await desk.acted_upon() == ["good"]


async def test_while_the_store_answers_to_none_nothing_is_held_against_any(desk: Desk) -> None:
    await desk.hold("a", "b")
    desk.store.errors = dict.fromkeys("ab", StoreUnavailable("away"))
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await desk.gatherer.run_once()
    assert desk.failed == []

    desk.store.errors.clear()
    await desk.rounds(1)

    assert await desk.acted_upon() == ["a", "b"]


async def test_what_failed_is_not_tried_again_at_once(desk: Desk) -> None:
    names = [f"bad.n{number}" for number in range(desk.gatherer.batch + 1)]
    desk.store.errors = dict.fromkeys(names, ZeroDivisionError())
    await desk.hold(*names)

    assert await desk.gatherer.run_once() is None
