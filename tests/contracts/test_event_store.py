from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.contracts.event_steps import (
    Deciding,
    a_runner,
    a_stored_handler,
    doing,
    heard,
    impact_of,
    running,
    told_by,
    trigger,
    trigger_one,
)
from tests.contracts.steps import TENANT, an_idle_job, claim, counters, executions_of, recount, versions_of
from tests.makers import START, a_success, an_event, decided, fanned_out, new_id
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import EventNotFound, InvalidJob
from tocsin.domain.event import DEPTH_LIMIT, EventOrigin
from tocsin.domain.execution import ExecutionStatus, Origin
from tocsin.domain.impact import HandlerImpact, Impact, Touch
from tocsin.domain.job import JobStatus
from tocsin.domain.lifecycle import cancel, delete, pause
from tocsin.domain.plan import Plan
from tocsin.domain.resolution import Announce, FannedOut, Resolved, Run, Situation
from tocsin.domain.runs import EVENT_PAYLOAD_LIMIT
from tocsin.domain.trace import TraceContext
from tocsin.ports.events import HandlersChanged
from tocsin.ports.queries import EventFilter, ExecutionFilter, JobFilter
from tocsin.ports.storage import Storage

FOREIGN = "another"


async def test_a_new_event_is_stored_with_what_it_touched(storage: Storage, clock: ManualClock) -> None:
    clock.advance(7)
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    event = an_event()

    fanned = await trigger(storage, heard(event, running(handler, job)))

    [triggered] = fanned.events
    assert not triggered.is_duplicate
    assert triggered.event == await storage.events.get(TENANT, event.id)
    assert triggered.event.received_at == clock.now()
    [row] = await executions_of(storage, job)
    assert triggered.event.impact == Impact(
        handlers=(
            HandlerImpact(
                handler_id=handler.id,
                handler_version=1,
                touch=Touch.ACTED,
                action="run_job",
                execution_ids=(row.id,),
            ),
        )
    )
    assert [each.execution_id for each in fanned.dispatches] == [row.id]
    assert (list(fanned.stopped), fanned.jobs) == ([], 0)


async def test_an_event_that_nobody_hears_is_stored_all_the_same(storage: Storage) -> None:
    event = an_event()

    fanned = await trigger(storage, Resolved(event=event, others=3))

    assert fanned.events[0].event.impact == Impact(others=3)
    assert await impact_of(storage, event) == Impact(others=3)


async def test_every_field_of_an_event_is_kept(storage: Storage, clock: ManualClock) -> None:
    event = an_event(
        name="shop:order.created",
        data={"lines": [1, 2.5, None, True, "ünï"]},
        time=START - timedelta(days=1, microseconds=7),
        origin=EventOrigin.CLOUDEVENTS,
        trace=TraceContext(trace_id="a" * 32, span_id="b" * 16, flags=0, tracestate="vendor=word"),
        parent_span_id="c" * 16,
        source="/shop",
        subject="order/7",
        idempotency_key="order 7",
        attributes={"partitionkey": "7", "more": {"a": [1]}},
        correlation_id="the one of 7",
        cause=new_id(START),
        depth=3,
    )
    left_out = HandlerImpact(
        handler_id=new_id(START),
        handler_version=4,
        touch=Touch.FILTERED,
        action="call",
        reason="its filter was false",
        execution_ids=(new_id(START),),
        job_ids=(new_id(START), new_id(START)),
        event_ids=(new_id(START),),
        replayed_at=START,
    )

    await trigger(storage, Resolved(event=event, left_out=(left_out,), others=2))

    kept = replace(event, received_at=clock.now(), impact=Impact(handlers=(left_out,), others=2))
    assert await storage.events.get(TENANT, event.id) == kept
    assert list((await storage.events.list(TENANT, EventFilter())).items) == [kept]


@pytest.mark.parametrize("data", [None, [], {}, 0, "", False, "null"])
async def test_data_of_any_kind_comes_back_as_it_was(storage: Storage, data: object) -> None:
    event = await trigger_one(storage, data=data)

    read = await storage.events.get(TENANT, event.id)

    assert read.data == data
    assert type(read.data) is type(data)


async def test_what_a_reader_does_to_data_stays_with_the_reader(storage: Storage) -> None:
    event = await trigger_one(storage, data={"to": ["a"]}, attributes={"of": ["a"]})
    for document in (event.data, event.attributes):
        assert isinstance(document, dict)
        document.clear()

    read = await storage.events.get(TENANT, event.id)

    assert (read.data, read.attributes) == ({"to": ["a"]}, {"of": ["a"]})


async def test_other_tenants_see_nothing_of_an_event(storage: Storage) -> None:
    event = await trigger_one(storage)

    with pytest.raises(EventNotFound):
        await storage.events.get(FOREIGN, event.id)
    assert (await storage.events.list(FOREIGN, EventFilter())).total == 0
    with pytest.raises(EventNotFound):
        await storage.events.get(TENANT, new_id(START))


async def test_executions_of_an_event_carry_on_what_led_to_them(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, payload={"of": "job"}, priority=80, max_retries=7)
    handler = await a_runner(storage, job)
    event = an_event(
        depth=2,
        correlation_id="the one of 7",
        trace=TraceContext(trace_id="a" * 32, span_id="b" * 16, flags=0, tracestate="vendor=word"),
    )
    act = Run(job_id=job.id, overlay={"of": "event"}, told={})

    await trigger(storage, heard(event, doing(handler, act)))

    [row] = await executions_of(storage, job)
    assert (row.origin, row.event_id, row.event_handler_id) == (Origin.EVENT, event.id, handler.id)
    assert (row.depth, row.correlation_id, row.payload) == (2, "the one of 7", {"of": "event"})
    assert (row.priority, row.max_retries, row.job_version, row.created_at) == (80, 7, 1, clock.now())
    assert (row.trace_id, row.parent_span_id, row.trace_flags, row.tracestate) == (
        "a" * 32,
        "b" * 16,
        0,
        "vendor=word",
    )
    [attempt] = await claim(storage, row)
    assert attempt.event_id == event.id
    assert attempt.trace == row.trace


async def test_executions_are_listed_by_their_event(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=9)
    handler = await a_runner(storage, job)
    first = await trigger_one(storage, running(handler, job))
    second = await trigger_one(storage, running(handler, job))

    page = await storage.executions.list(TENANT, ExecutionFilter(event_id=first.id))

    assert [row.id for row in page.items] == list((await impact_of(storage, first)).execution_ids)
    assert (await storage.executions.list(TENANT, ExecutionFilter(event_id=second.id, job_id=job.id))).total == 1
    assert (await storage.executions.list(TENANT, ExecutionFilter(event_id=new_id(START)))).total == 0


async def test_an_event_fans_out_to_every_handler_in_order(storage: Storage) -> None:
    jobs = [await an_idle_job(storage, priority=priority) for priority in range(1, 31)]
    matches = [running(await a_runner(storage, job), job) for job in jobs]

    fanned = await trigger(storage, heard(an_event(), *matches))

    rows = [row for job in jobs for row in await executions_of(storage, job)]
    impact = fanned.events[0].event.impact
    assert impact is not None
    assert impact.matched == 30
    assert list(impact.execution_ids) == [row.id for row in rows]
    assert {(each.execution_id, each.priority) for each in fanned.dispatches} == {
        (row.id, row.priority) for row in rows
    }
    for job in jobs:
        assert await counters(storage, job) == recount(await executions_of(storage, job))


async def test_the_events_of_a_batch_are_decided_upon_at_once_in_their_order(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage, concurrency=2)
    handler = await a_runner(storage, job)
    events = [an_event() for _ in range(3)]
    deciding = Deciding()

    fanned = await trigger(storage, *(heard(event, running(handler, job)) for event in events), decide=deciding)

    assert deciding.batches == [[event.id for event in events]]
    assert deciding.situations[0].now == clock.now()
    assert [each.event.id for each in fanned.events] == [event.id for event in events]
    rows = await executions_of(storage, job)
    assert [row.event_id for row in rows] == [event.id for event in events]
    assert [row.holds_slot for row in rows] == [True, True, False]
    assert [each.execution_id for each in fanned.dispatches] == [row.id for row in rows[:2]]
    assert await counters(storage, job) == recount(rows)


async def test_an_empty_batch_comes_to_nothing(storage: Storage) -> None:
    fanned = await trigger(storage)

    assert (list(fanned.events), list(fanned.dispatches), list(fanned.stopped), fanned.jobs) == ([], [], [], 0)


async def test_the_same_key_again_answers_the_first_event_and_does_nothing(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=9)
    handler = await a_runner(storage, job)
    first = await trigger_one(storage, running(handler, job), idempotency_key="once")

    fanned = await trigger(storage, heard(an_event(idempotency_key="once", data="other"), running(handler, job)))

    [again] = fanned.events
    assert (again.is_duplicate, again.event) == (True, first)
    assert (list(fanned.dispatches), fanned.jobs) == ([], 0)
    assert len(await executions_of(storage, job)) == 1
    assert (await storage.event_handlers.get(TENANT, handler.id)).counters.triggered == 1


async def test_the_same_id_again_answers_the_first_event_and_does_nothing(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=9)
    handler = await a_runner(storage, job)
    first = await trigger_one(storage, running(handler, job))

    fanned = await trigger(storage, heard(replace(first, impact=None, data="other"), running(handler, job)))

    assert (fanned.events[0].is_duplicate, fanned.events[0].event) == (True, first)
    assert len(await executions_of(storage, job)) == 1


async def test_an_event_is_a_duplicate_of_an_earlier_one_of_its_batch(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=9)
    handler = await a_runner(storage, job)
    known = await trigger_one(storage, idempotency_key="known")
    first, lone = an_event(idempotency_key="once"), an_event()
    batch = [first, an_event(idempotency_key="once"), an_event(idempotency_key="known"), lone, lone]
    deciding = Deciding()

    fanned = await trigger(storage, *(heard(event, running(handler, job)) for event in batch), decide=deciding)

    assert [each.event.id for each in fanned.events] == [first.id, first.id, known.id, lone.id, lone.id]
    assert [each.is_duplicate for each in fanned.events] == [False, True, True, False, True]
    assert fanned.events[0].event == fanned.events[1].event
    assert deciding.batches == [[first.id, lone.id]]
    assert [row.event_id for row in await executions_of(storage, job)] == [first.id, lone.id]


async def test_the_keys_of_another_tenant_are_its_own(storage: Storage) -> None:
    mine, other = an_event(idempotency_key="once"), an_event(idempotency_key="once", tenant_id=FOREIGN)
    await trigger(storage, heard(mine))

    [answer] = (await trigger(storage, heard(other))).events

    assert (answer.is_duplicate, answer.event.id) == (False, other.id)
    assert (await storage.events.get(FOREIGN, other.id)).id == other.id


async def test_of_many_callers_with_one_key_only_one_does_anything(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=99)
    handler = await a_runner(storage, job)
    events = [an_event(idempotency_key=f"key {number % 5}") for number in range(20)]

    answers = await asyncio.gather(*(trigger(storage, heard(event, running(handler, job))) for event in events))

    first = [answer.events[0].event.id for answer in answers if not answer.events[0].is_duplicate]
    rows = await executions_of(storage, job)
    assert len(first) == 5
    assert {row.event_id for row in rows} == set(first)
    assert {answer.events[0].event.id for answer in answers} == set(first)
    assert await counters(storage, job) == recount(rows)


async def test_batches_that_name_the_same_jobs_in_any_order_do_not_hinder_each_other(storage: Storage) -> None:
    jobs = [await an_idle_job(storage, concurrency=3) for _ in range(4)]
    matches = [running(await a_runner(storage, job), job) for job in jobs]
    orders = [matches, matches[::-1], [*matches[2:], *matches[:2]]]

    await asyncio.gather(*(trigger(storage, heard(an_event(), *orders[number % 3])) for number in range(12)))

    for job in jobs:
        rows = await executions_of(storage, job)
        assert len(rows) == 12
        assert await counters(storage, job) == recount(rows)


async def test_nothing_is_stored_if_the_handlers_have_changed(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    known = await storage.event_handlers.registry(None)
    assert known is not None
    await a_stored_handler(storage)
    event = an_event()

    with pytest.raises(HandlersChanged):
        await storage.events.trigger([heard(event, running(handler, job))], fanned_out, revision=known.revision)

    with pytest.raises(EventNotFound):
        await storage.events.get(TENANT, event.id)
    assert not await executions_of(storage, job)


async def test_nothing_is_stored_if_nothing_could_be_decided(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    event = an_event(idempotency_key="once")

    def broken(batch: Sequence[Resolved], situation: Situation) -> FannedOut:
        raise LookupError(len(batch), situation)

    with pytest.raises(LookupError):
        await trigger(storage, heard(event, running(handler, job)), decide=broken)

    assert (await storage.events.list(TENANT, EventFilter())).total == 0
    assert not await executions_of(storage, job)
    fanned = await trigger(storage, heard(event, running(handler, job)))
    assert not fanned.events[0].is_duplicate


async def test_a_run_that_finds_no_slot_waits_and_is_admitted_later(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    await trigger_one(storage, running(handler, job))
    fanned = await trigger(storage, heard(an_event(), running(handler, job)))
    first, second = await executions_of(storage, job)
    assert (second.available_at, second.holds_slot, list(fanned.dispatches)) == (None, False, [])

    [attempt] = await claim(storage, first)
    finished = await storage.ledger.finish([a_success(attempt)])

    assert [each.execution_id for each in finished.dispatches] == [second.id]
    assert len(await claim(storage, second)) == 1


async def test_a_completed_job_can_be_run_by_an_event(storage: Storage) -> None:
    job = await an_idle_job(storage, status=JobStatus.COMPLETED)
    handler = await a_runner(storage, job)

    await trigger_one(storage, running(handler, job))

    assert [row.status for row in await executions_of(storage, job)] == [ExecutionStatus.PENDING]


@pytest.mark.parametrize("step", [pause, cancel, delete])
async def test_a_job_that_does_not_run_is_refused_and_says_why(storage: Storage, step: Callable[..., Plan]) -> None:
    job, sound = await an_idle_job(storage), await an_idle_job(storage)
    refusing, acting = await a_runner(storage, job), await a_runner(storage, sound)
    await storage.jobs.change(TENANT, job.id, decided(step))

    event = await trigger_one(storage, running(refusing, job), running(acting, sound))

    told = told_by(refusing, event)
    assert (told.touch, told.execution_ids) == (Touch.REFUSED, ())
    assert told.reason
    assert told_by(acting, event).touch is Touch.ACTED
    assert (await storage.event_handlers.get(TENANT, refusing.id)).counters.failed == 1
    assert (await storage.executions.list(TENANT, ExecutionFilter())).total == 1


async def test_a_job_of_another_tenant_or_of_nobody_is_not_there(storage: Storage) -> None:
    foreign = await an_idle_job(storage, tenant_id=FOREIGN)
    handler = await a_stored_handler(storage)
    nobodys = doing(handler, Run(job_id=new_id(START), overlay=None, told={}))

    fanned = await trigger(storage, heard(an_event(), running(handler, foreign)), heard(an_event(), nobodys))

    assert [told_by(handler, each.event).touch for each in fanned.events] == [Touch.REFUSED] * 2
    assert not await executions_of(storage, foreign)


async def test_a_handler_of_every_tenant_runs_a_job_of_its_own_for_all(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job, every_tenant=True)

    await trigger_one(storage, running(handler, job), tenant_id=FOREIGN)

    assert [row.tenant_id for row in await executions_of(storage, job)] == [TENANT]


async def test_a_payload_that_cannot_be_kept_refuses_one_handler_only(storage: Storage) -> None:
    job, sound = await an_idle_job(storage), await an_idle_job(storage)
    handler, acting = await a_runner(storage, job), await a_runner(storage, sound)
    huge = Run(job_id=job.id, overlay="x" * EVENT_PAYLOAD_LIMIT, told={})

    event = await trigger_one(storage, doing(handler, huge), running(acting, sound))

    assert [told_by(each, event).touch for each in (handler, acting)] == [Touch.REFUSED, Touch.ACTED]


async def test_an_event_of_a_chain_that_is_too_long_touches_nothing(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)

    event = await trigger_one(storage, running(handler, job), depth=DEPTH_LIMIT + 1)

    impact = await impact_of(storage, event)
    assert impact.stopped
    assert not impact.handlers
    assert not await executions_of(storage, job)


async def test_what_a_handler_publishes_goes_to_the_outbox(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    event = await trigger_one(storage, doing(handler, Announce(name="order.seen", data={"n": 1}, subject="order/7")))

    [published] = (await storage.outbox.read(after=None, limit=10)).events
    assert (published.name, published.data, published.subject) == ("order.seen", {"n": 1}, "order/7")
    assert (published.origin, published.cause, published.depth) == (EventOrigin.PUBLISH, event.id, 1)
    assert (published.tenant_id, published.impact) == (TENANT, None)
    assert told_by(handler, event).event_ids == (published.id,)


async def test_handlers_count_what_came_of_them(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=9, max_retries=0)
    handler = await a_runner(storage, job)
    clock.advance(60)
    left_out = HandlerImpact(handler_id=handler.id, handler_version=1, touch=Touch.FILTERED, action="run_job")

    await trigger(storage, heard(an_event(), running(handler, job)), Resolved(event=an_event(), left_out=(left_out,)))
    await trigger(storage, heard(an_event(), running(handler, job)))

    counted = (await storage.event_handlers.get(TENANT, handler.id)).counters
    assert (counted.triggered, counted.matched, counted.succeeded, counted.failed) == (3, 2, 0, 0)
    assert counted.last_triggered == clock.now()


async def test_events_are_listed_newest_first_page_by_page(storage: Storage, clock: ManualClock) -> None:
    events = []
    for _ in range(3):
        events += [(await trigger_one(storage)).id for _ in range(2)]
        clock.advance(1)

    first = await storage.events.list(TENANT, EventFilter(limit=4))
    rest = await storage.events.list(TENANT, EventFilter(limit=4, cursor=first.next_cursor))

    assert [event.id for event in (*first.items, *rest.items)] == events[::-1]
    assert (first.total, rest.total, rest.next_cursor) == (6, 6, None)
    by_offset = await storage.events.list(TENANT, EventFilter(limit=2, offset=3))
    assert [event.id for event in by_offset.items] == events[1:3][::-1]
    with pytest.raises(InvalidJob):
        await storage.events.list(TENANT, EventFilter(name=("other",), cursor=first.next_cursor))


async def test_a_list_of_events_is_narrowed_to_what_is_asked_for(storage: Storage, clock: ManualClock) -> None:
    handler = await a_stored_handler(storage)
    act = doing(handler, Announce(name="seen", data=None, subject=None))
    early = await trigger_one(storage, act, name="shop:order.created", source="/shop", subject="order/1")
    clock.advance(60)
    plain = await trigger_one(storage, name="shop:order_x", source="/stock")
    clock.advance(60)
    late = await trigger_one(storage, name="shop:orderZx", subject="order/2")

    async def found(**conditions: object) -> set[object]:
        page = await storage.events.list(TENANT, EventFilter(**conditions))  # type: ignore[arg-type]  # by name
        return {event.id for event in page.items}

    assert await found(name=("shop:order_x", "shop:orderZx")) == {plain.id, late.id}
    assert await found(name_prefix="shop:order_") == {plain.id}
    assert await found(name_prefix="shop:order") == {early.id, plain.id, late.id}
    assert await found(name_prefix="SHOP") == set()
    assert await found(source=("/shop", "/nowhere")) == {early.id}
    assert await found(subject=("order/1", "order/2")) == {early.id, late.id}
    assert await found(matched=True) == {early.id}
    assert await found(matched=False) == {plain.id, late.id}
    assert await found(received_after=plain.received_at) == {plain.id, late.id}
    assert await found(received_before=plain.received_at) == {early.id, plain.id}
    assert await found(matched=False, source=("/stock",), received_after=early.received_at) == {plain.id}


async def test_stored_events_of_a_range_are_read_oldest_first(storage: Storage, clock: ManualClock) -> None:
    events = []
    for minute in range(4):
        events.append(await trigger_one(storage, tenant_id=TENANT if minute != 2 else FOREIGN))
        clock.advance(60)
    since, until = events[1].received_at, events[3].received_at

    every = await storage.events.stored(None, since=since, until=until, limit=10)
    mine = await storage.events.stored(TENANT, since=START, until=clock.now(), limit=2)
    rest = await storage.events.stored(TENANT, since=START, until=clock.now(), limit=2, after=mine[-1].id)

    assert list(every) == events[1:3]
    assert list(mine) == events[:2]
    assert list(rest) == [events[3]]


async def test_stored_events_are_read_by_their_ids_in_whatever_order_they_came(storage: Storage) -> None:
    events = [an_event() for _ in range(4)]
    for event in reversed(events):
        await trigger(storage, heard(event))
    until = START + timedelta(days=1)

    first = await storage.events.stored(TENANT, since=START, until=until, limit=3)
    rest = await storage.events.stored(TENANT, since=START, until=until, limit=3, after=first[-1].id)

    assert [event.id for event in (*first, *rest)] == [event.id for event in events]


async def test_old_events_are_removed_and_their_keys_free_again(storage: Storage, clock: ManualClock) -> None:
    old = [await trigger_one(storage, idempotency_key=f"key {number}") for number in range(3)]
    clock.advance(60)
    young = await trigger_one(storage)
    clock.advance(10)

    removed = [await storage.events.purge(keep=timedelta(seconds=30), limit=2) for _ in range(3)]

    assert removed == [2, 1, 0]
    assert [event.id for event in (await storage.events.list(TENANT, EventFilter())).items] == [young.id]
    with pytest.raises(EventNotFound):
        await storage.events.get(TENANT, old[0].id)
    assert not (await trigger(storage, heard(an_event(idempotency_key="key 0")))).events[0].is_duplicate


async def test_the_jobs_of_a_tenant_are_read_only_where_they_are_wanted(storage: Storage) -> None:
    job = await an_idle_job(storage, key="k")
    await an_idle_job(storage)
    handler = await a_runner(storage, job)
    deciding = Deciding()

    await trigger(storage, heard(an_event(), running(handler, job)), decide=deciding)

    [situation] = deciding.situations
    assert list(situation.jobs) == [job.id]
    assert situation.jobs[job.id].definition == job.definition
    assert (dict(situation.keyed), dict(situation.cancellable), dict(situation.flows)) == ({}, {}, {})
    assert (await storage.jobs.list(TENANT, JobFilter())).total == 2
    assert len(await versions_of(storage, TENANT, job.id)) == 1
