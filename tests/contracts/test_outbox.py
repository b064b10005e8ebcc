from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.contracts.event_steps import a_stored_handler, doing, trigger_one
from tests.contracts.steps import TENANT, an_idle_job
from tests.makers import START, a_job, an_event, decided, fanned_out, new_id
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import InvalidEvent
from tocsin.domain.event import Event, EventHandler, EventOrigin
from tocsin.domain.facts import NODE_LOST, fact_of_node
from tocsin.domain.job import ScheduledJob
from tocsin.domain.lifecycle import delete
from tocsin.domain.plan import Plan
from tocsin.domain.resolution import Announce, Resolved, Situation
from tocsin.ports.events import Outgoing
from tocsin.ports.storage import Storage

FOREIGN = "another"
HOUR = timedelta(hours=1)
EVERY_FACT = "tocsin.**"


async def listening(storage: Storage, *, tenant_id: str | None = None, pattern: str = EVERY_FACT) -> str:
    return await storage.outbox.listen("listener", tenant_id=tenant_id, pattern=pattern, lease=HOUR)


def a_loss(subject: str, tenant_id: str = TENANT, now: datetime = START) -> Event:
    """A fact, told apart by its subject."""
    return fact_of_node(NODE_LOST, {"node": subject}, tenant_id, subject=subject, now=now)


async def lose(storage: Storage, *subjects: str, tenant_id: str = TENANT) -> None:
    now = await storage.jobs.now()
    await storage.outbox.append([a_loss(subject, tenant_id, now) for subject in subjects])


async def read(storage: Storage, after: str | None = None, **options: object) -> Outgoing:
    return await storage.outbox.read(after=after, **{"limit": 100, **options})  # type: ignore[arg-type]  # by name


def subjects(events: Outgoing | Sequence[Event]) -> list[str | None]:
    return [event.subject for event in (events.events if isinstance(events, Outgoing) else events)]


async def test_an_outbox_is_empty_at_first_and_still_has_a_position(storage: Storage) -> None:
    await listening(storage)
    nothing = await read(storage)
    assert list(nothing.events) == []

    await lose(storage, "a")

    assert subjects(await read(storage, nothing.position)) == ["a"]


async def test_facts_come_out_as_they_went_in(storage: Storage) -> None:
    await listening(storage)
    fact = replace(
        a_loss("a"),
        data={"lines": [1, 2.5, None, True, "ünï"]},
        parent_span_id="c" * 16,
        correlation_id="the one",
        cause=new_id(START),
        depth=3,
        time=START - timedelta(microseconds=7),
        attributes={"more": [1]},
    )

    await storage.outbox.append([fact])

    assert list((await read(storage)).events) == [fact]


async def test_what_a_reader_does_to_a_fact_stays_with_the_reader(storage: Storage) -> None:
    await listening(storage)
    await lose(storage, "a")
    [event] = (await read(storage)).events
    assert isinstance(event.data, dict)
    event.data.clear()

    assert (await read(storage)).events[0].data == {"node": "a"}


async def test_nothing_is_kept_that_nobody_listens_to(storage: Storage) -> None:
    await lose(storage, "a")
    job = await an_idle_job(storage)
    await storage.jobs.change(TENANT, job.id, decided(delete))

    assert list((await read(storage)).events) == []


async def test_a_listener_hears_its_pattern_only(storage: Storage) -> None:
    await listening(storage, pattern="tocsin.node.*")

    await storage.jobs.add(a_job())
    await lose(storage, "a")

    assert subjects(await read(storage)) == ["a"]


async def test_a_listener_of_one_tenant_hears_nothing_of_others(storage: Storage) -> None:
    await listening(storage, tenant_id=TENANT)

    await lose(storage, "mine")
    await lose(storage, "theirs", tenant_id=FOREIGN)
    await storage.jobs.add(a_job(tenant_id=FOREIGN))

    assert subjects(await read(storage)) == ["mine"]


async def test_a_listener_that_is_not_renewed_lapses(storage: Storage, clock: ManualClock) -> None:
    await listening(storage)
    clock.advance(HOUR - timedelta(seconds=1))
    await lose(storage, "in time")
    await listening(storage)
    clock.advance(HOUR - timedelta(seconds=1))
    await lose(storage, "renewed")
    clock.advance(1)
    await lose(storage, "too late")
    await storage.jobs.add(a_job())

    assert subjects(await read(storage)) == ["in time", "renewed"]


async def test_a_listener_begins_where_the_outbox_ends(storage: Storage) -> None:
    await listening(storage)
    await lose(storage, "before")
    position = await storage.outbox.listen("late", tenant_id=None, pattern=EVERY_FACT, lease=HOUR)
    await lose(storage, "after")

    assert subjects(await read(storage, position)) == ["after"]


async def test_a_listener_that_changes_its_mind_has_the_last_word(storage: Storage) -> None:
    await listening(storage, pattern="tocsin.job.*")
    await listening(storage, pattern="tocsin.node.*", tenant_id=FOREIGN)

    await storage.jobs.add(a_job())
    await lose(storage, "mine")
    await lose(storage, "theirs", tenant_id=FOREIGN)

    assert subjects(await read(storage)) == ["theirs"]


async def resumed(storage: Storage, after: str, **options: object) -> str:
    asked: dict[str, object] = {"name": "listener", "tenant_id": None, "pattern": EVERY_FACT, "lease": HOUR, **options}
    return await storage.outbox.listen(after=after, **asked)  # type: ignore[arg-type]  # by name


async def refused(storage: Storage, after: str, **options: object) -> bool:
    """Tell whether a listener cannot go on there; it listens all the same."""
    try:
        await resumed(storage, after, **options)
    except InvalidEvent as error:
        return [each.field for each in error.errors] == ["position"]
    return False


async def test_a_listener_that_comes_back_in_time_goes_on_where_it_was(storage: Storage, clock: ManualClock) -> None:
    start = await listening(storage)
    await lose(storage, "a")
    heard = (await read(storage, start)).position
    clock.advance(HOUR - timedelta(seconds=1))
    await lose(storage, "missed")

    for after in (heard, start):
        assert not await refused(storage, after)
    clock.advance(HOUR - timedelta(seconds=1))
    now_at = await resumed(storage, heard)

    assert subjects(await read(storage, heard)) == ["missed"]
    assert list((await read(storage, now_at)).events) == []


async def test_a_listener_that_comes_back_too_late_is_told_and_listens_again(
    storage: Storage, clock: ManualClock
) -> None:
    await listening(storage)
    await lose(storage, "a")
    heard = (await read(storage)).position
    clock.advance(HOUR)
    await lose(storage, "never kept")

    assert await refused(storage, heard)
    await lose(storage, "kept")

    assert subjects(await read(storage, heard)) == ["kept"]


async def test_what_one_has_missed_another_has_missed_too_though_it_comes_later(
    storage: Storage, clock: ManualClock
) -> None:
    await listening(storage)
    await lose(storage, "a")
    heard = (await read(storage)).position
    clock.advance(HOUR)
    await lose(storage, "never kept")

    assert [await refused(storage, heard) for _ in range(3)] == [True] * 3
    begun = await listening(storage)
    assert not await refused(storage, begun)


async def test_a_listener_that_only_listens_again_hides_no_gap(storage: Storage, clock: ManualClock) -> None:
    start = await listening(storage)
    clock.advance(HOUR)
    await lose(storage, "never kept")
    await listening(storage)

    assert await refused(storage, start)


async def test_what_others_listened_to_is_no_place_to_begin(storage: Storage) -> None:
    start = await listening(storage)

    assert await refused(storage, start, name="another")
    assert not await refused(storage, start)


@pytest.mark.parametrize("other", [{"pattern": "tocsin.node.*"}, {"tenant_id": TENANT}])
async def test_a_listener_that_changes_its_mind_begins_anew(storage: Storage, other: dict[str, object]) -> None:
    start = await listening(storage)

    assert await refused(storage, start, **other)
    begun = await resumed(storage, await resumed(storage, (await read(storage)).position, **other), **other)
    assert not await refused(storage, begun, **other)


@pytest.mark.parametrize("position", ["", "x", "-1", "1e3", "٣", "9" * 5000, "9" * 15, "0:0:0:0", "\0"])
async def test_nobody_goes_on_from_where_no_store_ever_was_but_listens_all_the_same(
    storage: Storage, position: str
) -> None:
    assert await refused(storage, position)
    await lose(storage, "heard")

    assert subjects(await read(storage)) == ["heard"]
    assert await refused(storage, position)


async def test_any_number_of_callers_may_share_a_listener(storage: Storage, clock: ManualClock) -> None:
    begun = await asyncio.gather(*(listening(storage) for _ in range(8)))
    clock.advance(HOUR - timedelta(seconds=1))

    refusals = await asyncio.gather(*(refused(storage, position) for position in begun))
    clock.advance(HOUR - timedelta(seconds=1))
    await lose(storage, "heard by all")

    assert refusals == [False] * 8
    for position in begun:
        assert subjects(await read(storage, position)) == ["heard by all"]


@pytest.mark.parametrize(
    ("pattern", "every_tenant", "heard"),
    [
        ("tocsin.node.lost", False, ["mine"]),
        ("tocsin.**", False, ["mine"]),
        ("tocsin.*.lost", True, ["mine", "theirs"]),
        ("tocsin.job.*", True, []),
        ("**", True, []),
    ],
)
async def test_a_handler_that_may_hear_of_a_fact_is_a_listener(
    storage: Storage, pattern: str, *, every_tenant: bool, heard: list[str]
) -> None:
    await a_stored_handler(storage, event=pattern, every_tenant=every_tenant)

    await lose(storage, "mine")
    await lose(storage, "theirs", tenant_id=FOREIGN)

    assert subjects(await read(storage)) == heard


async def test_a_handler_listens_as_it_is_now(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    def hearing(handler: EventHandler, _: datetime) -> EventHandler:
        return replace(handler, definition=replace(handler.definition, event="tocsin.**"))

    await lose(storage, "too early")
    await storage.event_handlers.change(TENANT, handler.id, hearing)
    await lose(storage, "heard")
    await storage.event_handlers.remove(TENANT, handler.id, job=decided(delete))
    await lose(storage, "too late")

    assert subjects(await read(storage)) == ["heard"]


async def test_what_handlers_publish_goes_out_whether_anybody_listens_or_not(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    await trigger_one(storage, doing(handler, Announce(name="order.seen", data=None, subject="order/7")))

    [event] = (await read(storage)).events
    assert (event.name, event.origin, event.subject) == ("order.seen", EventOrigin.PUBLISH, "order/7")


async def test_facts_are_read_page_by_page_in_their_order(storage: Storage) -> None:
    await listening(storage)
    await lose(storage, "a", "b")
    await lose(storage, "c")
    await lose(storage, "d", "e")

    first = await read(storage, limit=2)
    second = await read(storage, first.position, limit=2)
    last = await read(storage, second.position, limit=2)
    none = await read(storage, last.position, limit=2)

    assert [len(page.positions) for page in (first, second, last, none)] == [2, 2, 1, 0]
    assert subjects(await read(storage, second.positions[0], limit=2)) == ["d", "e"]
    assert [subjects(page) for page in (first, second, last, none)] == [["a", "b"], ["c", "d"], ["e"], []]
    await lose(storage, "f")
    assert subjects(await read(storage, none.position)) == ["f"]
    assert subjects(await read(storage, last.position)) == ["f"]


async def test_one_tenant_reads_its_own_only(storage: Storage) -> None:
    await listening(storage)
    for number in range(3):
        await lose(storage, f"mine {number}")
        await lose(storage, f"theirs {number}", tenant_id=FOREIGN)

    first = await read(storage, limit=2, tenant_id=FOREIGN)
    rest = await read(storage, first.position, limit=2, tenant_id=FOREIGN)

    assert [subjects(page) for page in (first, rest)] == [["theirs 0", "theirs 1"], ["theirs 2"]]
    assert list((await read(storage, rest.position, tenant_id=FOREIGN)).events) == []
    assert list((await read(storage, tenant_id="nobody")).events) == []


async def test_a_reader_of_one_tenant_keeps_up_with_what_is_not_its_own(storage: Storage) -> None:
    await listening(storage)
    await lose(storage, "theirs", tenant_id=FOREIGN)

    nothing = await read(storage, tenant_id=TENANT)
    await lose(storage, "mine")

    assert subjects(await read(storage, nothing.position, tenant_id=TENANT)) == ["mine"]


async def test_whoever_reads_on_misses_nothing_that_many_write_at_once(storage: Storage) -> None:
    await listening(storage)
    heard: list[str | None] = []
    position: str | None = None
    writers = [asyncio.create_task(lose(storage, *(f"{writer} {n}" for n in range(3)))) for writer in range(20)]
    while not all(writer.done() for writer in writers):
        page = await read(storage, position, limit=7)
        heard += subjects(page)
        position = page.position
        await asyncio.sleep(0)
    await asyncio.gather(*writers)
    while (page := await read(storage, position, limit=7)).events:
        heard += subjects(page)
        position = page.position

    assert sorted(filter(None, heard)) == sorted(f"{writer} {n}" for writer in range(20) for n in range(3))


@pytest.mark.parametrize("position", ["", "x", "-1", "1e3", "٣", "9" * 5000, "0:0:0:0", "\0"])
async def test_a_position_that_no_store_wrote_is_refused(storage: Storage, position: str) -> None:
    await listening(storage)
    await lose(storage, "a")

    with pytest.raises(InvalidEvent) as refused:
        await read(storage, position)

    assert [error.field for error in refused.value.errors] == ["position"]


async def test_a_consumer_is_where_it_said_it_is(storage: Storage) -> None:
    await listening(storage)
    await lose(storage, "a", "b")
    assert await storage.outbox.progress("relay") is None
    first = await read(storage, limit=1)

    await storage.outbox.advance("relay", first.position)
    progress = await storage.outbox.progress("relay")

    assert progress == first.position
    assert subjects(await read(storage, progress)) == ["b"]
    assert await storage.outbox.progress("other") is None
    await storage.outbox.advance("relay", (await read(storage)).position)
    assert list((await read(storage, await storage.outbox.progress("relay"))).events) == []


async def test_a_consumer_that_never_said_how_far_it_has_come_has_passed_nothing(
    storage: Storage, clock: ManualClock
) -> None:
    await listening(storage)
    await lose(storage, "a")
    await storage.outbox.advance("relay", (await read(storage)).position)
    clock.advance(60)

    assert await storage.outbox.trim(keep=timedelta(), limit=10, consumers=("relay", "export")) == 0
    assert subjects(await read(storage)) == ["a"]
    assert await storage.outbox.trim(keep=timedelta(), limit=10, consumers=("relay",)) == 1


async def test_how_far_consumers_of_other_names_have_come_holds_nothing_up(
    storage: Storage, clock: ManualClock
) -> None:
    await listening(storage)
    await lose(storage, "a", "b")
    await storage.outbox.advance("gone for good", (await read(storage, limit=1)).position)
    await storage.outbox.advance("relay", (await read(storage)).position)
    clock.advance(60)

    assert await storage.outbox.trim(keep=timedelta(), limit=10, consumers=("relay",)) == 2


async def test_a_consumer_never_goes_back(storage: Storage) -> None:
    await listening(storage)
    await lose(storage, "a", "b")
    first, both = await read(storage, limit=1), await read(storage)

    await storage.outbox.advance("relay", both.position)
    await storage.outbox.advance("relay", first.position)

    assert await storage.outbox.progress("relay") == both.position


async def test_what_a_consumer_has_not_passed_is_not_removed(storage: Storage, clock: ManualClock) -> None:
    await listening(storage)
    await lose(storage, "a", "b", "c")
    await storage.outbox.advance("slow", (await read(storage, limit=1)).position)
    await storage.outbox.advance("fast", (await read(storage)).position)
    clock.advance(60)

    removed = await storage.outbox.trim(keep=timedelta(seconds=30), limit=10, consumers=("slow", "fast"))

    assert removed == 1
    assert subjects(await read(storage)) == ["b", "c"]
    assert subjects(await read(storage, await storage.outbox.progress("slow"))) == ["b", "c"]
    await storage.outbox.advance("slow", (await read(storage)).position)
    assert await storage.outbox.trim(keep=timedelta(seconds=30), limit=10, consumers=("slow", "fast")) == 2
    assert list((await read(storage)).events) == []


async def test_what_is_young_is_not_removed(storage: Storage, clock: ManualClock) -> None:
    await listening(storage)
    await lose(storage, "old")
    clock.advance(60)
    await lose(storage, "young")
    await storage.outbox.advance("relay", (await read(storage)).position)

    removed = await storage.outbox.trim(keep=timedelta(seconds=30), limit=10, consumers=("relay",))

    assert (removed, subjects(await read(storage))) == (1, ["young"])


async def test_the_age_of_what_is_kept_counts_from_when_it_was_let_out(storage: Storage, clock: ManualClock) -> None:
    await listening(storage)
    said_at = clock.now()
    clock.advance(60)
    await storage.outbox.append([a_loss("late", now=said_at)])

    removed = await storage.outbox.trim(keep=timedelta(seconds=30), limit=10, consumers=())

    assert (removed, subjects(await read(storage))) == (0, ["late"])


async def test_what_is_old_is_removed_in_bounded_steps_oldest_first(storage: Storage, clock: ManualClock) -> None:
    await listening(storage)
    await lose(storage, *"abcde")
    await storage.outbox.advance("relay", (await read(storage)).position)
    clock.advance(60)

    async def trim() -> int:
        return await storage.outbox.trim(keep=timedelta(), limit=2, consumers=("relay",))

    assert await trim() == 2
    assert subjects(await read(storage)) == ["c", "d", "e"]
    assert [await trim() for _ in range(3)] == [2, 1, 0]


async def test_a_position_whose_events_are_gone_is_refused_and_one_that_misses_nothing_is_not(
    storage: Storage, clock: ManualClock
) -> None:
    start = await listening(storage)
    await lose(storage, "a", "b")
    within = (await read(storage, limit=1)).position
    end = (await read(storage)).position
    await storage.outbox.advance("relay", end)
    clock.advance(60)
    await storage.outbox.trim(keep=timedelta(), limit=10, consumers=("relay",))

    for gone in (start, within):
        with pytest.raises(InvalidEvent) as refused:
            await read(storage, gone)
        assert [error.field for error in refused.value.errors] == ["position"]
    await listening(storage)
    await lose(storage, "c")
    assert subjects(await read(storage, end)) == ["c"]
    assert subjects(await read(storage)) == ["c"]
    with pytest.raises(InvalidEvent):
        await read(storage, within)


async def test_a_transaction_that_fails_lets_nothing_out(storage: Storage) -> None:
    await listening(storage)
    job = await an_idle_job(storage)
    known = (await read(storage)).position

    def broken(_job: ScheduledJob, _now: datetime) -> Plan:
        raise LookupError

    def failing(batch: Sequence[Resolved], situation: Situation) -> object:
        fanned_out(batch, situation)
        raise LookupError

    with pytest.raises(LookupError):
        await storage.jobs.change(TENANT, job.id, broken)
    with pytest.raises(LookupError):
        await storage.events.trigger(
            [Resolved(event=an_event())],
            failing,  # type: ignore[arg-type]  # it answers nothing
            revision=0,
        )

    assert list((await read(storage, known)).events) == []
