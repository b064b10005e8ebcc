"""Events and what they do, driven by hand over one memory and one clock."""

from __future__ import annotations

import asyncio
import re
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from tests.application.rig import Rig
from tocsin.application.events import SYNC_SECONDS
from tocsin.domain.errors import (
    Conflict,
    EventHandlerNotFound,
    EventNotFound,
    HandlerNotFound,
    InvalidEvent,
    InvalidEventHandler,
    JobNotFound,
)
from tocsin.domain.event import (
    DEPTH_LIMIT,
    Action,
    Call,
    CancelJobs,
    CreateJob,
    EventHandler,
    EventHandlerDefinition,
    EventHandlerMode,
    NewEvent,
    Publish,
    RunJob,
)
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin
from tocsin.domain.flow import Batch, Debounce, FlowControl, Rate
from tocsin.domain.impact import Touch
from tocsin.domain.job import JobStatus
from tocsin.domain.json import Json
from tocsin.ports.conflicts import OnConflict
from tocsin.ports.expressions import Expressions, Failed, Variables
from tocsin.ports.handlers import HandlerContext
from tocsin.ports.queries import EventFilter, ExecutionFilter, JobFilter
from tocsin.ports.stores import ExecutionStore, Worker


class Desk:
    """What a user does with events, and what their handlers were given."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.scheduler = rig.scheduler
        self.payloads: list[Any] = []
        self.contexts: list[HandlerContext] = []
        rig.handle("note", self._note)

    def _note(self, context: HandlerContext) -> object:
        self.contexts.append(context)
        self.payloads.append(context.payload)
        return {"seen": len(self.payloads)}

    async def on(self, event: str, action: Action | None = None, **fields: Any) -> EventHandler:  # noqa: ANN401 - fields of the definition
        definition = EventHandlerDefinition(event=event, action=action or Call(handler_name="note"), **fields)
        return await self.scheduler.on_event(definition)

    async def touches(self, event_id: UUID) -> list[tuple[Touch, str | None]]:
        impact = (await self.scheduler.get_event(event_id)).event.impact
        assert impact is not None
        return [(each.touch, each.reason) for each in impact.handlers]

    async def executions(self) -> list[JobExecution]:
        page = await self.scheduler.list_executions(ExecutionFilter(limit=250))
        return list(reversed(page.items))

    async def relay(self) -> None:
        """Take all that the outbox holds to its handlers, and run what comes of it, until nothing more comes."""
        while await self.rig.events.relay.run_once() is not None:
            await self.rig.work()


@pytest.fixture
def desk(rig: Rig) -> Desk:
    return Desk(rig)


async def test_an_event_runs_every_handler_whose_pattern_and_filter_match(desk: Desk) -> None:
    rich = await desk.on("order.*", filter="event.data.total > 100", priority=80)
    every = await desk.on("**")
    poor = await desk.on("order.created", filter="event.data.total <= 100")
    await desk.on("invoice.*")

    outcome = await desk.scheduler.trigger_event("order.created", {"total": 150})
    await desk.rig.work()

    assert (outcome.matched, len(outcome.execution_ids), outcome.is_duplicate) == (2, 2, False)
    impact = (await desk.scheduler.get_event(outcome.event_id)).event.impact
    assert impact is not None
    assert [(each.handler_id, each.touch) for each in impact.handlers] == [
        (rich.id, Touch.ACTED),
        (every.id, Touch.ACTED),
        (poor.id, Touch.FILTERED),
    ]
    assert impact.others == 1
    assert {each.action for each in impact.handlers} == {"call"}
    assert [payload["event"]["data"] for payload in desk.payloads] == [{"total": 150}] * 2
    assert {context.event_id for context in desk.contexts} == {outcome.event_id}
    report = await desk.scheduler.get_event(outcome.event_id)
    assert {each.id for each in report.executions} == set(outcome.execution_ids)
    assert {(each.origin, each.status) for each in report.executions} == {(Origin.EVENT, ExecutionStatus.SUCCESS)}


async def test_the_same_idempotency_key_answers_the_first_event_and_does_nothing(desk: Desk) -> None:
    await desk.on("order.*")

    first = await desk.scheduler.trigger_event("order.created", 1, idempotency_key="k")
    again = await desk.scheduler.trigger_event("order.changed", 2, idempotency_key="k")
    elsewhere = await desk.rig.scheduler.for_tenant("acme").trigger_event("order.created", 3, idempotency_key="k")

    assert (again.event_id, again.execution_ids, again.is_duplicate) == (first.event_id, first.execution_ids, True)
    assert (elsewhere.is_duplicate, elsewhere.matched) == (False, 0)
    assert len(await desk.executions()) == 1


async def test_an_event_that_nobody_knows_is_kept_and_seen_to_match_nothing(desk: Desk) -> None:
    await desk.on("order.*")

    outcome = await desk.scheduler.trigger_event("invoice.sent", {"id": 1})

    assert outcome.matched == 0
    unmatched = await desk.scheduler.list_events(EventFilter(matched=False))
    assert [event.id for event in unmatched.items] == [outcome.event_id]


async def test_events_that_come_together_are_stored_together_and_a_bad_one_is_refused_before_any(desk: Desk) -> None:
    await desk.on("order.*")

    outcomes = await asyncio.gather(*(desk.scheduler.trigger_event("order.created", n) for n in range(300)))
    await desk.rig.work()

    assert len({outcome.event_id for outcome in outcomes}) == 300
    assert sorted(payload["event"]["data"] for payload in desk.payloads) == list(range(300))
    with pytest.raises(InvalidEvent):
        await desk.scheduler.trigger_events([NewEvent(name="order.created"), NewEvent(name="tocsin.job.created")])
    assert (await desk.scheduler.list_events()).total == 300


@pytest.mark.parametrize(
    ("expression", "reason"),
    [("event.data.missing > 1", "filter: "), ("event.name", "filter: comes to neither true nor false")],
)
async def test_a_filter_that_fails_is_told_and_hinders_no_other_handler(
    desk: Desk, expression: str, reason: str
) -> None:
    await desk.on("order.*", filter=expression)
    await desk.on("order.*")

    outcome = await desk.scheduler.trigger_event("order.created", {"total": 1})

    touches = await desk.touches(outcome.event_id)
    assert [touch for touch, _ in touches] == [Touch.ACTED, Touch.REFUSED]
    assert str(touches[1][1]).startswith(reason)
    assert outcome.matched == 1
    assert desk.rig.notes.of("event.refused")


@pytest.mark.parametrize("expression", ["", "1 +", "x" * 5000, "nonsense(event)"])
async def test_a_filter_that_is_none_is_refused_when_the_handler_is_saved(desk: Desk, expression: str) -> None:
    with pytest.raises(InvalidEventHandler) as caught:
        await desk.on("order.*", filter=expression)

    assert [error.field for error in caught.value.errors] == ["filter"]


async def test_a_job_is_run_with_its_payload_and_the_template_merged_over_it(desk: Desk) -> None:
    job = await desk.rig.scheduler.schedule_recurring(
        "mail", schedule="0 2 * * *", handler_name="note", payload={"to": "a@example.com", "tone": "kind"}
    )
    await desk.on(
        "order.*", RunJob(job_id=job.id, payload={"order": "{{ event.data.id }}", "tone": "for {{ event.name }}"})
    )

    await desk.scheduler.trigger_event("order.created", {"id": 7})
    await desk.rig.work()

    assert desk.payloads == [{"to": "a@example.com", "order": 7, "tone": "for order.created"}]


async def test_a_run_that_finds_its_job_paused_or_gone_is_refused_with_the_reason(desk: Desk) -> None:
    job = await desk.rig.scheduler.schedule_recurring("mail", schedule="0 2 * * *", handler_name="note")
    handler = await desk.on("order.*", RunJob(job_id=job.id))
    await desk.scheduler.pause_job(job.id)
    paused = await desk.scheduler.trigger_event("order.created")
    await desk.scheduler.unschedule(job.id)
    gone = await desk.scheduler.trigger_event("order.created")

    assert (await desk.touches(paused.event_id))[0][0] is Touch.REFUSED
    assert (await desk.touches(gone.event_id)) == [(Touch.REFUSED, f"no job {job.id}")]
    assert (await desk.scheduler.get_event_handler(handler.id)).counters.failed == 2


async def test_an_escalation_is_made_by_one_event_and_cancelled_by_another(desk: Desk) -> None:
    """Escalate in 48 h unless the ticket is resolved before (docs/events.md)."""
    job: Mapping[str, Any] = {
        "name": "escalate {{ event.data.ticket }}",
        "key": "escalate-{{ event.data.ticket }}",
        "handler_name": "note",
        "payload": {"ticket": "{{ event.data.ticket }}"},
    }
    await desk.on("ticket.opened", CreateJob(job=job, delay_seconds=48 * 3600))
    await desk.on("ticket.resolved", CancelJobs(key="escalate-{{ event.data.ticket }}"))

    for ticket in (1, 2):
        await desk.scheduler.trigger_event("ticket.opened", {"ticket": ticket})
    desk.rig.clock.advance(47 * 3600)
    await desk.scheduler.trigger_event("ticket.resolved", {"ticket": 1})
    await desk.rig.timer.run_once()
    await desk.rig.work()
    assert desk.payloads == []

    desk.rig.clock.advance(3600)
    await desk.rig.timer.run_once()
    await desk.rig.work()

    assert desk.payloads == [{"ticket": 2}]
    jobs = {each.definition.name: each.status for each in (await desk.scheduler.list_jobs(JobFilter())).items}
    assert jobs["escalate 1"] is JobStatus.CANCELLED
    assert jobs["escalate 2"] is JobStatus.COMPLETED


async def test_a_job_that_is_made_now_fires_at_the_next_tick(desk: Desk) -> None:
    await desk.on(
        "file.*", CreateJob(job={"name": "scan", "handler_name": "note", "payload": {"f": "{{ event.subject }}"}})
    )

    await desk.scheduler.trigger_event("file.stored", subject="a.pdf")
    await desk.rig.timer.run_once()
    await desk.rig.work()

    assert desk.payloads == [{"f": "a.pdf"}]


async def test_an_event_published_by_a_handler_reaches_the_next_one_along_the_same_trace(desk: Desk) -> None:
    await desk.on("order.paid", Publish(name="mail.wanted", data={"order": "{{ event.data.id }}"}))
    await desk.on("mail.*")

    outcome = await desk.scheduler.trigger_event("order.paid", {"id": 3})
    await desk.relay()

    assert [payload["event"]["data"] for payload in desk.payloads] == [{"order": 3}]
    events = {event.name: event for event in (await desk.scheduler.list_events()).items}
    first, second = events["order.paid"], events["mail.wanted"]
    assert (second.cause, second.depth, second.correlation_id) == (outcome.event_id, 1, str(outcome.event_id))
    assert second.trace.trace_id == first.trace.trace_id
    assert second.parent_span_id == first.trace.span_id


async def test_a_cycle_of_events_stops_at_the_limit_and_says_so(desk: Desk) -> None:
    await desk.on("ping", Publish(name="pong"))
    await desk.on("pong", Publish(name="ping"))

    await desk.scheduler.trigger_event("ping")
    await desk.relay()

    events = (await desk.scheduler.list_events(EventFilter(limit=250))).items
    assert len(events) == DEPTH_LIMIT + 2
    stopped = [event for event in events if event.impact is not None and event.impact.stopped]
    assert [event.depth for event in stopped] == [DEPTH_LIMIT + 1]


async def test_when_one_job_ends_well_another_runs_and_a_circle_of_jobs_stops(desk: Desk) -> None:
    first = await desk.rig.scheduler.schedule_recurring(
        "a", schedule="0 2 * * *", handler_name="note", payload={"n": "a"}
    )
    second = await desk.rig.scheduler.schedule_recurring(
        "b", schedule="0 2 * * *", handler_name="note", payload={"n": "b"}
    )
    ended = "tocsin.execution.succeeded"
    await desk.on(ended, RunJob(job_id=second.id), filter=f'event.data.job_id == "{first.id}"')
    await desk.on(ended, RunJob(job_id=first.id), filter=f'event.data.job_id == "{second.id}"')

    await desk.scheduler.trigger_job(first.id)
    await desk.rig.work()
    await desk.relay()

    names = [payload["n"] for payload in desk.payloads]
    assert names[:4] == ["a", "b", "a", "b"]
    assert len(names) == DEPTH_LIMIT + 1
    assert {each.trace_id for each in await desk.executions()} == {(await desk.executions())[0].trace_id}


async def test_wildcards_do_not_hear_of_what_they_cause(desk: Desk) -> None:
    await desk.on("**")

    await desk.scheduler.trigger_event("order.created")
    await desk.rig.work()
    await desk.relay()

    assert len(await desk.executions()) == 1


async def test_a_debounce_acts_once_a_key_is_quiet_with_the_newest_event(desk: Desk) -> None:
    flow = FlowControl(key="event.data.doc", debounce=Debounce(seconds=10))
    await desk.on("doc.*", flow=flow)

    for n, doc in enumerate(["a", "b", "a", "a"]):
        outcome = await desk.scheduler.trigger_event("doc.edited", {"doc": doc, "n": n})
        desk.rig.clock.advance(4)
    assert (await desk.touches(outcome.event_id)) == [(Touch.HELD, None)]
    await desk.rig.events.gatherer.run_once()
    await desk.rig.work()
    desk.rig.clock.advance(6)
    await desk.rig.events.gatherer.run_once()
    await desk.rig.work()

    assert [payload["event"]["data"]["n"] for payload in desk.payloads] == [1, 3]
    promised = (await desk.scheduler.get_event(outcome.event_id)).event.impact
    assert promised is not None
    assert promised.execution_ids == [desk.contexts[-1].execution_id]
    assert promised.handlers[0].touch is Touch.ACTED


async def test_a_batch_is_acted_upon_when_it_is_full_or_its_time_is_up(desk: Desk) -> None:
    await desk.on("row.*", flow=FlowControl(batch=Batch(size=3, seconds=60)))

    for n in range(4):
        await desk.scheduler.trigger_event("row.added", n)
    await desk.rig.events.gatherer.run_once()
    await desk.rig.work()
    assert [[each["data"] for each in payload["events"]] for payload in desk.payloads] == [[0, 1, 2]]

    desk.rig.clock.advance(60)
    await desk.rig.events.gatherer.run_once()
    await desk.rig.work()
    assert [[each["data"] for each in payload["events"]] for payload in desk.payloads] == [[0, 1, 2], [3]]


async def test_a_throttle_delays_and_a_rate_limit_drops(desk: Desk) -> None:
    await desk.on("slow.*", flow=FlowControl(throttle=Rate(limit=1, seconds=10)))
    await desk.on("few.*", flow=FlowControl(rate_limit=Rate(limit=2, seconds=10)))

    for _ in range(3):
        await desk.scheduler.trigger_event("slow.x")
        few = await desk.scheduler.trigger_event("few.x")
    assert len(await desk.executions()) == 1 + 2
    assert (await desk.touches(few.event_id)) == [(Touch.LIMITED, "rate_limit")]

    for executions in (2, 3):
        desk.rig.clock.advance(10)
        await desk.rig.events.gatherer.run_once()
        assert len(await desk.executions()) == executions + 2


async def test_a_repetition_within_the_dedupe_window_is_left_out(desk: Desk) -> None:
    await desk.on("seen.*", flow=FlowControl(key="event.data", dedupe_seconds=60))

    await desk.scheduler.trigger_event("seen.x", "a")
    again = await desk.scheduler.trigger_event("seen.x", "a")
    await desk.scheduler.trigger_event("seen.x", "b")
    assert (await desk.touches(again.event_id)) == [(Touch.LIMITED, "dedupe")]
    desk.rig.clock.advance(60)
    await desk.scheduler.trigger_event("seen.x", "a")

    assert len(await desk.executions()) == 3


async def test_a_sync_handler_is_waited_for_and_its_outcome_answered(desk: Desk) -> None:
    await desk.on("price.asked", mode=EventHandlerMode.SYNC)
    await desk.on("price.*")

    asked = asyncio.ensure_future(desk.scheduler.trigger_event("price.asked", 1))
    while not asked.done():
        await desk.rig.work()
        await asyncio.sleep(0.005)

    outcomes = asked.result().outcomes
    assert outcomes is not None
    assert [(each.status, each.result) for each in outcomes] == [(ExecutionStatus.SUCCESS, {"seen": 1})]


async def test_a_later_handler_is_shown_past_events_once_after_a_dry_run(desk: Desk) -> None:
    since = desk.rig.clock.now()
    for total in (50, 150, 250):
        await desk.scheduler.trigger_event("order.created", {"total": total})
    await desk.scheduler.trigger_event("invoice.sent")
    handler = await desk.on("order.*", filter="event.data.total > 100")
    desk.rig.clock.advance(1)

    planned = await desk.scheduler.replay_events(handler.id, since=since)
    assert (planned.is_dry_run, planned.seen, planned.acted, planned.filtered) == (True, 3, 2, 1)
    assert await desk.executions() == []

    done = await desk.scheduler.replay_events(handler.id, since=since, dry_run=False)
    again = await desk.scheduler.replay_events(handler.id, since=since, dry_run=False)
    await desk.rig.work()

    assert (done.acted, done.known) == (2, 0)
    assert (again.acted, again.known) == (0, 2)
    assert sorted(payload["event"]["data"]["total"] for payload in desk.payloads) == [150, 250]


async def test_a_handler_is_changed_from_now_on_and_the_snapshots_name_its_version(desk: Desk) -> None:
    handler = await desk.on("order.*")
    await desk.scheduler.trigger_event("order.created")
    changed = await desk.scheduler.update_event_handler(handler.id, filter="false")
    after = await desk.scheduler.trigger_event("order.created")
    off = await desk.scheduler.update_event_handler(handler.id, enabled=False, filter=None)
    unasked = await desk.scheduler.trigger_event("order.created")

    assert (changed.version, off.version) == (2, 3)
    impact = (await desk.scheduler.get_event(after.event_id)).event.impact
    assert impact is not None
    assert [(each.handler_version, each.touch) for each in impact.handlers] == [(2, Touch.FILTERED)]
    assert await desk.touches(unasked.event_id) == []
    counters = (await desk.scheduler.get_event_handler(handler.id)).counters
    assert (counters.triggered, counters.matched) == (2, 1)


async def test_a_handler_that_calls_has_a_job_of_its_own_that_goes_with_it(desk: Desk) -> None:
    handler = await desk.on("order.*", Call(handler_name="note", options={"max_retries": 0}), name="watch orders")
    [job] = (await desk.scheduler.list_jobs()).items
    assert (job.definition.name, job.definition.max_retries) == ("watch orders", 0)

    await desk.scheduler.update_event_handler(handler.id, name="look at orders")
    assert [each.definition.name for each in (await desk.scheduler.list_jobs()).items] == ["look at orders"]

    await desk.scheduler.remove_event_handler(handler.id)
    assert (await desk.scheduler.list_jobs()).items == []
    with pytest.raises(EventHandlerNotFound):
        await desk.scheduler.get_event_handler(handler.id)


async def test_a_declared_handler_is_kept_replaced_or_refused_by_its_key(desk: Desk) -> None:
    definition = EventHandlerDefinition(event="order.*", action=Call(handler_name="note"), key="orders")
    first = await desk.scheduler.on_event(definition)
    changed = replace(definition, filter="true")

    with pytest.raises(Conflict):
        await desk.scheduler.on_event(changed)
    kept = await desk.scheduler.on_event(changed, on_conflict=OnConflict.KEEP)
    same = await desk.scheduler.on_event(definition, on_conflict=OnConflict.REPLACE)
    replaced = await desk.scheduler.on_event(changed, on_conflict=OnConflict.REPLACE)

    assert {each.id for each in (first, kept, same, replaced)} == {first.id}
    assert [each.version for each in (kept, same, replaced)] == [1, 1, 2]
    assert len((await desk.scheduler.list_jobs()).items) == 1


async def test_what_a_handler_needs_must_be_there_when_it_is_saved(desk: Desk) -> None:
    foreign = await desk.rig.scheduler.for_tenant("acme").schedule_recurring(
        "mail", schedule="0 2 * * *", handler_name="note"
    )

    with pytest.raises(JobNotFound):
        await desk.on("order.*", RunJob(job_id=foreign.id))
    with pytest.raises(HandlerNotFound):
        await desk.on("order.*", Call(handler_name="nobody"))
    with pytest.raises(EventNotFound):
        await desk.scheduler.get_event(uuid4())


async def test_tenants_do_not_see_each_others_events_and_one_handler_may_see_all(desk: Desk) -> None:
    acme = desk.rig.scheduler.for_tenant("acme")
    await desk.on("order.*", every_tenant=True)
    await desk.on("order.*")

    outcome = await acme.trigger_event("order.created", 1)

    assert outcome.matched == 1
    with pytest.raises(EventNotFound):
        await desk.scheduler.get_event(outcome.event_id)
    assert {each.tenant_id for each in await desk.executions()} == {"default"}
    assert (await acme.list_executions()).items == []


async def test_a_node_that_is_lost_is_an_event(desk: Desk) -> None:
    await desk.on("tocsin.node.lost")
    worker = Worker(
        id="node-9#x",
        name="node-9",
        roles=["executor"],
        capabilities=[],
        version="1",
        capacity=1,
        running=0,
        status="live",
        started_at=desk.rig.clock.now(),
        heartbeat_at=desk.rig.clock.now(),
    )
    await desk.rig.storage.workers.beat(worker)
    for _ in range(4):
        desk.rig.clock.advance(61)
        await desk.rig.sweeper.run_once()
    await desk.relay()

    assert [payload["event"]["data"]["name"] for payload in desk.payloads] == ["node-9"]


@pytest.mark.parametrize("fact", ["tocsin.job.created", "tocsin.execution.succeeded"])
async def test_a_circle_through_jobs_that_are_made_stops_as_well(desk: Desk, fact: str) -> None:
    await desk.on(fact, CreateJob(job={"name": "again", "handler_name": "note"}))
    await desk.rig.scheduler.schedule_recurring("first", schedule="0 2 * * *", handler_name="note")

    [job] = (await desk.scheduler.list_jobs()).items
    await desk.scheduler.trigger_job(job.id)
    for _ in range(2 * DEPTH_LIMIT + 4):
        await desk.rig.work()
        await desk.rig.timer.run_once()
        await desk.relay()

    events = (await desk.scheduler.list_events(EventFilter(name=(fact,), limit=250))).items
    assert max(event.depth for event in events) == DEPTH_LIMIT + 1


async def test_a_key_whose_job_has_ended_is_free_for_another_event(desk: Desk) -> None:
    await desk.on("file.*", CreateJob(job={"name": "scan", "key": "scan", "handler_name": "note"}))

    for _ in range(2):
        await desk.scheduler.trigger_event("file.stored")
        await desk.rig.timer.run_once()
        await desk.rig.work()

    assert len(desk.payloads) == 2
    assert len((await desk.scheduler.list_jobs()).items) == 1


async def test_an_event_of_nearly_a_mebibyte_reaches_its_handler(desk: Desk) -> None:
    await desk.on("blob.*")

    await desk.scheduler.trigger_event("blob.stored", "x" * (1024 * 1024 - 100))
    await desk.rig.work()

    assert len(desk.payloads[0]["event"]["data"]) == 1024 * 1024 - 100
    with pytest.raises(InvalidEvent) as caught:
        await desk.scheduler.trigger_event("blob.stored", "x" * 1024 * 1024)
    assert [error.field for error in caught.value.errors] == ["data"]


async def test_flow_control_of_a_handler_of_every_tenant_is_each_tenants_own(desk: Desk) -> None:
    acme = desk.rig.scheduler.for_tenant("acme")
    gathers = FlowControl(batch=Batch(size=2, seconds=9))
    await desk.on("row.*", Publish(name="rows", data="{{ events }}"), flow=gathers, every_tenant=True)
    await desk.on("seen.*", flow=FlowControl(key="event.data", dedupe_seconds=60), every_tenant=True)
    await desk.on("few.*", flow=FlowControl(rate_limit=Rate(limit=1, seconds=60)), every_tenant=True)

    for name in ("row.added", "seen.x", "few.x"):
        await acme.trigger_event(name, "of acme" * 30)
        outcome = await desk.scheduler.trigger_event(name, "of acme" * 30)
        assert outcome.matched == 1
    desk.rig.clock.advance(9)
    await desk.rig.events.gatherer.run_once()
    await desk.relay()

    for scheduler, tenant_id in ((acme, "acme"), (desk.scheduler, "default")):
        [published] = (await scheduler.list_events(EventFilter(name=("rows",)))).items
        assert isinstance(published.data, list)
        assert [row["tenant_id"] for row in published.data] == [tenant_id]
    again = await acme.trigger_event("few.x")
    assert again.matched == 0


async def test_a_caller_does_not_wait_for_sync_handlers_of_another_tenant(desk: Desk) -> None:
    acme = desk.rig.scheduler.for_tenant("acme")
    await desk.on("price.*", mode=EventHandlerMode.SYNC, every_tenant=True)

    outcome = await acme.trigger_event("price.asked")

    assert (outcome.matched, outcome.outcomes) == (1, None)


class Looks:
    """Executions, and whether anybody has looked for one."""

    def __init__(self, executions: ExecutionStore) -> None:
        self._executions = executions
        self.began = asyncio.Event()

    async def get(self, tenant_id: str, execution_id: UUID) -> JobExecution:
        self.began.set()
        return await self._executions.get(tenant_id, execution_id)


async def test_one_deadline_holds_for_all_events_of_a_call(desk: Desk) -> None:
    await desk.on("price.*", mode=EventHandlerMode.SYNC)
    looks = desk.rig.events.events.executions = Looks(desk.rig.storage.executions)  # type: ignore[assignment] # all of it that is asked

    asked = asyncio.ensure_future(desk.scheduler.trigger_events([NewEvent(name="price.asked")] * 3))
    async with asyncio.timeout(10):
        await looks.began.wait()
        desk.rig.clock.advance(SYNC_SECONDS)
        outcomes = await asked

    assert [[each.status for each in outcome.outcomes or ()] for outcome in outcomes] == [[ExecutionStatus.PENDING]] * 3


async def test_an_event_whose_awaited_executions_are_gone_is_answered_without_them(desk: Desk) -> None:
    job = await desk.rig.a_job(lambda: None)
    await desk.on("price.*", RunJob(job_id=job.id), mode=EventHandlerMode.SYNC)
    asked = asyncio.ensure_future(desk.scheduler.trigger_event("price.asked", idempotency_key="k"))
    while not asked.done():
        await desk.rig.work()
        await asyncio.sleep(0.005)
    await desk.scheduler.unschedule(job.id)
    desk.rig.clock.advance(400 * 86400)
    await desk.rig.retention.run()

    again = await desk.scheduler.trigger_event("price.asked", idempotency_key="k")

    assert (again.is_duplicate, again.outcomes) == (True, [])


class SlowExpressions:
    """Expressions that wait, those of one tenant's events, until they are let go."""

    def __init__(self, expressions: Expressions, tenant_id: str) -> None:
        self._expressions = expressions
        self._tenant_id = tenant_id
        self.began = asyncio.Event()
        self.go_on = asyncio.Event()

    def check(self, field: str, expression: str) -> None:
        self._expressions.check(field, expression)

    async def evaluate(self, expressions: Sequence[str], variables: Variables) -> Sequence[Json | Failed]:
        event = variables["event"]
        assert isinstance(event, Mapping)
        if event["tenant_id"] == self._tenant_id:
            self.began.set()
            await self.go_on.wait()
        return await self._expressions.evaluate(expressions, variables)


async def test_a_tenants_slow_filters_stop_nobody_else_even_while_handlers_change(rig: Rig) -> None:
    slow = rig.events.events.resolver.expressions = SlowExpressions(rig.expressions, "acme")
    desk, acme = Desk(rig), rig.scheduler.for_tenant("acme")
    rule = EventHandlerDefinition(event="order.*", action=Call(handler_name="note"), filter="event.data > 1")
    handler = await acme.on_event(rule)
    await desk.on("order.*", filter="event.data > 1")

    waiting = [asyncio.create_task(acme.trigger_event("order.created", n)) for n in range(3)]
    await slow.began.wait()
    async with asyncio.timeout(10):
        assert (await desk.scheduler.trigger_event("order.created", 2)).matched == 1
    await acme.update_event_handler(handler.id, filter="event.data < 1")
    slow.began.clear()
    slow.go_on.set()
    outcomes = await asyncio.gather(*waiting)

    assert [outcome.matched for outcome in outcomes] == [1, 0, 0]
    impacts = [(await acme.get_event(outcome.event_id)).event.impact for outcome in outcomes]
    assert [impact.handlers[0].handler_version for impact in impacts if impact] == [2, 2, 2]


async def test_a_change_of_handlers_that_an_event_does_not_concern_has_nothing_evaluated_again(rig: Rig) -> None:
    slow = rig.events.events.resolver.expressions = SlowExpressions(rig.expressions, "acme")
    desk, acme = Desk(rig), rig.scheduler.for_tenant("acme")
    await acme.on_event(EventHandlerDefinition(event="order.*", action=Call(handler_name="note"), filter="true"))

    waiting = asyncio.create_task(acme.trigger_event("order.created"))
    await slow.began.wait()
    slow.began.clear()
    slow.go_on.set()
    await acme.on_event(EventHandlerDefinition(event="invoice.*", action=Call(handler_name="note")))
    outcome = await waiting

    assert not slow.began.is_set()
    impact = (await acme.get_event(outcome.event_id)).event.impact
    assert impact is not None
    assert (outcome.matched, impact.others) == (1, 1)
    assert desk.payloads == []


@pytest.mark.parametrize(
    "action",
    [
        Publish(name="out", data={"all": "{{ event.data }}" * 100}),
        Publish(name="out", data=["{{ event.data }}"] * 100),
        Call(handler_name="note", payload={"all": "{{ event.data }}" * 100}),
        CreateJob(job={"name": "j", "handler_name": "note", "payload": ["{{ event.data }}"] * 100}),
        CancelJobs(key="{{ event.data }}" * 100),
    ],
)
async def test_what_a_template_comes_to_is_made_no_larger_than_it_may_be(desk: Desk, action: Action) -> None:
    for _ in range(20):
        await desk.on("big.*", action)
    tracemalloc.start()

    outcome = await desk.scheduler.trigger_event("big.x", "x" * 250_000)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    [told] = set(await desk.touches(outcome.event_id))
    assert told[0] is Touch.REFUSED
    assert re.fullmatch(r"action: comes to more than \d+ bytes as JSON", told[1] or "")
    assert peak < 50 * 1024 * 1024


async def test_what_a_handlers_own_code_publishes_follows_from_its_execution_and_a_circle_stops(desk: Desk) -> None:
    async def again(context: HandlerContext) -> None:
        count = cast("Any", context.payload)["event"]["data"]
        assert count <= DEPTH_LIMIT
        await desk.scheduler.trigger_event("ping", count + 1)

    desk.rig.handle("again", again)
    await desk.on("ping", Call(handler_name="again"))

    await desk.scheduler.trigger_event("ping", 0, correlation_id="c")
    await desk.rig.work()

    events = sorted((await desk.scheduler.list_events(EventFilter(limit=250))).items, key=lambda event: event.depth)
    executions = {each.event_id: each for each in await desk.executions()}
    assert [event.depth for event in events] == list(range(DEPTH_LIMIT + 2))
    assert events[-1].impact is not None
    assert events[-1].impact.stopped is not None
    assert [event.cause for event in events] == [None, *(executions[event.id].id for event in events[:-1])]
    assert {event.correlation_id for event in events} == {"c"}


async def test_a_circle_through_jobs_that_a_handlers_own_code_runs_or_makes_stops_as_well(desk: Desk) -> None:
    ran: list[int] = []

    async def react(_: HandlerContext) -> None:
        ran.append(1)
        assert len(ran) <= DEPTH_LIMIT
        await desk.scheduler.trigger_job(job.id)

    desk.rig.handle("react", react)
    job = await desk.rig.scheduler.schedule_recurring("a", schedule="0 2 * * *", handler_name="note")
    await desk.on("tocsin.execution.succeeded", Call(handler_name="react"), filter=f'event.data.job_id == "{job.id}"')

    await desk.scheduler.trigger_job(job.id)
    await desk.rig.work()
    await desk.relay()

    assert len(ran) == DEPTH_LIMIT


@pytest.mark.parametrize(
    "definition",
    [
        EventHandlerDefinition(event="x", action=Call(handler_name="note"), filter='event.data.secret == "a"'),
        EventHandlerDefinition(event="x", action=Call(handler_name="note"), filter="event.name"),
        EventHandlerDefinition(event="x", action=Publish(name="out", data="{{ event.data.secret }}")),
        EventHandlerDefinition(event="x", action=Publish(name="{{ event.data }}")),
        EventHandlerDefinition(
            event="x", action=Publish(name="out"), flow=FlowControl(key="event.data.secret", dedupe_seconds=9)
        ),
    ],
)
async def test_why_a_handler_fails_is_told_to_its_own_tenant_only(
    desk: Desk, definition: EventHandlerDefinition
) -> None:
    acme = desk.rig.scheduler.for_tenant("acme")
    await desk.scheduler.on_event(replace(definition, every_tenant=True))

    foreign = (await acme.get_event((await acme.trigger_event("x", {})).event_id)).event.impact
    own = await desk.touches((await desk.scheduler.trigger_event("x", {})).event_id)

    assert foreign is not None
    assert [(each.touch, each.reason) for each in foreign.handlers] == [
        (Touch.REFUSED, "the handler's expression failed")
    ]
    assert own[0][0] is Touch.REFUSED
    assert own[0][1] != "the handler's expression failed"


@pytest.mark.parametrize(
    ("data", "told", "subjects"),
    [
        ("s" * 2048, (Touch.ACTED, None), ["s" * 2048]),
        ("", (Touch.ACTED, None), [None]),
        (None, (Touch.ACTED, None), [None]),
        (
            "s" * 2049,
            (Touch.REFUSED, "action.subject: comes to 2049 characters; must have 1 to 2048"),
            [],
        ),
    ],
)
async def test_a_published_subject_keeps_to_the_bounds_of_subjects(
    desk: Desk, data: Json, told: tuple[Touch, str | None], subjects: list[str | None]
) -> None:
    await desk.on("x", Publish(name="out", subject="{{ event.data }}"))

    outcome = await desk.scheduler.trigger_event("x", data)
    await desk.relay()

    assert await desk.touches(outcome.event_id) == [told]
    published = (await desk.scheduler.list_events(EventFilter(name=("out",)))).items
    assert [event.subject for event in published] == subjects
