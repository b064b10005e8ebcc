from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime

import pytest

from tests.contracts.event_steps import a_runner, a_stored_handler, running, trigger_one
from tests.contracts.steps import TENANT, an_idle_job, claim, executions_of, versions_of
from tests.contracts.steps import trigger as run_by_hand
from tests.makers import a_failure, a_handler, a_success, an_event_job, an_outcome, decided, new_id
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import Attempt, Finish, settle
from tocsin.domain.errors import Conflict, EventHandlerNotFound, JobNotFound, VersionConflict
from tocsin.domain.event import (
    Action,
    Call,
    CancelJobs,
    CreateJob,
    EventHandler,
    EventHandlerDefinition,
    EventHandlerMode,
    HandlerCounters,
    JobKeyConflict,
    Publish,
    RunJob,
)
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.flow import Batch, Debounce, FlowControl, Rate
from tocsin.domain.job import ScheduledJob
from tocsin.domain.lifecycle import cancel, delete, update
from tocsin.domain.plan import Plan
from tocsin.ports.events import HandlerChange, Registry
from tocsin.ports.queries import EventHandlerFilter
from tocsin.ports.storage import Storage

FOREIGN = "another"


def changing(**of_definition: object) -> HandlerChange:
    """One more version, with other fields."""

    def change(handler: EventHandler, now: datetime) -> EventHandler:
        definition = replace(handler.definition, **of_definition)  # type: ignore[arg-type]  # by name
        return replace(handler, definition=definition, version=handler.version + 1, updated_at=now)

    return change


def disappearing(_handler: EventHandler, _now: datetime) -> EventHandler:
    raise LookupError


async def a_caller(storage: Storage, **fields: object) -> tuple[EventHandler, ScheduledJob]:
    """Store an event handler that calls, with the job of its own."""
    job = an_event_job()
    handler = await storage.event_handlers.add(a_handler(action=Call(handler_name="report"), **fields), job)
    return handler, job


async def registry(storage: Storage) -> Registry:
    found = await storage.event_handlers.registry(None)
    assert found is not None
    return found


async def listed(storage: Storage, tenant_id: str = TENANT, **conditions: object) -> list[EventHandler]:
    query = EventHandlerFilter(**conditions)  # type: ignore[arg-type]  # by name
    return list((await storage.event_handlers.list(tenant_id, query)).items)


FULL = EventHandlerDefinition(
    event="shop:**",
    action=RunJob(job_id=new_id(datetime.fromisoformat("2026-01-01T00:00Z")), payload={"order": "${event.data}"}),
    name="watch orders",
    key="orders",
    filter="event.data.total > 7",
    mode=EventHandlerMode.SYNC,
    priority=80,
    enabled=False,
    every_tenant=True,
    flow=FlowControl(
        key="event.subject",
        dedupe_seconds=1,
        rate_limit=Rate(limit=2, seconds=3),
        throttle=Rate(limit=4, seconds=5),
        debounce=Debounce(seconds=6, max_seconds=7),
        batch=Batch(size=8, seconds=9),
    ),
)


def test_the_handler_of_the_next_test_differs_from_a_plain_one_in_every_field() -> None:
    plain = EventHandlerDefinition(event="order.*", action=Publish(name="order.seen"))
    assert all(getattr(FULL, field.name) != getattr(plain, field.name) for field in fields(plain))


async def test_every_field_of_a_handler_is_kept(storage: Storage, clock: ManualClock) -> None:
    clock.advance(0.000007)
    handler = a_handler(
        definition=FULL, tenant_id=FOREIGN, created_by="someone", created_at=clock.now(), updated_at=clock.now()
    )

    assert await storage.event_handlers.add(handler, None) == handler
    assert await storage.event_handlers.get(FOREIGN, handler.id) == handler
    assert await listed(storage, FOREIGN) == [handler]


@pytest.mark.parametrize(
    "action",
    [
        CreateJob(
            job={"name": "escalate", "handler_name": "page", "key": "${event.subject}"},
            delay_seconds=7,
            on_conflict=JobKeyConflict.REPLACE,
        ),
        CancelJobs(key="${event.subject}"),
        CancelJobs(tags=("b", "a")),
        Publish(name="order.seen", data=[1, None, {"ü": 2.5}], subject="${event.subject}"),
        Publish(name="order.seen", data=""),
    ],
)
async def test_every_action_is_itself_again(storage: Storage, action: Action) -> None:
    handler = await a_stored_handler(storage, action=action)

    assert (await storage.event_handlers.get(TENANT, handler.id)).definition.action == action


async def test_a_new_handler_has_counted_nothing(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    assert (await storage.event_handlers.get(TENANT, handler.id)).counters == HandlerCounters()


async def test_what_a_reader_does_to_a_handler_stays_with_the_reader(storage: Storage) -> None:
    handler = await a_stored_handler(storage, action=Publish(name="order.seen", data={"to": ["a"]}))
    assert isinstance(handler.definition.action, Publish)
    assert isinstance(handler.definition.action.data, dict)
    handler.definition.action.data["to"].append("b")

    action = (await storage.event_handlers.get(TENANT, handler.id)).definition.action

    assert action == Publish(name="order.seen", data={"to": ["a"]})
    assert (await registry(storage)).handlers[0].definition.action == action


async def test_other_tenants_see_nothing_of_a_handler(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    for call in (
        storage.event_handlers.get(FOREIGN, handler.id),
        storage.event_handlers.change(FOREIGN, handler.id, changing(priority=1)),
        storage.event_handlers.remove(FOREIGN, handler.id, job=decided(delete)),
        storage.event_handlers.get(TENANT, new_id(handler.created_at)),
    ):
        with pytest.raises(EventHandlerNotFound):
            await call
    assert await listed(storage, FOREIGN) == []
    assert await storage.event_handlers.get(TENANT, handler.id) == handler


async def test_handlers_are_listed_in_the_order_in_which_they_act(storage: Storage) -> None:
    low, high, middle = [await a_stored_handler(storage, priority=priority) for priority in (1, 99, 50)]
    same = await a_stored_handler(storage, priority=50)
    order = [high, middle, same, low]

    first = await storage.event_handlers.list(TENANT, EventHandlerFilter(limit=3))
    rest = await storage.event_handlers.list(TENANT, EventHandlerFilter(limit=3, offset=3))

    assert [*first.items, *rest.items] == order
    assert (first.total, first.limit, rest.total, rest.offset, first.next_cursor) == (4, 3, 4, 3, None)


async def test_a_list_of_handlers_is_narrowed_to_what_is_asked_for(storage: Storage) -> None:
    keyed = await a_stored_handler(storage, key="k", event="a.b")
    disabled = await a_stored_handler(storage, enabled=False, event="a.*")
    plain = await a_stored_handler(storage, event="a.b")

    assert await listed(storage, event=("a.b",)) == [keyed, plain]
    assert await listed(storage, event=("a.*", "a.b")) == [keyed, disabled, plain]
    assert await listed(storage, key=("k", "l")) == [keyed]
    assert await listed(storage, enabled=True) == [keyed, plain]
    assert await listed(storage, enabled=False) == [disabled]
    assert await listed(storage, event=("a.b",), key=("l",)) == []


async def test_a_key_belongs_to_one_handler_of_a_tenant(storage: Storage) -> None:
    holder = await a_stored_handler(storage, key="k")
    other = await a_stored_handler(storage, key="l")

    with pytest.raises(Conflict) as added:
        await a_stored_handler(storage, key="k")
    with pytest.raises(Conflict) as changed:
        await storage.event_handlers.change(TENANT, other.id, changing(key="k"))

    assert [str(error.value.existing_id) for error in (added, changed)] == [str(holder.id)] * 2
    assert (await storage.event_handlers.get(TENANT, other.id)).definition.key == "l"
    await a_stored_handler(storage, key="k", tenant_id=FOREIGN)
    await storage.event_handlers.remove(TENANT, holder.id, job=decided(delete))
    await storage.event_handlers.change(TENANT, other.id, changing(key="k"))


async def test_of_many_that_declare_one_key_only_one_has_it(storage: Storage) -> None:
    answers = await asyncio.gather(*(a_stored_handler(storage, key="k") for _ in range(5)), return_exceptions=True)

    assert sum(isinstance(answer, EventHandler) for answer in answers) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 4


async def test_a_conflict_leaves_no_job_behind(storage: Storage) -> None:
    await a_stored_handler(storage, key="k")
    job = an_event_job()

    with pytest.raises(Conflict):
        await storage.event_handlers.add(a_handler(action=Call(handler_name="report"), key="k"), job)
    with pytest.raises(JobNotFound):
        await storage.jobs.get(TENANT, job.id)

    other = await a_stored_handler(storage)
    calling = changing(key="k", action=Call(handler_name="report"))
    with pytest.raises(Conflict):
        await storage.event_handlers.change(TENANT, other.id, calling, added=job)
    with pytest.raises(JobNotFound):
        await storage.jobs.get(TENANT, job.id)


async def test_a_handler_is_changed_to_its_next_version(storage: Storage, clock: ManualClock) -> None:
    handler = await a_stored_handler(storage)
    clock.advance(60)

    changed = await storage.event_handlers.change(TENANT, handler.id, changing(event="a.**", priority=99, filter="1"))

    assert (changed.version, changed.updated_at, changed.created_at) == (2, clock.now(), handler.created_at)
    assert changed.definition == replace(handler.definition, event="a.**", priority=99, filter="1")
    assert await storage.event_handlers.get(TENANT, handler.id) == changed
    assert await listed(storage, event=("a.**",)) == [changed]
    assert await listed(storage, event=(handler.definition.event,)) == []


async def test_a_handler_is_changed_only_at_the_version_that_was_expected(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    await storage.event_handlers.change(TENANT, handler.id, changing(priority=1), expected_version=1)

    with pytest.raises(VersionConflict) as refused:
        await storage.event_handlers.change(TENANT, handler.id, changing(priority=2), expected_version=1)

    assert (refused.value.expected, refused.value.current) == (1, 2)
    assert (await storage.event_handlers.get(TENANT, handler.id)).definition.priority == 1


async def test_what_a_change_raises_changes_nothing(storage: Storage) -> None:
    handler, job = await a_caller(storage)

    def no_plan(_job: ScheduledJob, _now: datetime) -> Plan:
        raise LookupError

    with pytest.raises(LookupError):
        await storage.event_handlers.change(TENANT, handler.id, disappearing)
    with pytest.raises(LookupError):
        await storage.event_handlers.change(TENANT, handler.id, changing(priority=1), job=no_plan)
    with pytest.raises(LookupError):
        await storage.event_handlers.remove(TENANT, handler.id, job=no_plan)

    assert await storage.event_handlers.get(TENANT, handler.id) == handler
    assert (await storage.jobs.get(TENANT, job.id)).version == 1


async def test_changes_at_the_same_time_follow_one_another(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    def raised(handler: EventHandler, now: datetime) -> EventHandler:
        return changing(priority=handler.definition.priority + 1)(handler, now)

    await asyncio.gather(*(storage.event_handlers.change(TENANT, handler.id, raised) for _ in range(5)))

    after = await storage.event_handlers.get(TENANT, handler.id)
    assert (after.version, after.definition.priority) == (6, 55)


async def test_a_handler_that_calls_has_a_job_of_its_own(storage: Storage) -> None:
    handler, job = await a_caller(storage)

    assert handler.definition.action == Call(handler_name="report", job_id=job.id)
    assert (await storage.event_handlers.get(TENANT, handler.id)).definition.action == handler.definition.action
    assert await storage.jobs.get(TENANT, job.id) == job
    assert [change.reason for change in await versions_of(storage, TENANT, job.id)] == ["created"]


async def test_the_job_of_its_own_changes_with_its_handler(storage: Storage) -> None:
    handler, job = await a_caller(storage)
    wanted = replace(job.definition, concurrency=7)

    changed = await storage.event_handlers.change(
        TENANT,
        handler.id,
        changing(action=Call(handler_name="report", options={"concurrency": 7})),
        job=decided(update, wanted),
    )

    assert changed.definition.action == Call(handler_name="report", options={"concurrency": 7}, job_id=job.id)
    after = await storage.jobs.get(TENANT, job.id)
    assert (after.definition.concurrency, after.version) == (7, 2)


async def test_a_handler_that_calls_no_more_has_no_job_any_more(storage: Storage) -> None:
    handler, job = await a_caller(storage)

    await storage.event_handlers.change(
        TENANT, handler.id, changing(action=Publish(name="order.seen")), job=decided(delete)
    )

    with pytest.raises(JobNotFound):
        await storage.jobs.get(TENANT, job.id)
    assert (await storage.event_handlers.get(TENANT, handler.id)).definition.action == Publish(name="order.seen")


async def test_a_handler_that_calls_from_now_on_gets_a_job_of_its_own(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    job = an_event_job()

    changed = await storage.event_handlers.change(
        TENANT, handler.id, changing(action=Call(handler_name="report")), added=job
    )

    assert changed.definition.action == Call(handler_name="report", job_id=job.id)
    assert await storage.event_handlers.get(TENANT, handler.id) == changed
    assert (await storage.jobs.get(TENANT, job.id)).id == job.id


async def test_a_handler_that_is_removed_takes_the_job_of_its_own_along(storage: Storage) -> None:
    handler, job = await a_caller(storage)
    [row] = await run_by_hand(storage, job, 1)

    await storage.event_handlers.remove(TENANT, handler.id, job=decided(delete))

    with pytest.raises(EventHandlerNotFound):
        await storage.event_handlers.get(TENANT, handler.id)
    with pytest.raises(JobNotFound):
        await storage.jobs.get(TENANT, job.id)
    assert (await storage.executions.get(TENANT, row.id)).status is ExecutionStatus.CANCELLED
    assert await listed(storage) == []


async def test_a_handler_without_a_job_is_removed_without_asking_about_one(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)

    await storage.event_handlers.remove(TENANT, handler.id, job=decided(delete))

    assert (await storage.jobs.get(TENANT, job.id)).deleted_at is None
    assert await listed(storage) == []


@pytest.mark.parametrize("step", [cancel, delete])
async def test_a_handler_goes_although_its_job_was_ended_by_somebody(
    storage: Storage, step: Callable[..., Plan]
) -> None:
    handler, job = await a_caller(storage)
    await storage.jobs.change(TENANT, job.id, decided(step))

    await storage.event_handlers.remove(TENANT, handler.id, job=decided(delete))

    assert await listed(storage) == []


async def test_the_registry_has_every_enabled_handler_of_every_tenant(storage: Storage) -> None:
    mine = await a_stored_handler(storage)
    foreign = await a_stored_handler(storage, tenant_id=FOREIGN, priority=99)
    await a_stored_handler(storage, enabled=False)

    found = await registry(storage)

    assert {handler.id for handler in found.handlers} == {mine.id, foreign.id}
    assert [handler.definition for handler in found.handlers if handler.id == mine.id] == [mine.definition]


async def test_the_registry_is_read_only_if_it_changed(storage: Storage) -> None:
    empty = await registry(storage)
    revisions = [empty.revision]

    async def noted() -> None:
        assert await storage.event_handlers.registry(revisions[-1]) is not None
        revisions.append((await registry(storage)).revision)
        assert await storage.event_handlers.registry(revisions[-1]) is None

    assert await storage.event_handlers.registry(empty.revision) is None
    handler = await a_stored_handler(storage)
    await noted()
    await storage.event_handlers.change(TENANT, handler.id, changing(enabled=False))
    await noted()
    assert not (await registry(storage)).handlers
    await storage.event_handlers.change(TENANT, handler.id, changing(enabled=True))
    await noted()
    await storage.event_handlers.remove(TENANT, handler.id, job=decided(delete))
    await noted()
    assert revisions == sorted(set(revisions))


async def test_what_events_do_leaves_the_registry_as_it_is(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    before = (await registry(storage)).revision

    await trigger_one(storage, running(handler, job))

    assert await storage.event_handlers.registry(before) is None


async def test_a_change_that_fails_leaves_the_registry_as_it_is(storage: Storage) -> None:
    handler = await a_stored_handler(storage, key="k")
    before = (await registry(storage)).revision

    with pytest.raises(LookupError):
        await storage.event_handlers.change(TENANT, handler.id, disappearing)
    with pytest.raises(Conflict):
        await a_stored_handler(storage, key="k")

    assert await storage.event_handlers.registry(before) is None


def timed_out(attempt: Attempt) -> Finish:
    return settle(attempt, an_outcome(status=ExecutionStatus.TIMEOUT, result=None), chance=0)


@pytest.mark.parametrize(
    ("end", "succeeded", "failed"),
    [(a_success, 1, 0), (a_failure, 0, 1), (timed_out, 0, 1)],
)
async def test_a_handler_counts_how_its_executions_ended(
    storage: Storage, end: Callable[[Attempt], Finish], succeeded: int, failed: int
) -> None:
    job = await an_idle_job(storage, max_retries=0)
    handler = await a_runner(storage, job)
    await trigger_one(storage, running(handler, job))
    [attempt] = await claim(storage, *await executions_of(storage, job))

    await storage.ledger.finish([end(attempt)])
    await storage.ledger.finish([end(attempt)])
    await storage.ledger.release([(attempt.execution_id, attempt.attempt)])

    counted = (await storage.event_handlers.get(TENANT, handler.id)).counters
    assert (counted.succeeded, counted.failed) == (succeeded, failed)


async def test_a_retry_is_no_end_and_neither_is_a_cancel(storage: Storage) -> None:
    job = await an_idle_job(storage, max_retries=1, concurrency=2)
    handler = await a_runner(storage, job)
    for _ in range(2):
        await trigger_one(storage, running(handler, job))
    retrying, cancelled = await claim(storage, *await executions_of(storage, job))

    await storage.ledger.finish([a_failure(retrying)])
    await storage.executions.cancel(TENANT, cancelled.execution_id)

    counted = (await storage.event_handlers.get(TENANT, handler.id)).counters
    assert (counted.succeeded, counted.failed) == (0, 0)


async def test_many_ends_at_once_are_all_counted(storage: Storage) -> None:
    job = await an_idle_job(storage, max_retries=0, concurrency=12)
    handlers = [await a_runner(storage, job) for _ in range(2)]
    for number in range(12):
        await trigger_one(storage, running(handlers[number % 2], job))
    attempts = await claim(storage, *await executions_of(storage, job))

    await storage.ledger.finish([a_success(attempt) for attempt in attempts[:6]])
    await asyncio.gather(*(storage.ledger.finish([a_failure(attempt)]) for attempt in attempts[6:]))

    counted = [(await storage.event_handlers.get(TENANT, handler.id)).counters for handler in handlers]
    assert [(each.succeeded, each.failed, each.matched) for each in counted] == [(3, 3, 6)] * 2


async def test_the_end_of_an_execution_whose_handler_is_gone_is_an_end_all_the_same(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    await trigger_one(storage, running(handler, job))
    [attempt] = await claim(storage, *await executions_of(storage, job))
    await storage.event_handlers.remove(TENANT, handler.id, job=decided(delete))

    finished = await storage.ledger.finish([a_success(attempt)])

    assert list(finished.rejected) == []
    assert [row.status for row in await executions_of(storage, job)] == [ExecutionStatus.SUCCESS]


async def test_what_a_change_says_of_the_counters_counts_for_nothing(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    await trigger_one(storage, running(handler, job))

    def recounted(handler: EventHandler, now: datetime) -> EventHandler:
        return replace(changing(priority=1)(handler, now), counters=HandlerCounters(matched=99))

    changed = await storage.event_handlers.change(TENANT, handler.id, recounted)

    assert changed.counters.matched == 1
    assert (await storage.event_handlers.get(TENANT, handler.id)).counters.matched == 1


async def test_a_handler_that_is_disabled_listens_to_no_fact(storage: Storage) -> None:
    handler = await a_stored_handler(storage, event="tocsin.**", enabled=False)

    async def heard() -> list[str | None]:
        await an_idle_job(storage)
        return [event.subject for event in (await storage.outbox.read(after=None, limit=10)).events]

    assert await heard() == []
    await storage.event_handlers.change(TENANT, handler.id, changing(enabled=True))
    assert len(await heard()) == 1
    await storage.event_handlers.change(TENANT, handler.id, changing(enabled=False))
    assert len(await heard()) == 1
