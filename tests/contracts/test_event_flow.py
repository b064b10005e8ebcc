"""What event handlers remember of their keys, what they hold until later, and what they are shown again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from tests.contracts.event_steps import (
    Deciding,
    a_runner,
    a_stored_handler,
    due_gathering,
    heard,
    impact_of,
    running,
    told_by,
    trigger,
    trigger_one,
)
from tests.contracts.steps import TENANT, an_idle_job, counters, executions_of, recount
from tests.makers import START, a_handler, an_event, decided, fanned_out, new_id
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import EventNotFound
from tocsin.domain.event import Event, EventHandler, RunJob
from tocsin.domain.flow import Batch, Debounce, FlowControl, FlowState, Gathering, Rate
from tocsin.domain.impact import HandlerImpact, Touch
from tocsin.domain.job import ScheduledJob
from tocsin.domain.lifecycle import delete
from tocsin.domain.resolution import Resolved
from tocsin.ports.events import GATHERED_BYTES, DueGathering, Fanned
from tocsin.ports.storage import Storage

SECOND = timedelta(seconds=1)


async def a_limited_runner(storage: Storage, **flow: object) -> tuple[EventHandler, ScheduledJob]:
    job = await an_idle_job(storage, concurrency=99)
    handler = await a_runner(storage, job, flow=FlowControl(**flow))  # type: ignore[arg-type]  # by name
    return handler, job


async def touch(storage: Storage, handler: EventHandler, job: ScheduledJob, key: str = "") -> HandlerImpact:
    event = await trigger_one(storage, running(handler, job, flow_key=key))
    return told_by(handler, event)


def again(item: DueGathering, job: ScheduledJob) -> Resolved:
    """What is shown of a gathering that is due: its newest event."""
    match = running(item.handler, job, gathering=item.gathering)
    return Resolved(event=item.events[-1], matches=(match,), gathering=item.gathering)


async def act_upon_due(storage: Storage, job: ScheduledJob) -> Fanned:
    items = (await storage.events.due_gatherings(limit=10)).items
    entries = [again(item, job) for item in items]
    return await storage.events.revisit(entries, fanned_out, closes=[item.gathering for item in items])


async def flow_of(storage: Storage, handler: EventHandler, job: ScheduledJob, key: str = "") -> FlowState:
    """Read what is remembered of a key, as the next event finds it."""
    deciding = Deciding()
    await trigger(storage, heard(an_event(), running(handler, job, flow_key=key)), decide=deciding)
    return deciding.situations[0].flows.get((handler.id, key), FlowState())


async def test_repetitions_of_a_key_are_dropped_until_its_window_is_over(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, dedupe_seconds=10)

    first = await touch(storage, handler, job, "7")
    repeated = await touch(storage, handler, job, "7")
    other = await touch(storage, handler, job, "8")
    clock.advance(10)
    later = await touch(storage, handler, job, "7")

    assert [told.touch for told in (first, repeated, other, later)] == [
        Touch.ACTED,
        Touch.LIMITED,
        Touch.ACTED,
        Touch.ACTED,
    ]
    assert repeated.reason == "dedupe"
    assert len(await executions_of(storage, job)) == 3


async def test_the_keys_of_two_handlers_are_apart(storage: Storage) -> None:
    handler, job = await a_limited_runner(storage, dedupe_seconds=10)
    other = await a_runner(storage, job, flow=handler.definition.flow)

    touches = [(await touch(storage, each, job, "7")).touch for each in (handler, other, handler)]

    assert touches == [Touch.ACTED, Touch.ACTED, Touch.LIMITED]


async def test_a_rate_is_kept_to_across_calls_and_within_a_batch(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, rate_limit=Rate(limit=2, seconds=10))
    await touch(storage, handler, job)
    clock.advance(1)

    fanned = await trigger(storage, *(heard(an_event(), running(handler, job, flow_key="")) for _ in range(2)))
    clock.advance(5)

    assert [told_by(handler, each.event).touch for each in fanned.events] == [Touch.ACTED, Touch.LIMITED]
    assert (await touch(storage, handler, job)).touch is Touch.ACTED


async def test_of_many_callers_at_once_a_limit_lets_through_what_it_says(storage: Storage) -> None:
    handler, job = await a_limited_runner(storage, rate_limit=Rate(limit=3, seconds=60))

    told = await asyncio.gather(*(touch(storage, handler, job, "7") for _ in range(10)))

    assert [each.touch for each in told].count(Touch.ACTED) == 3
    assert len(await executions_of(storage, job)) == 3


async def test_every_part_of_what_is_remembered_is_kept(storage: Storage, clock: ManualClock) -> None:
    flow = {"dedupe_seconds": 5, "rate_limit": Rate(limit=10, seconds=10), "debounce": Debounce(seconds=60)}
    handler, job = await a_limited_runner(storage, **flow)
    clock.advance(timedelta(microseconds=7))
    event = await trigger_one(storage, running(handler, job, flow_key="ünï"))
    now = clock.now()

    state = await flow_of(storage, handler, job, "ünï")

    [gathering_id] = told_by(handler, event).execution_ids
    assert state == FlowState(
        seen_until=now + 5 * SECOND,
        rate_limit_at=now + SECOND,
        gathering=Gathering(id=gathering_id, event_ids=(event.id,), first_at=now, due_at=now + 60 * SECOND),
    )


async def test_a_throttled_event_is_acted_upon_at_its_time(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, throttle=Rate(limit=1, seconds=10))
    events = [await trigger_one(storage, running(handler, job, flow_key="")) for _ in range(3)]
    assert [told_by(handler, event).touch for event in events] == [Touch.ACTED, Touch.HELD, Touch.HELD]

    early = await storage.events.due_gatherings(limit=10)
    clock.advance(25)
    first = await storage.events.due_gatherings(limit=1)
    both = await storage.events.due_gatherings(limit=10)

    assert (list(early.items), early.next_due, early.now) == ([], START + 10 * SECOND, START)
    assert [list(item.events) for item in first.items] == [[events[1]]]
    assert first.next_due == START + 20 * SECOND
    assert [list(item.events) for item in both.items] == [[events[1]], [events[2]]]
    assert (both.next_due, both.now) == (None, clock.now())
    await act_upon_due(storage, job)
    assert [row.event_id for row in await executions_of(storage, job)] == [event.id for event in events]
    assert not (await storage.events.due_gatherings(limit=10)).items


async def test_a_debounced_key_is_acted_upon_once_it_is_quiet(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    old = await trigger_one(storage, running(handler, job, flow_key="7"))
    clock.advance(9)
    new = await trigger_one(storage, running(handler, job, flow_key="7"), data="newest")
    promised = told_by(handler, new).execution_ids
    clock.advance(10)

    [item] = (await storage.events.due_gatherings(limit=10)).items
    fanned = await storage.events.revisit([again(item, job)], fanned_out, closes=[item.gathering])

    assert promised == told_by(handler, old).execution_ids
    assert (item.handler.id, item.flow_key, list(item.events)) == (handler.id, "7", [new])
    assert (item.gathering.superseded, item.gathering.first_at) == (1, START)
    [row] = await executions_of(storage, job)
    assert ((row.id,), row.event_id) == (promised, new.id)
    assert [each.execution_id for each in fanned.dispatches] == [row.id]
    told = told_by(handler, fanned.events[0].event)
    assert (told.touch, told.execution_ids, told.replayed_at) == (Touch.ACTED, promised, None)
    assert await impact_of(storage, new) == fanned.events[0].event.impact
    counted = (await storage.event_handlers.get(TENANT, handler.id)).counters
    assert (counted.triggered, counted.matched, counted.failed) == (2, 2, 0)


async def test_after_it_was_acted_upon_a_key_begins_afresh(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    await touch(storage, handler, job)
    clock.advance(10)
    await act_upon_due(storage, job)

    event = await trigger_one(storage, running(handler, job, flow_key=""))
    clock.advance(10)

    gathering = await due_gathering(storage)
    assert (gathering.event_ids, gathering.superseded) == ((event.id,), 0)
    await act_upon_due(storage, job)
    assert len(await executions_of(storage, job)) == 2


async def test_a_batch_is_acted_upon_when_it_is_full_or_old(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, batch=Batch(size=2, seconds=60))
    events = [await trigger_one(storage, running(handler, job, flow_key="")) for _ in range(3)]

    [full] = (await storage.events.due_gatherings(limit=10)).items
    await act_upon_due(storage, job)
    clock.advance(60)
    [old] = (await storage.events.due_gatherings(limit=10)).items
    await act_upon_due(storage, job)

    assert (list(full.events), list(old.events)) == (events[:2], events[2:])
    assert full.gathering.due_at == START
    assert [row.id for row in await executions_of(storage, job)] == [full.gathering.id, old.gathering.id]


async def test_a_batch_gathers_across_calls_and_within_one(storage: Storage) -> None:
    handler, job = await a_limited_runner(storage, batch=Batch(size=5, seconds=60))
    first = await trigger_one(storage, running(handler, job, flow_key=""))
    more = [an_event() for _ in range(7)]

    await trigger(storage, *(heard(event, running(handler, job, flow_key="")) for event in more))

    [full] = (await storage.events.due_gatherings(limit=10)).items
    assert full.gathering.event_ids == (first.id, *(event.id for event in more[:4]))
    assert [event.id for event in full.events] == list(full.gathering.event_ids)
    state = await flow_of(storage, handler, job)
    assert state.gathering is not None
    assert state.gathering.event_ids == tuple(event.id for event in more[4:])


async def stale(storage: Storage, handler: EventHandler, job: ScheduledJob, key: str = "") -> Gathering:
    """Have one more event join an open gathering; give that as it was before."""
    before = await flow_of(storage, handler, job, key)
    assert before.gathering is not None
    return before.gathering


async def test_a_gathering_that_changed_meanwhile_waits_on(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    await touch(storage, handler, job)
    before = await stale(storage, handler, job)
    clock.advance(10)
    [item] = (await storage.events.due_gatherings(limit=10)).items
    assert item.gathering != before

    fanned = await storage.events.revisit([again(replace(item, gathering=before), job)], fanned_out, closes=[before])

    assert (list(fanned.events), list(fanned.dispatches)) == ([], [])
    assert not await executions_of(storage, job)
    assert await due_gathering(storage) == item.gathering


async def test_what_comes_before_anybody_acted_begins_another_gathering(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    first = await trigger_one(storage, running(handler, job, flow_key=""))
    clock.advance(10)

    second = await trigger_one(storage, running(handler, job, flow_key=""))
    [item] = (await storage.events.due_gatherings(limit=10)).items
    await act_upon_due(storage, job)
    state = await flow_of(storage, handler, job)

    assert item.gathering.event_ids == (first.id,)
    assert [row.event_id for row in await executions_of(storage, job)] == [first.id]
    assert state.gathering is not None
    assert state.gathering.event_ids == (second.id,)


async def test_of_many_that_act_upon_one_gathering_only_one_does(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    await touch(storage, handler, job)
    clock.advance(10)
    [item] = (await storage.events.due_gatherings(limit=10)).items

    shown = await asyncio.gather(
        *(storage.events.revisit([again(item, job)], fanned_out, closes=[item.gathering]) for _ in range(5))
    )

    assert sorted(len(fanned.events) for fanned in shown) == [0, 0, 0, 0, 1]
    rows = await executions_of(storage, job)
    assert len(rows) == 1
    assert await counters(storage, job) == recount(rows)


async def test_one_that_changed_does_not_hold_up_the_others(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    for key in "abc":
        await touch(storage, handler, job, key)
    before = await stale(storage, handler, job, "b")
    clock.advance(10)
    due = (await storage.events.due_gatherings(limit=10)).items
    items = [replace(item, gathering=before) if item.flow_key == "b" else item for item in due]

    entries = [again(item, job) for item in items]
    fanned = await storage.events.revisit(entries, fanned_out, closes=[item.gathering for item in items])

    shown = [item.events[0].id for item in items if item.flow_key != "b"]
    assert [each.event.id for each in fanned.events] == shown
    assert [row.event_id for row in await executions_of(storage, job)] == shown


async def test_an_event_that_several_handlers_held_is_told_what_each_made_of_it(
    storage: Storage, clock: ManualClock
) -> None:
    one, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    other = await a_runner(storage, job, flow=one.definition.flow)
    event = await trigger_one(storage, *(running(handler, job, flow_key="") for handler in (one, other)))
    clock.advance(10)

    await act_upon_due(storage, job)

    told = (await impact_of(storage, event)).handlers
    assert [(each.handler_id, each.touch) for each in told] == [(one.id, Touch.ACTED), (other.id, Touch.ACTED)]
    assert {row.id for row in await executions_of(storage, job)} == {id_ for each in told for id_ in each.execution_ids}


async def test_a_handler_that_can_do_nothing_about_what_it_held_says_so(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    event = await trigger_one(storage, running(handler, job, flow_key=""))
    await storage.jobs.change(TENANT, job.id, decided(delete))
    clock.advance(10)

    await act_upon_due(storage, job)

    told = told_by(handler, await storage.events.get(TENANT, event.id))
    assert told.touch is Touch.REFUSED
    assert (await storage.event_handlers.get(TENANT, handler.id)).counters.failed == 1
    assert not (await storage.events.due_gatherings(limit=10)).items


async def test_a_handler_that_is_disabled_drops_what_it_held(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    await touch(storage, handler, job)

    def disabled(handler: EventHandler, _: object) -> EventHandler:
        return replace(handler, definition=replace(handler.definition, enabled=False))

    def enabled(handler: EventHandler, _: object) -> EventHandler:
        return replace(handler, definition=replace(handler.definition, enabled=True))

    await storage.event_handlers.change(TENANT, handler.id, disabled)
    clock.advance(10)
    while_disabled = await storage.events.due_gatherings(limit=10)
    await storage.event_handlers.change(TENANT, handler.id, enabled)

    assert (list(while_disabled.items), while_disabled.next_due) == ([], None)
    assert not (await storage.events.due_gatherings(limit=10)).items
    state = await flow_of(storage, handler, job)
    assert state.gathering is None


async def test_a_handler_that_is_removed_takes_along_what_it_held(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    await touch(storage, handler, job)
    clock.advance(10)
    [item] = (await storage.events.due_gatherings(limit=10)).items
    await storage.event_handlers.remove(TENANT, handler.id, job=decided(delete))

    fanned = await storage.events.revisit([again(item, job)], fanned_out, closes=[item.gathering])

    assert not fanned.events
    assert not (await storage.events.due_gatherings(limit=10)).items
    assert not await executions_of(storage, job)


async def test_what_a_gathering_holds_outlasts_its_time(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, batch=Batch(size=9, seconds=60))
    held = [await trigger_one(storage, running(handler, job, flow_key="")) for _ in range(2)]
    other = await trigger_one(storage)
    clock.advance(60)

    removed = await storage.events.purge(keep=SECOND, limit=1)
    [item] = (await storage.events.due_gatherings(limit=10)).items
    await act_upon_due(storage, job)
    later = [await storage.events.purge(keep=SECOND, limit=10) for _ in range(2)]

    assert (removed, later) == (1, [2, 0])
    assert list(item.events) == held
    with pytest.raises(EventNotFound):
        await storage.events.get(TENANT, other.id)


async def test_what_is_due_is_read_a_bounded_stretch_at_a_time(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, batch=Batch(size=3, seconds=10))
    too_much = "x" * (GATHERED_BYTES // 2)

    async def gathered(key: str, *data: str) -> list[UUID]:
        clock.advance(1)
        return [(await trigger_one(storage, running(handler, job, flow_key=key), data=each)).id for each in data]

    small = [await gathered(f"{number}", "little") for number in range(2)]
    large = [await gathered("large", *[too_much] * 3), await gathered("also large", too_much, too_much)]
    last = await gathered("last", "little")
    clock.advance(60)

    looks = []
    while (due := await storage.events.due_gatherings(limit=10)).items:
        looks.append([[event.id for event in item.events] for item in due.items])
        assert (due.next_due is None) is (len(looks) == 4)
        assert due.next_due is None or due.next_due <= due.now
        await storage.events.revisit([], fanned_out, closes=[item.gathering for item in due.items])

    assert looks == [[large[0]], small, [large[1]], [last]]


async def test_a_handler_that_has_nothing_to_say_of_what_was_closed_elsewhere_is_not_heard(
    storage: Storage, clock: ManualClock
) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    event = await trigger_one(storage, running(handler, job, flow_key=""))
    clock.advance(10)
    [item] = (await storage.events.due_gatherings(limit=10)).items
    await act_upon_due(storage, job)
    refusal = HandlerImpact(handler_id=handler.id, handler_version=1, touch=Touch.REFUSED, action="run_job")

    late = Resolved(event=event, left_out=(refusal,), gathering=item.gathering)
    fanned = await storage.events.revisit([late], fanned_out, closes=[item.gathering])

    assert list(fanned.events) == []
    assert told_by(handler, await storage.events.get(TENANT, event.id)).touch is Touch.ACTED
    assert (await storage.event_handlers.get(TENANT, handler.id)).counters.failed == 0


async def test_a_handler_that_refuses_what_it_held_closes_it(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    event = await trigger_one(storage, running(handler, job, flow_key=""))
    clock.advance(10)
    gathering = await due_gathering(storage)
    refusal = HandlerImpact(handler_id=handler.id, handler_version=1, touch=Touch.REFUSED, action="run_job")

    resolved = Resolved(event=event, left_out=(refusal,), gathering=gathering)
    await storage.events.revisit([resolved], fanned_out, closes=[gathering])

    assert told_by(handler, await storage.events.get(TENANT, event.id)).touch is Touch.REFUSED
    assert (await storage.event_handlers.get(TENANT, handler.id)).counters.failed == 1
    assert not (await storage.events.due_gatherings(limit=10)).items


async def test_keys_that_say_nothing_any_more_are_forgotten(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, dedupe_seconds=10)
    await touch(storage, handler, job, "over")
    clock.advance(5)
    await touch(storage, handler, job, "on")
    clock.advance(5)

    await storage.events.purge(keep=timedelta(days=1), limit=10)

    assert await flow_of(storage, handler, job, "over") == FlowState()
    assert await flow_of(storage, handler, job, "on") == FlowState(seen_until=START + 15 * SECOND)


async def test_a_key_with_an_open_gathering_is_not_forgotten(storage: Storage, clock: ManualClock) -> None:
    handler, job = await a_limited_runner(storage, batch=Batch(size=2, seconds=10))
    await touch(storage, handler, job)
    clock.advance(60)

    await storage.events.purge(keep=timedelta(days=1), limit=10)

    state = await flow_of(storage, handler, job)
    assert state.gathering is not None


def replayed(event: Event, handler: EventHandler, job: ScheduledJob) -> Resolved:
    return Resolved(event=event, matches=(running(handler, job),), replayed=True)


async def test_a_handler_that_came_later_acts_upon_stored_events_once(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=99)
    early = await a_runner(storage, job)
    events = [await trigger_one(storage, running(early, job)), await trigger_one(storage)]
    clock.advance(60)
    late = await a_runner(storage, job)

    fanned = await storage.events.revisit([replayed(event, late, job) for event in events], fanned_out)
    again = await storage.events.revisit([replayed(event, late, job) for event in events], fanned_out)

    rows = await executions_of(storage, job)
    assert [row.event_id for row in rows] == [events[0].id, *(event.id for event in events)]
    assert [each.execution_id for each in fanned.dispatches] == [row.id for row in rows[1:]]
    assert list(again.dispatches) == []
    told = (await impact_of(storage, events[0])).handlers
    assert [each.handler_id for each in told] == [early.id, late.id]
    assert [each.replayed_at for each in told] == [None, clock.now()]
    assert (await storage.events.get(TENANT, events[0].id)).received_at == START
    counted = (await storage.event_handlers.get(TENANT, late.id)).counters
    assert (counted.triggered, counted.matched) == (2, 2)
    assert await counters(storage, job) == recount(rows)


async def test_a_handler_that_left_an_event_out_may_act_when_it_is_shown_again(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    filtered = HandlerImpact(handler_id=handler.id, handler_version=1, touch=Touch.FILTERED, action="run_job")
    fanned = await trigger(storage, Resolved(event=an_event(), left_out=(filtered,)))
    event = fanned.events[0].event

    await storage.events.revisit([replayed(event, handler, job)], fanned_out)

    assert [each.touch for each in (await impact_of(storage, event)).handlers] == [Touch.ACTED]
    assert len(await executions_of(storage, job)) == 1


async def test_a_handler_that_holds_an_event_is_not_shown_it_again(storage: Storage) -> None:
    handler, job = await a_limited_runner(storage, debounce=Debounce(seconds=10))
    event = await trigger_one(storage, running(handler, job, flow_key=""))

    await storage.events.revisit([replayed(event, handler, job)], fanned_out)

    assert await impact_of(storage, event) == event.impact
    assert not await executions_of(storage, job)


async def test_an_event_that_is_gone_is_not_shown(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    stored = await trigger_one(storage)

    fanned = await storage.events.revisit([replayed(each, handler, job) for each in (an_event(), stored)], fanned_out)

    assert [each.event.id for each in fanned.events] == [stored.id]
    assert [row.event_id for row in await executions_of(storage, job)] == [stored.id]


async def test_of_many_replays_at_once_only_one_does_anything(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=99)
    handler = a_handler(action=RunJob(job_id=job.id), id=new_id(START))
    await storage.event_handlers.add(handler, None)
    events = [await trigger_one(storage) for _ in range(3)]

    await asyncio.gather(
        *(storage.events.revisit([replayed(event, handler, job) for event in events], fanned_out) for _ in range(5))
    )

    rows = await executions_of(storage, job)
    assert sorted(row.event_id for row in rows if row.event_id) == [event.id for event in events]
    assert await counters(storage, job) == recount(rows)


async def test_a_free_handler_leaves_no_trace_of_its_keys(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_stored_handler(storage)
    deciding = Deciding()

    await trigger(storage, heard(an_event(), running(handler, job)), decide=deciding)

    assert dict(deciding.situations[0].flows) == {}
