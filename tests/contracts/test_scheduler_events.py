"""What `IScheduler` promises about events, on all engines, in process and over HTTP against a listening server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from tests.contracts.steps import claim
from tests.http.nodes import StillNode
from tests.makers import START, a_definition, a_success
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import (
    Conflict,
    EventHandlerNotFound,
    EventNotFound,
    ExecutionNotFound,
    InvalidEvent,
    InvalidEventHandler,
    InvalidInput,
    JobNotFound,
    VersionConflict,
)
from tocsin.domain.event import (
    Action,
    Call,
    CancelJobs,
    CreateJob,
    EventHandler,
    EventHandlerDefinition,
    EventHandlerMode,
    JobKeyConflict,
    NewEvent,
    Publish,
    RunJob,
)
from tocsin.domain.execution import ExecutionStatus, Origin
from tocsin.domain.flow import Batch, Debounce, FlowControl, Rate
from tocsin.domain.impact import Touch
from tocsin.domain.job import JobStatus, JobType, ScheduledJob
from tocsin.domain.trace import TraceContext, span_of
from tocsin.ports.conflicts import OnConflict
from tocsin.ports.event_requests import FeedItem, FilterTrial
from tocsin.ports.ledger import LogLine
from tocsin.ports.queries import EventFilter, EventHandlerFilter, ExecutionFilter, JobFilter
from tocsin.ports.scheduler import IScheduler

NOBODY = UUID(int=7)
CALLER = TraceContext(trace_id="4bf92f3577b34da6a3ce929d0e0e4736", span_id="00f067aa0ba902b7", tracestate="vendor=1")


async def an_idle_job(scheduler: IScheduler, **fields: Any) -> ScheduledJob:  # noqa: ANN401 - fields of a definition
    return await scheduler.schedule(a_definition(**{"type": JobType.EVENT, "schedule": None, **fields}))


async def a_rule(scheduler: IScheduler, action: Action, **fields: Any) -> EventHandler:  # noqa: ANN401 - of a definition
    return await scheduler.on_event(EventHandlerDefinition(**{"event": "order.*", "action": action, **fields}))


@asynccontextmanager
async def watching(scheduler: IScheduler, *, after: str | None = None) -> AsyncIterator[AsyncIterator[FeedItem]]:
    feed = scheduler.watch(after=after)
    try:
        yield feed
    finally:
        await cast("Any", feed).aclose()


async def next_fact(feed: AsyncIterator[FeedItem]) -> FeedItem:
    async with asyncio.timeout(20):
        async for item in feed:
            if item.fact is not None:
                return item
    raise AssertionError("the feed ended")


async def test_an_event_runs_a_job_with_its_payload_merged(scheduler: IScheduler) -> None:
    job = await an_idle_job(scheduler, payload={"keep": 1, "order": None})
    rule = await a_rule(scheduler, RunJob(job_id=job.id, payload={"order": "{{ event.data.order }}"}))

    outcome = await scheduler.trigger_event("order.created", {"order": 7}, correlation_id="c-1")

    [execution] = (await scheduler.list_executions(ExecutionFilter(event_id=outcome.event_id))).items
    assert (outcome.matched, outcome.is_duplicate, outcome.outcomes) == (1, False, None)
    assert list(outcome.execution_ids) == [execution.id]
    assert execution.payload == {"keep": 1, "order": 7}
    assert (execution.origin, execution.job_id, execution.depth) == (Origin.EVENT, job.id, 0)
    assert (execution.event_id, execution.event_handler_id) == (outcome.event_id, rule.id)
    assert execution.correlation_id == "c-1"


async def test_an_event_is_read_as_it_was_published(scheduler: IScheduler, node: StillNode) -> None:
    at = START - timedelta(hours=1)

    outcome = await scheduler.trigger_event(
        "shop:order.created",
        {"list": [1, 2.5, None, True, "🔔"]},
        source="https://shop.example.com",
        subject="order/7",
        time=at,
        idempotency_key="order-7",
        correlation_id="c-1",
        attributes={"region": "eu", "number": 5, "flag": True},
        trace=CALLER,
    )

    report = await scheduler.get_event(outcome.event_id)
    event = report.event
    assert report == await node.scheduler.get_event(outcome.event_id)
    assert (event.name, event.data) == ("shop:order.created", {"list": [1, 2.5, None, True, "🔔"]})
    assert (event.source, event.subject, event.time) == ("https://shop.example.com", "order/7", at)
    assert (event.idempotency_key, event.correlation_id, event.depth) == ("order-7", "c-1", 0)
    assert event.attributes == {"region": "eu", "number": 5, "flag": True}
    assert event.trace == CALLER.under(span_of(event.id))
    assert event.parent_span_id == CALLER.span_id


async def test_an_event_that_nobody_knows_is_kept_and_touches_nothing(scheduler: IScheduler) -> None:
    outcome = await scheduler.trigger_event("nobody.knows")

    report = await scheduler.get_event(outcome.event_id)
    assert (outcome.matched, list(outcome.execution_ids)) == (0, [])
    assert report.event.impact is not None
    assert (report.event.impact.matched, report.executions) == (0, [])


async def test_the_impact_says_of_each_handler_what_it_did_and_why_not(scheduler: IScheduler) -> None:
    job = await an_idle_job(scheduler)
    acting = await a_rule(scheduler, RunJob(job_id=job.id), priority=80)
    filtered = await a_rule(scheduler, RunJob(job_id=job.id), priority=60, filter="event.data.order > 100")
    await a_rule(scheduler, RunJob(job_id=job.id), event="invoice.*")

    outcome = await scheduler.trigger_event("order.created", {"order": 7})

    report = await scheduler.get_event(outcome.event_id)
    impact = report.event.impact
    assert impact is not None
    assert [(each.handler_id, each.touch) for each in impact.handlers] == [
        (acting.id, Touch.ACTED),
        (filtered.id, Touch.FILTERED),
    ]
    assert (impact.handlers[0].action, impact.handlers[0].handler_version, impact.others) == ("run_job", 1, 1)
    assert [execution.id for execution in report.executions] == list(outcome.execution_ids)
    assert len(impact.hash) == 64


async def test_the_same_idempotency_key_happens_once(scheduler: IScheduler) -> None:
    job = await an_idle_job(scheduler)
    await a_rule(scheduler, RunJob(job_id=job.id))

    first = await scheduler.trigger_event("order.created", {"order": 7}, idempotency_key="k")
    again = await scheduler.trigger_event("order.created", {"order": 8}, idempotency_key="k")

    assert again == replace(first, is_duplicate=True)
    assert (await scheduler.get_job_history(job.id)).total == 1


async def test_several_events_are_answered_in_their_order(scheduler: IScheduler) -> None:
    job = await an_idle_job(scheduler)
    await a_rule(scheduler, RunJob(job_id=job.id))
    names = ["order.created", "nothing", "order.paid", "order.created"]

    outcomes = await scheduler.trigger_events(
        [NewEvent(name=name, idempotency_key=f"k{place % 3}") for place, name in enumerate(names)]
    )

    assert [outcome.matched for outcome in outcomes] == [1, 0, 1, 1]
    assert [outcome.is_duplicate for outcome in outcomes] == [False, False, False, True]
    assert outcomes[3].event_id == outcomes[0].event_id


async def test_many_large_events_at_once_are_taken(scheduler: IScheduler) -> None:
    events = [NewEvent(name="order.created", data="x" * 300_000, idempotency_key=f"k{n}") for n in range(5)]

    outcomes = await scheduler.trigger_events(events)

    assert len({outcome.event_id for outcome in outcomes}) == 5


@pytest.mark.parametrize(
    ("event", "field"),
    [
        (NewEvent(name=""), "name"),
        (NewEvent(name="a..b"), "name"),
        (NewEvent(name="tocsin.job.created"), "name"),
        (NewEvent(name="a", idempotency_key=""), "idempotency_key"),
        (NewEvent(name="a", source="s" * 2049), "source"),
        (NewEvent(name="a", time=datetime(2026, 1, 1)), "time"),  # noqa: DTZ001 - what is refused
        (NewEvent(name="a", attributes={"Not-One": 1}), "attributes"),
        (NewEvent(name="a", data="x" * 1024 * 1024), "data"),
    ],
)
async def test_an_event_that_breaks_a_bound_is_refused(scheduler: IScheduler, event: NewEvent, field: str) -> None:
    with pytest.raises(InvalidEvent) as refused:
        await scheduler.trigger_events([NewEvent(name="sound"), event])

    assert [error.field for error in refused.value.errors] == [field]
    assert (await scheduler.list_events()).total == 0


@pytest.mark.parametrize("count", [0, 1001])
async def test_a_batch_has_bounds(scheduler: IScheduler, count: int) -> None:
    with pytest.raises(InvalidEvent):
        await scheduler.trigger_events([NewEvent(name="a")] * count)


async def test_a_sync_handler_is_waited_for(scheduler: IScheduler, node: StillNode) -> None:
    job = await an_idle_job(scheduler)
    await a_rule(scheduler, RunJob(job_id=job.id), mode=EventHandlerMode.SYNC)

    async with watching(node.scheduler) as feed:
        await anext(feed)
        waiting = asyncio.create_task(scheduler.trigger_event("order.created"))
        created = await next_fact(feed)
    assert created.fact is not None
    execution_id = UUID(cast("dict[str, Any]", created.fact.data)["execution_id"])
    await node.finish(str(execution_id))
    outcome = await waiting

    assert outcome.outcomes is not None
    assert [each.status for each in outcome.outcomes] == [ExecutionStatus.SUCCESS]
    assert list(outcome.outcomes) == [await scheduler.get_execution(execution_id)]


async def test_an_event_makes_a_job_for_later_and_another_cancels_it(scheduler: IScheduler) -> None:
    job = {"name": "Escalate {{ event.data.ticket }}", "handler_name": "report", "key": "t-{{ event.data.ticket }}"}
    await a_rule(scheduler, CreateJob(job=job, delay_seconds=172_800), event="ticket.opened")
    await a_rule(scheduler, CancelJobs(key="t-{{ event.data.ticket }}"), event="ticket.resolved")

    await scheduler.trigger_event("ticket.opened", {"ticket": 5})
    [made] = (await scheduler.list_jobs(JobFilter(key=("t-5",)))).items
    await scheduler.trigger_event("ticket.resolved", {"ticket": 5})

    assert (made.definition.name, made.definition.type) == ("Escalate 5", JobType.ONE_TIME)
    assert made.next_run == START + timedelta(hours=48)
    assert (await scheduler.get_job(made.id)).status is JobStatus.CANCELLED


async def test_an_event_calls_a_handler_through_a_job_of_its_own(scheduler: IScheduler) -> None:
    rule = await a_rule(scheduler, Call(handler_name="report", options={"max_retries": 7}))
    action = rule.definition.action
    assert isinstance(action, Call)
    assert action.job_id is not None

    outcome = await scheduler.trigger_event("order.created", {"order": 7})

    [execution] = (await scheduler.get_event(outcome.event_id)).executions
    assert (execution.job_id, execution.max_retries) == (action.job_id, 7)
    await scheduler.remove_event_handler(rule.id)
    with pytest.raises(JobNotFound):
        await scheduler.get_job(action.job_id)


async def test_what_a_handler_publishes_is_in_the_impact(scheduler: IScheduler) -> None:
    await a_rule(scheduler, Publish(name="stock.reserved", data={"order": "{{ event.data.order }}"}))

    outcome = await scheduler.trigger_event("order.created", {"order": 7})

    impact = (await scheduler.get_event(outcome.event_id)).event.impact
    assert impact is not None
    assert [len(each.event_ids) for each in impact.handlers] == [1]


@pytest.mark.parametrize(
    "action",
    [
        RunJob(job_id=UUID(int=1), payload={"a": "{{ event.id }}"}),
        CreateJob(job={"name": "n", "handler_name": "report"}, delay_seconds=5, on_conflict=JobKeyConflict.REPLACE),
        CancelJobs(tags=("a", "b")),
        Call(handler_name="report", payload={"x": [1]}, options={"timeout_ms": 5000}),
        Publish(name="a.b", data={"x": 1}, subject="s"),
    ],
)
async def test_an_event_handler_is_read_as_it_was_made(scheduler: IScheduler, node: StillNode, action: Action) -> None:
    if isinstance(action, RunJob):
        action = replace(action, job_id=(await an_idle_job(scheduler)).id)
    definition = EventHandlerDefinition(
        event="shop:**",
        action=action,
        name="a name",
        key="k",
        filter="event.data.x == 1",
        priority=77,
        enabled=False,
        flow=FlowControl(
            key="event.data.customer",
            dedupe_seconds=60,
            rate_limit=Rate(limit=5, seconds=60),
            debounce=Debounce(seconds=5, max_seconds=60),
        ),
    )

    made = await scheduler.on_event(definition)

    kept = made.definition
    if isinstance(kept.action, Call):
        kept = replace(kept, action=replace(kept.action, job_id=None))
    assert kept == definition
    assert (made.version, made.created_at, made.tenant_id) == (1, START, "default")
    assert await scheduler.get_event_handler(made.id) == made == await node.scheduler.get_event_handler(made.id)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"event": "a..b"}, "event"),
        ({"event": "a*"}, "event"),
        ({"filter": "event.data.("}, "filter"),
        ({"priority": 101}, "priority"),
        ({"flow": FlowControl(batch=Batch(size=1, seconds=5))}, "flow.batch.size"),
        ({"flow": FlowControl(key="((")}, "flow.key"),
        ({"action": Publish(name="tocsin.job.created")}, "action.name"),
        ({"action": Publish(name="{{ event.")}, "action.name"),
        ({"action": CancelJobs()}, "action"),
        ({"action": CreateJob(job={"name": "n"})}, "action.job.handler_name"),
        ({"action": CreateJob(job={"name": "n", "handler_name": "h"}, delay_seconds=-1)}, "action.delay_seconds"),
    ],
)
async def test_a_handler_that_breaks_a_bound_is_refused(
    scheduler: IScheduler, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidEventHandler) as refused:
        await a_rule(scheduler, **{"action": Publish(name="a.b"), **fields})

    assert [error.field for error in refused.value.errors] == [field]


async def test_a_handler_runs_only_a_job_that_is_there(scheduler: IScheduler) -> None:
    with pytest.raises(JobNotFound):
        await a_rule(scheduler, RunJob(job_id=NOBODY))


async def test_a_taken_key_is_an_error_or_replaced_or_kept(scheduler: IScheduler) -> None:
    rule = await a_rule(scheduler, Publish(name="a.b"), key="k")
    other = EventHandlerDefinition(event="other", action=Publish(name="c.d"), key="k")

    with pytest.raises(Conflict) as refused:
        await scheduler.on_event(other)
    kept = await scheduler.on_event(other, on_conflict=OnConflict.KEEP)
    replaced = await scheduler.on_event(other, on_conflict=OnConflict.REPLACE)

    assert refused.value.existing_id == rule.id
    assert kept == rule
    assert (replaced.id, replaced.version, replaced.definition) == (rule.id, 2, other)


async def test_an_update_changes_what_it_names(scheduler: IScheduler) -> None:
    rule = await a_rule(scheduler, Publish(name="a.b"), filter="true", key="k")

    changed = await scheduler.update_event_handler(
        rule.id, expected_version=1, filter=None, enabled=False, flow=FlowControl(dedupe_seconds=5)
    )

    wanted = replace(rule.definition, filter=None, enabled=False, flow=FlowControl(dedupe_seconds=5))
    assert (changed.definition, changed.version) == (wanted, 2)
    assert (await scheduler.trigger_event("order.created")).matched == 0
    with pytest.raises(VersionConflict):
        await scheduler.update_event_handler(rule.id, expected_version=1, enabled=True)


async def test_a_removed_handler_is_gone(scheduler: IScheduler) -> None:
    rule = await a_rule(scheduler, Publish(name="a.b"))

    await scheduler.remove_event_handler(rule.id)

    assert (await scheduler.trigger_event("order.created")).matched == 0
    for asked in (
        scheduler.get_event_handler(rule.id),
        scheduler.remove_event_handler(rule.id),
        scheduler.update_event_handler(rule.id, enabled=True),
        scheduler.replay_events(rule.id, since=START),
    ):
        with pytest.raises(EventHandlerNotFound):
            await asked


async def test_handlers_are_listed_as_they_act(scheduler: IScheduler) -> None:
    low = await a_rule(scheduler, Publish(name="a.b"), priority=10)
    high = await a_rule(scheduler, Publish(name="a.b"), priority=90, key="k", enabled=False)

    page = await scheduler.list_event_handlers()
    enabled = await scheduler.list_event_handlers(EventHandlerFilter(enabled=True))
    keyed = await scheduler.list_event_handlers(EventHandlerFilter(key=("k", "x"), limit=1, offset=0))

    assert [rule.id for rule in page.items] == [high.id, low.id]
    assert [rule.id for rule in enabled.items] == [low.id]
    assert [rule.id for rule in keyed.items] == [high.id]


async def test_counters_tell_what_came_of_a_handler(scheduler: IScheduler, node: StillNode) -> None:
    job = await an_idle_job(scheduler)
    rule = await a_rule(scheduler, RunJob(job_id=job.id), filter="event.data.order == 7")
    outcome = await scheduler.trigger_event("order.created", {"order": 7})
    await scheduler.trigger_event("order.created", {"order": 8})
    await node.finish(str(outcome.execution_ids[0]))

    counters = (await scheduler.get_event_handler(rule.id)).counters

    assert (counters.triggered, counters.matched, counters.succeeded, counters.failed) == (2, 1, 1, 0)
    assert counters.last_triggered == START


async def test_a_handler_of_later_is_shown_past_events_once(scheduler: IScheduler, clock: ManualClock) -> None:
    outcome = await scheduler.trigger_event("order.created", {"order": 7})
    await scheduler.trigger_event("order.created", {"order": 8})
    clock.advance(timedelta(minutes=1))
    job = await an_idle_job(scheduler)
    rule = await a_rule(scheduler, RunJob(job_id=job.id), filter="event.data.order == 7")

    tried = await scheduler.replay_events(rule.id, since=START)
    assert (await scheduler.get_job_history(job.id)).total == 0
    done = await scheduler.replay_events(rule.id, since=START, dry_run=False)
    again = await scheduler.replay_events(rule.id, since=START, dry_run=False)

    assert (tried.is_dry_run, tried.seen, tried.acted, tried.filtered, tried.known) == (True, 2, 1, 1, 0)
    assert (done.is_dry_run, done.acted, list(done.event_ids)) == (False, 1, [outcome.event_id])
    assert (again.acted, again.known) == (0, 1)
    assert (await scheduler.get_job_history(job.id)).total == 1


async def test_a_replay_has_a_window_that_is_one(scheduler: IScheduler) -> None:
    rule = await a_rule(scheduler, Publish(name="a.b"))

    for since, until in (
        (START.replace(tzinfo=None), None),
        (START, START.replace(tzinfo=None)),
        (START, START - timedelta(hours=1)),
    ):
        with pytest.raises(InvalidInput):
            await scheduler.replay_events(rule.id, since=since, until=until)


async def test_events_are_listed_newest_first_and_page_by_page(scheduler: IScheduler, clock: ManualClock) -> None:
    await a_rule(scheduler, Publish(name="a.b"))
    ids = []
    for name, source in (("order.created", "a"), ("order.paid", "b"), ("invoice.sent", "a")):
        ids.append((await scheduler.trigger_event(name, source=source)).event_id)
        clock.advance(timedelta(seconds=1))

    async def listed(**conditions: Any) -> list[UUID]:  # noqa: ANN401 - conditions of a filter
        return [event.id for event in (await scheduler.list_events(EventFilter(**conditions))).items]

    first = await scheduler.list_events(EventFilter(limit=2))
    rest = await scheduler.list_events(EventFilter(limit=2, cursor=first.next_cursor))
    assert [event.id for event in (*first.items, *rest.items)] == ids[::-1]
    assert (first.total, rest.next_cursor) == (3, None)
    assert await listed(name=("order.paid", "invoice.sent")) == [ids[2], ids[1]]
    assert await listed(name_prefix="order.") == [ids[1], ids[0]]
    assert await listed(source=("a",)) == [ids[2], ids[0]]
    assert await listed(matched=True) == [ids[1], ids[0]]
    assert await listed(matched=False) == [ids[2]]
    assert await listed(received_after=START + timedelta(seconds=2)) == [ids[2]]
    assert first.items[1].impact is not None
    assert first.items[1].impact.matched == 1


async def test_a_filter_is_tried_on_a_sample_and_nothing_is_kept_of_it(scheduler: IScheduler) -> None:
    fact = NewEvent(name="tocsin.execution.failed", data={"job_key": "a"})

    passed = await scheduler.try_filter("event.data.job_key == 'a'", fact, pattern="tocsin.**")
    other = await scheduler.try_filter("event.data.job_key == 'b'", fact, pattern="tocsin.**")
    elsewhere = await scheduler.try_filter(None, fact, pattern="order.*")
    broken = await scheduler.try_filter("event.data.job_key ==", fact)
    told = await scheduler.try_filter("event.data.job_key", fact)

    assert passed == FilterTrial(matches=True, name_matches=True, result=True, error=None)
    assert (other.matches, other.result, elsewhere.matches, elsewhere.name_matches) == (False, False, False, False)
    assert (broken.matches, broken.error is not None) == (False, True)
    assert (told.matches, told.result, told.error) == (False, "a", "filter: comes to neither true nor false")
    assert (await scheduler.list_events()).total == 0
    with pytest.raises(InvalidEvent):
        await scheduler.try_filter(None, NewEvent(name="a..b"))


async def test_an_event_that_is_not_there_is_not_found(scheduler: IScheduler) -> None:
    with pytest.raises(EventNotFound):
        await scheduler.get_event(NOBODY)


async def test_facts_are_told_as_they_happen_and_again_from_a_position(scheduler: IScheduler) -> None:
    async with watching(scheduler) as feed:
        begun = await anext(feed)
        job = await an_idle_job(scheduler)
        await scheduler.pause_job(job.id)
        told = [await next_fact(feed), await next_fact(feed)]
    async with watching(scheduler, after=told[0].position) as feed:
        again = await next_fact(feed)

    assert begun.fact is None
    assert [item.fact.name for item in told if item.fact] == ["tocsin.job.created", "tocsin.job.paused"]
    assert told[0].fact is not None
    assert told[0].fact.subject == f"job/{job.id}"
    assert cast("dict[str, Any]", told[0].fact.data)["job_name"] == job.definition.name
    assert again == told[1]


async def test_a_position_that_nobody_wrote_is_refused(scheduler: IScheduler) -> None:
    with pytest.raises(InvalidEvent) as refused:
        async with watching(scheduler, after="never") as feed:
            await next_fact(feed)

    assert [error.field for error in refused.value.errors] == ["position"]


async def test_a_log_is_followed_until_its_execution_has_ended(scheduler: IScheduler, node: StillNode) -> None:
    job = await an_idle_job(scheduler)
    execution = await scheduler.trigger_job(job.id)
    [attempt] = await claim(node.storage, execution)
    lines = [
        LogLine(execution_id=execution.id, attempt=1, sequence=n, logged_at=START, level="info", message=f"line {n}")
        for n in range(4)
    ]
    await node.storage.ledger.append_logs(lines[:2])

    following = scheduler.follow_execution_logs(execution.id, after=1)
    async with asyncio.timeout(20):
        told = [await anext(following)]
        await node.storage.ledger.append_logs(lines[2:])
        await node.storage.ledger.finish([a_success(attempt)])
        told += [line async for line in following]

    assert told == lines[1:]


async def test_the_log_of_nobody_is_not_found(scheduler: IScheduler) -> None:
    with pytest.raises(ExecutionNotFound):
        await anext(scheduler.follow_execution_logs(NOBODY))
