"""The intake, over a store that answers when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from tests.makers import START
from tocsin.adapters.system import Uuid7Sequence
from tocsin.application.intake import BATCH, Intake
from tocsin.application.resolver import Resolution
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.event import Event, EventOrigin
from tocsin.domain.resolution import Resolved
from tocsin.domain.trace import trace_of
from tocsin.ports.events import Triggered

new_id = Uuid7Sequence()


def a_resolution(name: str) -> Resolution:
    event_id = new_id(START)
    event = Event(
        id=event_id,
        tenant_id="default",
        name=name,
        data=None,
        received_at=START,
        time=START,
        origin=EventOrigin.IN_PROCESS,
        trace=trace_of(event_id),
    )
    return Resolution(Resolved(event=event), [])


class Desk:
    """A store that refuses events named `bad`, has its task cancelled at `worst`, and waits while it is closed."""

    def __init__(self) -> None:
        self.intake = Intake(self._store)
        self.batches: list[list[str]] = []
        self.stored: list[str] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.began = asyncio.Event()

    async def _store(self, events: Sequence[Resolution]) -> Sequence[Triggered]:
        names = [each.resolved.event.name for each in events]
        self.batches.append(names)
        self.began.set()
        await self.is_open.wait()
        if "away" in names:
            raise StoreUnavailable("no answer")
        if "bad" in names:
            raise RuntimeError("a bad event")
        if "worst" in names:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        self.stored += names
        return [Triggered(event=each.resolved.event) for each in events]

    def call(self, *names: str) -> asyncio.Task[Sequence[Triggered]]:
        return asyncio.create_task(self.intake.take([a_resolution(name) for name in names]))

    async def behind(self, first: Callable[[], object]) -> None:
        """Have calls wait for a batch that is being stored."""
        self.is_open.clear()
        self.call("first")
        await self.began.wait()
        first()
        await asyncio.sleep(0)
        self.is_open.set()


@pytest.fixture
async def desk() -> Desk:
    return Desk()


async def test_what_comes_meanwhile_is_stored_together(desk: Desk) -> None:
    calls: list[asyncio.Task[Sequence[Triggered]]] = []
    await desk.behind(lambda: calls.extend(desk.call(str(n)) for n in range(5)))

    answers = await asyncio.gather(*calls)

    assert [[each.event.name for each in answer] for answer in answers] == [[str(n)] for n in range(5)]
    assert desk.batches == [["first"], ["0", "1", "2", "3", "4"]]


async def test_a_batch_has_whole_calls_and_no_more_events_than_its_bound(desk: Desk) -> None:
    calls: list[asyncio.Task[Sequence[Triggered]]] = []
    sizes = (BATCH - 1, 1, 2, BATCH)
    await desk.behind(lambda: calls.extend(desk.call(*["x"] * size) for size in sizes))

    answers = await asyncio.gather(*calls)

    assert tuple(len(answer) for answer in answers) == sizes
    assert [len(batch) for batch in desk.batches] == [1, BATCH, 2, BATCH]


async def test_a_bad_event_fails_its_own_call_as_a_whole_and_no_other(desk: Desk) -> None:
    calls: list[asyncio.Task[Sequence[Triggered]]] = []
    await desk.behind(lambda: calls.extend(desk.call(*names) for names in (["a"], ["b", "bad", "c"], ["d"])))

    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert isinstance(answers[1], RuntimeError)
    assert desk.stored == ["first", "a", "d"]


async def test_a_store_that_is_away_fails_all_at_once(desk: Desk) -> None:
    calls: list[asyncio.Task[Sequence[Triggered]]] = []
    await desk.behind(lambda: calls.extend(desk.call(name) for name in ("a", "away", "b")))

    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert all(isinstance(answer, StoreUnavailable) for answer in answers)
    assert len(desk.batches) == 2


async def test_a_caller_that_gives_up_does_not_take_its_events_back(desk: Desk) -> None:
    calls: list[asyncio.Task[Sequence[Triggered]]] = []
    await desk.behind(lambda: calls.extend(desk.call(name) for name in ("a", "b")))
    calls[0].cancel()

    await calls[1]

    assert desk.stored == ["first", "a", "b"]


@pytest.mark.parametrize(
    ("names", "stored"),
    [
        (["bad", "worst", "c", "d"], ["first"]),
        (["a", "b", "worst", "bad"], ["first", "a", "b"]),
    ],
)
async def test_nobody_waits_for_a_task_that_was_cancelled_halfway(
    desk: Desk, names: list[str], stored: list[str]
) -> None:
    calls: list[asyncio.Task[Sequence[Triggered]]] = []
    await desk.behind(lambda: calls.extend(desk.call(name) for name in names))

    async with asyncio.timeout(5):
        answers = await asyncio.gather(*calls, return_exceptions=True)

    assert desk.stored == stored
    assert any(isinstance(answer, asyncio.CancelledError) for answer in answers)
    assert [each.event.name for each in await desk.call("next")] == ["next"]


async def test_nobody_waits_for_a_task_that_was_cancelled_before_it_began(desk: Desk) -> None:
    call = desk.call("a")
    await asyncio.sleep(0)
    [task] = [task for task in asyncio.all_tasks() if task.get_name() == "tocsin intake"]
    task.cancel()

    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await desk.call("b")
    assert desk.stored == ["b"]
