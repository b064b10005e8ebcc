from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Final
from uuid import UUID

import pytest

from deploy.local.postgres import LocalPostgres
from tests.contracts.event_steps import a_runner, a_stored_handler, doing, heard, running, told_by, trigger, trigger_one
from tests.contracts.steps import TENANT, counters, executions_of, recount
from tests.makers import (
    START,
    a_definition,
    a_job,
    a_success,
    an_event,
    an_event_job,
    decided,
    fanned_out,
    planner,
    triggered,
)
from tests.postgres.sessions import until_calls_wait_for_a_lock
from tocsin.adapters.postgres import Database
from tocsin.adapters.postgres.events import PostgresEvents
from tocsin.adapters.system import ManualClock
from tocsin.domain.event import JobKeyConflict
from tocsin.domain.flow import FlowControl
from tocsin.domain.impact import Touch
from tocsin.domain.job import JobDefinition, JobType, OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import delete
from tocsin.domain.resolution import Announce, Cancel, Create, Match, Resolved
from tocsin.ports.events import HandlersChanged
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

STATEMENT: Final = re.compile(r"LOG:  (?:statement|execute \S+): ")
COPY: Final = """
INSERT INTO events (
    id, tenant_id, name, origin, idempotency_key, occurred_at, received_at, depth, trace_id, span_id, trace_flags,
    matched, attributes, impact
)
SELECT
    gen_random_uuid(), tenant_id, name, origin, $1, occurred_at, received_at, depth, trace_id, span_id, trace_flags,
    matched, attributes, impact
FROM events
RETURNING id"""


@pytest.fixture
def said(postgres_server: LocalPostgres) -> Callable[[], str]:
    """What the server has logged since the test began."""
    before = len(postgres_server.log.read_bytes())

    def later() -> str:
        return postgres_server.log.read_bytes()[before:].decode()

    return later


async def test_an_event_that_another_stores_at_the_same_time_is_that_ones(storage: Storage, stranger: Stranger) -> None:
    job = await storage.jobs.add(an_event_job())
    handler = await a_runner(storage, job)
    await trigger_one(storage)
    await stranger.execute("BEGIN")
    theirs = await stranger.fetchval(COPY, "once")
    ours = heard(an_event(idempotency_key="once"), running(handler, job))
    waiting = asyncio.ensure_future(trigger(storage, ours))
    await until_calls_wait_for_a_lock(stranger, 1)

    await stranger.execute("COMMIT")
    fanned = await waiting

    assert [(each.event.id, each.is_duplicate) for each in fanned.events] == [(theirs, True)]
    assert not await executions_of(storage, job)
    assert (await storage.event_handlers.get(TENANT, handler.id)).counters.triggered == 0


async def test_of_many_triggers_with_one_key_at_once_one_does_something(storage: Storage) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=50))
    handler = await a_runner(storage, job)
    keys = ["a", "b", "c"]

    async def trigger_in_an_order_of_its_own(number: int) -> Sequence[bool]:
        order = keys[number % 3 :] + keys[: number % 3]
        batch = [heard(an_event(idempotency_key=key), running(handler, job)) for key in order]
        return [each.is_duplicate for each in (await trigger(storage, *batch)).events]

    answers = await asyncio.gather(*map(trigger_in_an_order_of_its_own, range(12)))

    assert sum(not is_duplicate for answer in answers for is_duplicate in answer) == len(keys)
    assert len(await executions_of(storage, job)) == len(keys)


async def test_of_many_triggers_with_one_flow_key_at_once_one_gets_through(storage: Storage) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=50))
    handler = await a_runner(storage, job, flow=FlowControl(dedupe_seconds=60))

    events = await asyncio.gather(*(trigger_one(storage, running(handler, job, flow_key="7")) for _ in range(12)))

    touches = sorted(told_by(handler, event).touch for event in events)
    assert touches == [Touch.ACTED] + [Touch.LIMITED] * 11
    assert len(await executions_of(storage, job)) == 1


async def test_a_handler_that_is_removed_while_events_come_is_no_error_but_for_a_new_registry(
    storage: Storage, said: Callable[[], str]
) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=50))
    registry = await storage.event_handlers.registry(None)
    assert registry is not None
    handlers = [await a_runner(storage, job, flow=FlowControl(dedupe_seconds=60)) for _ in range(5)]

    async def keep_triggering(name: str) -> None:
        for number in range(20):
            matches = [running(handler, job, flow_key=f"{name}{number % 3}") for handler in handlers]
            registry = await storage.event_handlers.registry(None)
            assert registry is not None
            live = {handler.id for handler in registry.handlers}
            matches = [match for match in matches if match.handler.id in live]
            with suppress(HandlersChanged):
                await storage.events.trigger([heard(an_event(), *matches)], fanned_out, revision=registry.revision)

    removals = (storage.event_handlers.remove(TENANT, handler.id, job=decided(delete)) for handler in handlers)
    await asyncio.gather(*(keep_triggering(name) for name in "aabb"), *removals)

    left = await storage.event_handlers.registry(None)
    assert left is not None
    assert not left.handlers
    assert "deadlock detected" not in said()


async def test_an_event_for_a_thousand_handlers_takes_as_many_statements_as_one_for_two(
    storage: Storage, stranger: Stranger, database: Database, said: Callable[[], str]
) -> None:
    jobs = [await storage.jobs.add(an_event_job(concurrency=5)) for _ in range(5)]
    handlers = [await a_runner(storage, jobs[0], flow=FlowControl(dedupe_seconds=60)) for _ in range(20)]
    name = await stranger.fetchval("SELECT current_database()")
    await stranger.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
    events = PostgresEvents(database)
    registry = await storage.event_handlers.registry(None)
    assert registry is not None

    def matches(count: int) -> list[Match]:
        return [running(handlers[n % 20], jobs[n % 5], flow_key=f"{count}/{n}") for n in range(count)]

    async def statements(count: int) -> int:
        before = len(STATEMENT.findall(said()))
        fanned = await events.trigger([heard(an_event(), *matches(count))], fanned_out, revision=registry.revision)
        assert fanned.events[0].event.impact is not None
        assert fanned.events[0].event.impact.matched == count
        return len(STATEMENT.findall(said())) - before

    # The first use of a statement asks the server about its types as well.
    await statements(1)
    few, many = await statements(2), await statements(1000)

    assert few == many
    assert sum([len(await executions_of(storage, job)) for job in jobs]) == 1003


@dataclass(slots=True, kw_only=True)
class Storm:
    """Callers and nodes that trigger, finish and fire, each in an order of its own."""

    storage: Storage
    clock: ManualClock
    jobs: Sequence[ScheduledJob]
    matches: Sequence[Match]
    random: Random
    dispatched: list[UUID] = field(default_factory=list)

    async def rage(self, steps: int) -> None:
        kinds = [self.trigger, self.trigger, self.finish, self.finish, self.fire, self.run_by_hand, self.replay]
        for _ in range(steps):
            await self.random.choice(kinds)()

    async def trigger(self) -> None:
        keys = self.random.sample(range(30), 3)
        batch = [
            heard(an_event(idempotency_key=f"{key}"), *self.random.sample(self.matches, 6))
            if key < 10
            else heard(an_event(), *self.random.sample(self.matches, 6))
            for key in keys
        ]
        self.dispatched += [each.execution_id for each in (await trigger(self.storage, *batch)).dispatches]

    async def finish(self) -> None:
        taken, self.dispatched = self.dispatched[:20], self.dispatched[20:]
        attempts = await self.storage.ledger.claim(taken, worker_id="node-1/boot")
        finished = await self.storage.ledger.finish([a_success(each) for each in attempts])
        self.dispatched += [each.execution_id for each in finished.dispatches]

    async def fire(self) -> None:
        self.clock.advance(2)
        self.dispatched += [each.execution_id for each in (await self.storage.ledger.fire(planner, limit=5)).dispatches]

    async def run_by_hand(self) -> None:
        changed = await self.storage.jobs.change(TENANT, self.random.choice(self.jobs).id, triggered())
        self.dispatched += [each.execution_id for each in changed.dispatches]

    async def replay(self) -> None:
        stored = await self.storage.events.stored(
            TENANT, since=START, until=START + timedelta(days=1), limit=self.random.randrange(1, 9)
        )
        batch = [Resolved(event=event, matches=tuple(self.matches[:3]), replayed=True) for event in stored]
        self.random.shuffle(batch)
        fanned = await self.storage.events.revisit(batch, fanned_out)
        self.dispatched += [each.execution_id for each in fanned.dispatches]


def once(key: str) -> JobDefinition:
    return a_definition(type=JobType.ONE_TIME, schedule=None, key=key, tags=(key,))


async def test_whoever_triggers_fires_and_finishes_at_once_nobody_waits_in_a_circle(
    storage: Storage, clock: ManualClock, said: Callable[[], str]
) -> None:
    timed = a_job(concurrency=2, overlap_policy=OverlapPolicy.QUEUE_ALL, schedule="every 30s")
    soon = (START + timedelta(seconds=40)).isoformat()
    kinds = [
        *(an_event_job(concurrency=slots) for slots in (1, 50)),
        timed,
        a_job(type=JobType.ONE_TIME, schedule=soon),
    ]
    jobs = [await storage.jobs.add(job) for job in kinds]
    watcher = await a_stored_handler(storage, event="tocsin.**")
    limited = FlowControl(dedupe_seconds=1)
    runners = [await a_runner(storage, job, flow=flow) for flow in (FlowControl(), limited) for job in jobs]
    matches = [
        *(running(handler, jobs[n % 4], flow_key=None if n < 4 else "k") for n, handler in enumerate(runners)),
        doing(watcher, Create(definition=once("late"), delay=timedelta(0), on_conflict=JobKeyConflict.REPLACE)),
        doing(watcher, Create(definition=once("kept"), delay=timedelta(0), on_conflict=JobKeyConflict.KEEP)),
        doing(watcher, Cancel(tenant_id=TENANT, key="late")),
        doing(watcher, Cancel(tenant_id=TENANT, key=None, tags=("kept",))),
        doing(watcher, Announce(name="order.seen", data=None, subject=None)),
    ]

    randoms = [Random(seed) for seed in range(10)]  # noqa: S311 - a mix of steps is no secret
    storms = [Storm(storage=storage, clock=clock, jobs=jobs, matches=matches, random=random) for random in randoms]

    await asyncio.gather(*(storm.rage(200) for storm in storms))

    for job in jobs:
        assert await counters(storage, job) == recount(await executions_of(storage, job))
    assert len((await storage.outbox.read(after=None, limit=100)).events) == 100
    assert "deadlock detected" not in said()


async def test_a_handler_that_somebody_broke_hinders_no_other(storage: Storage, stranger: Stranger) -> None:
    broken, sound = await a_stored_handler(storage), await a_stored_handler(storage)
    definition = '{"event": "order.*", "enabled": true, "action": {"type": "dance"}}'
    await stranger.execute("UPDATE event_handlers SET definition = $2 WHERE id = $1", broken.id, definition)

    registry = await storage.event_handlers.registry(None)

    assert registry is not None
    assert [handler.id for handler in registry.handlers] == [sound.id]
    await storage.event_handlers.remove(TENANT, broken.id, job=decided(delete))
