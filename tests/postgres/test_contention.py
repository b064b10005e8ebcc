from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Final
from uuid import UUID

import pytest

from deploy.local.postgres import LocalPostgres
from tests.contracts.steps import TENANT, counters, executions_of, recount
from tests.makers import START, a_failure, a_job, a_success, an_event_job, decided, planner, triggered
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import Attempt, Finish, hand_back
from tocsin.domain.errors import StoreUnavailable, TocsinError
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobType, OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import cancel, pause, resume
from tocsin.ports.dispatcher import Dispatch
from tocsin.ports.ledger import LogLine, Progress
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

NODES: Final = 10
STEPS: Final = 60

# One statement sees one moment: whatever is under way, what has been committed adds up.
MISCOUNTED: Final = """
SELECT c.job_id
FROM job_counters AS c
JOIN jobs AS j ON j.id = c.job_id
LEFT JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE e.holds_slot) AS slots_taken,
        count(*) FILTER (WHERE e.status = 'pending' AND e.available_at IS NULL) AS waiting,
        count(*) FILTER (WHERE e.status IN ('pending', 'running')) AS live
    FROM executions AS e
    WHERE e.job_id = c.job_id
) AS e ON true
WHERE
    (c.slots_taken, c.waiting, c.live) <> (e.slots_taken, e.waiting, e.live)
    OR e.slots_taken > (j.definition ->> 'concurrency')::integer"""


@pytest.fixture
def said(postgres_server: LocalPostgres) -> Callable[[], str]:
    """What the server has logged since the test began: its statistics would tell of a deadlock too late."""
    before = len(postgres_server.log.read_bytes())

    def later() -> str:
        return postgres_server.log.read_bytes()[before:].decode()

    return later


@dataclass(slots=True)
class Node:
    """One of many that do what nodes and callers do, in an order of its own."""

    storage: Storage
    clock: ManualClock
    jobs: Sequence[ScheduledJob]
    dispatched: list[UUID]
    random: Random
    name: str
    held: list[Attempt] = field(default_factory=list)
    unreleased: list[Attempt] = field(default_factory=list)

    async def live(self, steps: int) -> None:
        """Do this and that; to be refused by the state machines is part of life, to be refused by the store is not."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            *(self.claim, self.finish, self.trigger) * 3,
            *(self.fire, self.renew, self.report, self.release, self.ready, self.repeat),
            *(self.pause_or_resume, self.cancel_execution, self.purge),
        ]
        for _ in range(steps):
            try:
                await self.random.choice(kinds)()
            except StoreUnavailable:
                raise
            except TocsinError:
                continue

    async def claim(self) -> None:
        wanted = self.random.sample(self.dispatched, min(len(self.dispatched), 20))
        self.held += await self.storage.ledger.claim(wanted, worker_id=self.name)

    async def finish(self) -> None:
        finishes = [self.end(attempt) for attempt in self.held]
        self.held.clear()
        self.pipe((await self.storage.ledger.finish(finishes)).dispatches)

    def end(self, attempt: Attempt) -> Finish:
        match self.random.randrange(6):
            case 0:
                return a_failure(attempt)
            case 1:
                self.unreleased.append(attempt)
                return a_failure(replace(attempt, max_retries=0), status=ExecutionStatus.TIMEOUT)
            case 2:
                return hand_back(attempt, self.clock.now())
            case 3:
                return a_success(attempt, error="\0")
            case _:
                return a_success(attempt)

    async def trigger(self) -> None:
        changed = await self.storage.jobs.change(TENANT, self.job.id, triggered())
        self.pipe(changed.dispatches)

    async def fire(self) -> None:
        self.clock.advance(20)
        self.pipe((await self.storage.ledger.fire(planner, limit=3)).dispatches)

    async def renew(self) -> None:
        holds = [(each.execution_id, each.attempt) for each in (*self.held, *self.unreleased)]
        self.random.shuffle(holds)
        await self.storage.ledger.renew(dict.fromkeys(holds, timedelta(hours=1)), worker_id=self.name)

    async def report(self) -> None:
        held = self.random.sample(self.held, len(self.held))
        reports = [Progress(execution_id=e.execution_id, attempt=e.attempt, percent=1, message=None) for e in held]
        await self.storage.ledger.report(reports)
        await self.storage.ledger.append_logs([a_line(each) for each in self.random.sample(self.dispatched, 1)])

    async def release(self) -> None:
        holds = [(each.execution_id, each.attempt) for each in self.unreleased]
        self.unreleased.clear()
        self.pipe(await self.storage.ledger.release(holds))

    async def ready(self) -> None:
        self.pipe((await self.storage.ledger.ready(limit=5)).dispatches)

    async def repeat(self) -> None:
        seen = await self.storage.ledger.undelivered(capabilities=None, grace=timedelta(), limit=50)
        await self.storage.ledger.redispatch([(dispatch.execution_id, at) for dispatch, at in seen])

    async def pause_or_resume(self) -> None:
        changed = await self.storage.jobs.change(TENANT, self.job.id, decided(self.random.choice([pause, resume])))
        self.pipe(changed.dispatches)

    async def cancel_execution(self) -> None:
        changed = await self.storage.executions.cancel(TENANT, self.random.choice(self.dispatched))
        self.pipe(changed.dispatches)

    async def purge(self) -> None:
        await self.storage.ledger.purge(keep=timedelta(minutes=30), newest=50, limit=10)

    @property
    def job(self) -> ScheduledJob:
        return self.random.choice(self.jobs)

    def pipe(self, dispatches: Iterable[Dispatch]) -> None:
        self.dispatched += [each.execution_id for each in dispatches]


def a_line(execution_id: UUID) -> LogLine:
    return LogLine(execution_id=execution_id, attempt=1, sequence=1, logged_at=START, level="info", message="m")


async def jobs_of_every_kind(storage: Storage, clock: ManualClock) -> list[ScheduledJob]:
    soon = clock.now() + timedelta(seconds=40)
    kinds = [
        *(an_event_job(concurrency=slots) for slots in (1, 2, 3)),
        a_job(concurrency=2, overlap_policy=OverlapPolicy.QUEUE_ALL, schedule="every 30s"),
        a_job(type=JobType.RECURRING, max_executions=6, overlap_policy=OverlapPolicy.QUEUE_ALL),
        *(a_job(type=JobType.ONE_TIME, schedule=soon.isoformat(), max_retries=1) for _ in range(6)),
    ]
    return [await storage.jobs.add(replace(job, definition=replace(job.definition, retry_delay_ms=0))) for job in kinds]


async def watch(stranger: Stranger, nodes: asyncio.Future[list[None]]) -> int:
    looks = 0
    while not nodes.done():
        assert await stranger.fetch(MISCOUNTED) == []
        looks += 1
    return looks


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_many_nodes_do_at_once_slots_and_counts_stay_true_and_nobody_waits_in_a_circle(
    storage: Storage, clock: ManualClock, stranger: Stranger, said: Callable[[], str], seed: int
) -> None:
    jobs = await jobs_of_every_kind(storage, clock)
    first = await storage.jobs.change(TENANT, jobs[0].id, triggered())
    dispatched = [each.execution_id for each in first.dispatches]
    randoms = [Random(f"{seed}/{number}") for number in range(NODES)]  # noqa: S311 - a mix of steps is no secret
    nodes = [
        Node(storage=storage, clock=clock, jobs=jobs, dispatched=dispatched, random=random, name=f"node-{number}/boot")
        for number, random in enumerate(randoms)
    ]
    living = asyncio.gather(*(node.live(STEPS) for node in nodes))

    assert await watch(stranger, living) > 1
    await living

    for job in jobs:
        totals, rows = await counters(storage, job), await executions_of(storage, job)
        recounted = recount(rows)
        # Retention has taken what had ended, so that only what is open can be counted again.
        assert (totals.slots_taken, totals.waiting, totals.live) == (
            recounted.slots_taken,
            recounted.waiting,
            recounted.live,
        )
    assert "deadlock detected" not in said()


async def test_finishes_cancels_and_heartbeats_of_the_same_work_do_not_wait_for_each_other_in_a_circle(
    storage: Storage, stranger: Stranger, said: Callable[[], str]
) -> None:
    jobs = [await storage.jobs.add(an_event_job(concurrency=50)) for _ in range(8)]
    changed = [await storage.jobs.change(TENANT, job.id, triggered()) for _ in range(50) for job in jobs]
    ids = [dispatch.execution_id for each in changed for dispatch in each.dispatches]
    attempts = await storage.ledger.claim(ids, worker_id="node-1/boot")
    chance = Random(1)  # noqa: S311 - an order is no secret
    batches = [chance.sample(attempts[start::4], 100) for start in range(4)]
    holds = dict.fromkeys([(each.execution_id, 1) for each in attempts], timedelta(hours=1))

    async def keep_renewing() -> None:
        while not ends.done():
            await storage.ledger.renew(holds, worker_id="node-1/boot")

    async def hand_back_then_finish(batch: Sequence[Attempt]) -> None:
        half = len(batch) // 2
        await storage.ledger.finish([hand_back(each, START) for each in batch[:half]])
        await storage.ledger.finish([a_success(each) for each in batch[half:]])

    cancels = (storage.jobs.change(TENANT, job.id, decided(cancel)) for job in jobs[:4])
    ends = asyncio.gather(*map(hand_back_then_finish, batches), *cancels)
    await asyncio.gather(ends, *(keep_renewing() for _ in range(4)))

    statuses = {row.status for job in jobs for row in await executions_of(storage, job)}
    assert statuses == {ExecutionStatus.PENDING, ExecutionStatus.SUCCESS, ExecutionStatus.CANCELLED}
    assert await stranger.fetch(MISCOUNTED) == []
    assert "deadlock detected" not in said()


async def test_of_many_claims_of_the_same_ids_each_execution_goes_to_one(storage: Storage) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=50))
    changed = [await storage.jobs.change(TENANT, job.id, triggered()) for _ in range(50)]
    ids = [dispatch.execution_id for each in changed for dispatch in each.dispatches]

    claims = await asyncio.gather(
        *(storage.ledger.claim(ids[number:] + ids[:number], worker_id=f"node-{number}/boot") for number in range(12))
    )

    assert sorted(attempt.execution_id for claim in claims for attempt in claim) == sorted(ids)


async def test_a_claim_waits_for_nobody(storage: Storage, stranger: Stranger) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=2))
    changed = [await storage.jobs.change(TENANT, job.id, triggered()) for _ in range(2)]
    [first, second] = [dispatch.execution_id for each in changed for dispatch in each.dispatches]
    async with stranger.transaction():
        await stranger.execute("SELECT 1 FROM executions WHERE id = $1 FOR UPDATE", first)

        claimed = await storage.ledger.claim([first, second], worker_id="node-1/boot")

    assert [attempt.execution_id for attempt in claimed] == [second]


async def test_a_renewal_waits_for_whoever_has_the_row(storage: Storage, stranger: Stranger) -> None:
    job = await storage.jobs.add(an_event_job())
    [dispatch] = (await storage.jobs.change(TENANT, job.id, triggered())).dispatches
    [attempt] = await storage.ledger.claim([dispatch.execution_id], worker_id="node-1/boot")
    async with stranger.transaction():
        await stranger.execute("UPDATE executions SET metadata = '{}' WHERE id = $1", attempt.execution_id)
        hold = {(attempt.execution_id, 1): timedelta(hours=2)}
        renewal = asyncio.ensure_future(storage.ledger.renew(hold, worker_id="node-1/boot"))
        await somebody_waits(stranger)

    assert await renewal == []
    [expires_at] = await stranger.fetchrow("SELECT lease_expires_at FROM executions") or []
    assert expires_at == START + timedelta(hours=2)


async def test_lines_of_what_retention_is_removing_are_dropped_and_the_rest_is_kept(
    storage: Storage, stranger: Stranger
) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=2))
    changed = [await storage.jobs.change(TENANT, job.id, triggered()) for _ in range(2)]
    [gone, kept] = [dispatch.execution_id for each in changed for dispatch in each.dispatches]
    async with stranger.transaction():
        await stranger.execute("DELETE FROM executions WHERE id = $1", gone)
        writing = asyncio.ensure_future(storage.ledger.append_logs([a_line(gone), a_line(kept)]))
        await somebody_waits(stranger)

    await writing
    assert await stranger.fetchval("SELECT array_agg(execution_id) FROM execution_logs") == [kept]


async def somebody_waits(stranger: Stranger) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    while not await stranger.fetchval(waiting):  # noqa: ASYNC110 - the server rings no bell for this
        await asyncio.sleep(0)
