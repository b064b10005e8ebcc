"""Events beside each other and beside everything else: however calls interleave, what they leave behind adds up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from tests.contracts.event_steps import a_runner, a_stored_handler, doing, heard, running, trigger
from tests.contracts.steps import TENANT, WORKER, an_idle_job, counters, executions_of, recount
from tests.makers import a_failure, a_job, a_success, an_event, decided, fanned_out, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import Attempt
from tocsin.domain.errors import InvalidTransition
from tocsin.domain.event import EventHandler
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.facts import EXECUTION_CREATED
from tocsin.domain.flow import Batch, FlowControl
from tocsin.domain.job import OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import delete, pause, resume
from tocsin.domain.resolution import Announce, Cancel
from tocsin.ports.events import HandlersChanged
from tocsin.ports.queries import EventFilter, ExecutionFilter
from tocsin.ports.storage import Storage

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


async def tell_of(storage: Storage, position: str) -> list[str]:
    """Read every fact from behind a position on: subject and name."""
    told: list[str] = []
    while (page := await storage.outbox.read(after=position, limit=50)).events:
        told += [f"{event.subject} {event.name}" for event in page.events]
        position = page.position
    return told


async def assert_sound(storage: Storage, job: ScheduledJob) -> None:
    rows = await executions_of(storage, job)
    found = await counters(storage, job)
    counted = recount(rows)
    assert found == type(counted)(
        **{name: getattr(counted, name) for name in counted.__slots__ if name != "consecutive_failures"},
        consecutive_failures=found.consecutive_failures,
    )


async def test_a_large_batch_is_stored_at_once(storage: Storage) -> None:
    jobs = [await an_idle_job(storage, concurrency=150) for _ in range(5)]
    matches = [running(await a_runner(storage, job), job) for job in jobs]
    events = [an_event(idempotency_key=f"key {number}") for number in range(200)]

    fanned = await trigger(storage, *(heard(event, *matches) for event in events))
    again = await trigger(storage, *(heard(event, *matches) for event in events))

    assert [each.event.id for each in fanned.events] == [event.id for event in events]
    assert len(fanned.dispatches) == 5 * 150
    assert all(each.is_duplicate for each in again.events)
    assert [each.event for each in again.events] == [each.event for each in fanned.events]
    assert (await storage.executions.list(TENANT, ExecutionFilter())).total == 1000
    for job in jobs:
        await assert_sound(storage, job)


async def test_of_many_callers_with_one_id_only_one_does_anything(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=99)
    handler = await a_runner(storage, job)
    event = an_event()

    answers = await asyncio.gather(*(trigger(storage, heard(event, running(handler, job))) for _ in range(10)))

    assert [answer.events[0].is_duplicate for answer in answers].count(False) == 1
    assert len(await executions_of(storage, job)) == 1
    assert {answer.events[0].event.received_at for answer in answers} == {await storage.jobs.now()}


async def test_events_that_come_at_once_are_gathered_each_once(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job, flow=FlowControl(batch=Batch(size=5, seconds=60)))
    events = [an_event() for _ in range(20)]

    await asyncio.gather(*(trigger(storage, heard(event, running(handler, job, flow_key="7"))) for event in events))

    items = (await storage.events.due_gatherings(limit=10)).items
    assert [len(item.events) for item in items] == [5] * 4
    gathered = [event.id for item in items for event in item.events]
    assert Counter(gathered) == Counter(event.id for event in events)


async def test_handlers_may_change_while_events_come(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=99)
    handler = await a_runner(storage, job)
    stored: list[UUID] = []

    async def insisting() -> None:
        event = an_event()
        while True:
            try:
                await trigger(storage, heard(event, running(handler, job)))
            except HandlersChanged:
                continue
            stored.append(event.id)
            return

    async def coming_and_going() -> None:
        other = await a_stored_handler(storage)
        await storage.event_handlers.remove(TENANT, other.id, job=decided(delete))

    await asyncio.gather(*(insisting() for _ in range(10)), *(coming_and_going() for _ in range(3)))

    rows = await executions_of(storage, job)
    assert Counter(row.event_id for row in rows) == Counter(stored)
    assert (await storage.event_handlers.get(TENANT, handler.id)).counters.matched == 10
    await assert_sound(storage, job)


async def test_events_beside_all_other_work_leave_everything_adding_up(storage: Storage, clock: ManualClock) -> None:
    idle = [await an_idle_job(storage, concurrency=3, max_retries=0, tags=("idle",)) for _ in range(3)]
    timed = await storage.jobs.add(
        a_job(schedule="every 1s", overlap_policy=OverlapPolicy.QUEUE_ALL, concurrency=2, max_retries=0)
    )
    jobs = [*idle, timed]
    handlers = [await a_runner(storage, job) for job in jobs]
    position = await storage.outbox.listen("all", tenant_id=None, pattern="tocsin.execution.*", lease=HOUR)
    matches = [running(handler, job) for handler, job in zip(handlers, jobs, strict=True)]

    for turn in range(6):
        clock.advance(SECOND)
        order = matches[turn % 4 :] + matches[: turn % 4]
        await asyncio.gather(
            trigger(storage, heard(an_event(), *order)),
            trigger(storage, heard(an_event(), *order[::-1]), heard(an_event(), *order[:2])),
            storage.ledger.fire(planner, limit=10),
            end_what_runs(storage, turn),
            end_what_runs(storage, turn + 1),
            pause_and_resume(storage, jobs[turn % 4]),
            cancel_something(storage, jobs[(turn + 1) % 4]),
        )

    rows = [row for job in jobs for row in await executions_of(storage, job)]
    for job in jobs:
        await assert_sound(storage, job)
    told = await tell_of(storage, position)
    assert {f"execution/{row.id} {EXECUTION_CREATED}" for row in rows} <= set(told)
    assert max(Counter(told).values()) == 1
    for handler in handlers:
        await assert_counted(storage, handler)


async def end_what_runs(storage: Storage, turn: int) -> None:
    """Do the work of a node: claim what was dispatched, and end it, well or ill."""
    page = await storage.executions.list(TENANT, ExecutionFilter(status=(ExecutionStatus.PENDING,), limit=250))
    attempts: Sequence[Attempt] = await storage.ledger.claim([row.id for row in page.items], worker_id=WORKER)
    ends = [a_success, a_failure]
    await storage.ledger.finish([ends[(number + turn) % 2](attempt) for number, attempt in enumerate(attempts)])


async def pause_and_resume(storage: Storage, job: ScheduledJob) -> None:
    await storage.jobs.change(TENANT, job.id, decided(pause))
    await storage.jobs.change(TENANT, job.id, decided(resume))


async def cancel_something(storage: Storage, job: ScheduledJob) -> None:
    for row in (await executions_of(storage, job))[-1:]:
        try:
            await storage.executions.cancel(TENANT, row.id)
        except InvalidTransition:
            continue


async def assert_counted(storage: Storage, handler: EventHandler) -> None:
    """Hold what a handler counted against the executions that events made."""
    events = (await storage.events.list(TENANT, EventFilter(limit=250))).items
    rows = [
        row
        for event in events
        for row in (await storage.executions.list(TENANT, ExecutionFilter(event_id=event.id))).items
        if row.event_handler_id == handler.id
    ]
    refused = [
        told
        for event in events
        if event.impact is not None
        for told in event.impact.handlers
        if told.handler_id == handler.id and told.touch == "refused"
    ]
    counted = (await storage.event_handlers.get(TENANT, handler.id)).counters
    statuses = Counter(row.status for row in rows)
    assert counted.succeeded == statuses[ExecutionStatus.SUCCESS]
    assert counted.failed == statuses[ExecutionStatus.FAILED] + len(refused)
    assert counted.matched == len(rows)


async def test_events_that_cancel_and_events_that_run_do_not_hinder_each_other(storage: Storage) -> None:
    jobs = [await an_idle_job(storage, concurrency=2, tags=("round", f"{number}")) for number in range(4)]
    handlers = [await a_runner(storage, job) for job in jobs]
    canceller = await a_stored_handler(storage)
    runs = [running(handler, job) for handler, job in zip(handlers, jobs, strict=True)]

    def cancelling(number: int) -> Cancel:
        return Cancel(tenant_id=TENANT, key=None, tags=("round", f"{number}"))

    fanned = await asyncio.gather(
        *(trigger(storage, heard(an_event(), *runs)) for _ in range(5)),
        *(trigger(storage, heard(an_event(), doing(canceller, cancelling(number)))) for number in range(4)),
        trigger(storage, heard(an_event(), doing(canceller, Cancel(tenant_id=TENANT, key=None, tags=("round",))))),
        *(trigger(storage, heard(an_event(), *runs[::-1])) for _ in range(5)),
    )

    assert sum(each.jobs for each in fanned) == 4
    for job in jobs:
        rows = await executions_of(storage, job)
        assert {row.status for row in rows} <= {ExecutionStatus.CANCELLED}
        await assert_sound(storage, job)


async def test_what_is_published_at_once_goes_out_once_each(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    await asyncio.gather(
        *(
            trigger(storage, heard(an_event(), doing(handler, Announce(name=f"n{number}", data=None, subject=None))))
            for number in range(20)
        )
    )

    names = [event.name for event in (await storage.outbox.read(after=None, limit=100)).events]
    assert Counter(names) == Counter(f"n{number}" for number in range(20))


async def test_events_and_what_they_touched_are_forgotten_while_others_come(
    storage: Storage, clock: ManualClock
) -> None:
    handler = await a_stored_handler(storage)
    act = doing(handler, Announce(name="n", data=None, subject=None))
    await trigger(storage, *(heard(an_event(idempotency_key=f"{number}"), act) for number in range(30)))
    clock.advance(HOUR)

    results = await asyncio.gather(
        *(storage.events.purge(keep=SECOND, limit=10) for _ in range(5)),
        *(trigger(storage, heard(an_event(idempotency_key=f"new {number}"), act)) for number in range(5)),
        storage.events.revisit([], fanned_out),
    )

    removed = [each for each in results if isinstance(each, int)]
    removed.append(await storage.events.purge(keep=SECOND, limit=250))
    assert sum(removed) == 30
    assert (await storage.events.list(TENANT, EventFilter())).total == 5
