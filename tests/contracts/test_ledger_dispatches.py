from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tests.contracts.steps import (
    TENANT,
    a_running_attempt,
    an_idle_job,
    claim,
    execution,
    trigger,
)
from tests.makers import START, a_failure, decided, new_id
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import hand_back
from tocsin.domain.job import HandlerType
from tocsin.domain.lifecycle import update
from tocsin.ports.dispatcher import Dispatch
from tocsin.ports.ledger import Sighting
from tocsin.ports.storage import Storage

GRACE = timedelta(seconds=10)
RUNS = frozenset({"function/report"})


async def undelivered(
    storage: Storage, *capabilities: str, limit: int, after: Sighting | None = None
) -> Sequence[tuple[Dispatch, datetime]]:
    return await storage.ledger.undelivered(capabilities=capabilities or RUNS, grace=GRACE, limit=limit, after=after)


async def test_retries_that_became_available_are_dispatched_once(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage, retry_delay_ms=9_000)
    await storage.ledger.finish([a_failure(attempt)])

    early = await storage.ledger.ready(limit=10)
    assert (list(early.dispatches), early.next_available_at) == ([], START + timedelta(seconds=10))
    assert early.now == clock.now()

    clock.advance(10)
    answers = await asyncio.gather(*(storage.ledger.ready(limit=10) for _ in range(10)))

    [dispatch] = [dispatch for answer in answers for dispatch in answer.dispatches]
    assert dispatch.execution_id == attempt.execution_id
    assert (await execution(storage, attempt.execution_id)).dispatched_at == clock.now()
    assert (await storage.ledger.ready(limit=10)).next_available_at is None


async def test_ready_work_beyond_the_limit_is_the_next_that_is_available(storage: Storage, clock: ManualClock) -> None:
    attempts = [await a_running_attempt(storage, retry_delay_ms=delay) for delay in (3_000, 1_000, 2_000)]
    await storage.ledger.finish([a_failure(attempt) for attempt in attempts])
    clock.advance(60)

    first = await storage.ledger.ready(limit=2)
    second = await storage.ledger.ready(limit=2)

    assert [dispatch.execution_id for dispatch in first.dispatches] == [
        attempts[1].execution_id,
        attempts[2].execution_id,
    ]
    assert first.next_available_at == START + timedelta(seconds=4)
    assert [dispatch.execution_id for dispatch in second.dispatches] == [attempts[0].execution_id]


async def test_what_waits_for_a_slot_is_not_ready(storage: Storage) -> None:
    job = await an_idle_job(storage)
    await trigger(storage, job, 3)

    ready = await storage.ledger.ready(limit=10)

    assert (list(ready.dispatches), ready.next_available_at) == ([], None)


async def test_a_dispatch_is_undelivered_once_its_grace_is_over(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=2)
    first, claimed = await trigger(storage, job, 2)
    await claim(storage, claimed)

    clock.advance(9)
    assert not await undelivered(storage, limit=10)
    clock.advance(2)
    [(dispatch, dispatched_at)] = await undelivered(storage, limit=10)

    assert (dispatch.execution_id, dispatched_at) == (first.id, START)
    assert (await execution(storage, first.id)).dispatched_at == START


async def test_undelivered_dispatches_come_oldest_first(storage: Storage, clock: ManualClock) -> None:
    rows = []
    for _ in range(3):
        rows += await trigger(storage, await an_idle_job(storage), 1)
        clock.advance(1)
    clock.advance(60)

    found = await undelivered(storage, limit=2)

    assert [dispatch.execution_id for dispatch, _ in found] == [rows[0].id, rows[1].id]


async def test_what_was_dispatched_in_the_future_comes_behind_what_is_older_and_what_is_new_does_not(
    storage: Storage, clock: ManualClock
) -> None:
    [old] = await trigger(storage, await an_idle_job(storage), 1)
    clock.jump_wall(3600)
    [future] = await trigger(storage, await an_idle_job(storage), 1)
    clock.jump_wall(-3580)
    await trigger(storage, await an_idle_job(storage), 1)

    found = await undelivered(storage, limit=10)
    [(dispatch, at)] = await undelivered(storage, limit=1)
    behind = await undelivered(storage, limit=10, after=(dispatch.execution_id, at))

    assert [each.execution_id for each, _ in found] == [old.id, future.id]
    assert dispatch.execution_id == old.id
    assert [each.execution_id for each, _ in behind] == [future.id]


async def test_of_ten_sweepers_one_repeats_the_dispatch(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage)
    [row] = await trigger(storage, job, 1)
    clock.advance(11)
    seen = [(row.id, at) for _, at in await undelivered(storage, limit=10)]

    answers = await asyncio.gather(*(storage.ledger.redispatch(seen) for _ in range(10)))

    [dispatch] = [dispatch for answer in answers for dispatch in answer]
    assert dispatch.execution_id == row.id
    assert (await execution(storage, row.id)).dispatched_at == clock.now()


async def test_each_repeat_is_given_twice_the_time_six_doublings_at_most(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage)
    [row] = await trigger(storage, job, 1)

    for factor in (1, 2, 4, 8, 16, 32, 64, 64):
        clock.advance(GRACE * factor - timedelta(seconds=1))
        assert not await undelivered(storage, limit=10)
        clock.advance(2)
        [(dispatch, at)] = await undelivered(storage, limit=10)
        await storage.ledger.redispatch([(dispatch.execution_id, at)])

    assert len(await claim(storage, row)) == 1


async def test_repeats_are_forgotten_once_the_execution_was_claimed(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage)
    [row] = await trigger(storage, job, 1)
    for _ in range(3):
        clock.advance(GRACE * 10)
        seen = await undelivered(storage, limit=10)
        await storage.ledger.redispatch([(dispatch.execution_id, at) for dispatch, at in seen])
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([hand_back(attempt, clock.now())])
    clock.advance(GRACE + timedelta(seconds=1))

    assert len(await undelivered(storage, limit=10)) == 1


async def test_what_was_claimed_or_cancelled_meanwhile_is_not_dispatched_again(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage, concurrency=2)
    claimed, cancelled = await trigger(storage, job, 2)
    clock.advance(11)
    seen = [(dispatch.execution_id, at) for dispatch, at in await undelivered(storage, limit=10)]
    await claim(storage, claimed)
    await storage.executions.cancel(TENANT, cancelled.id)

    assert len(seen) == 2
    assert not await storage.ledger.redispatch([*seen, (new_id(START), START)])


async def test_only_what_the_asking_node_can_run_is_undelivered(storage: Storage, clock: ManualClock) -> None:
    rows = {}
    for job in (
        await an_idle_job(storage, handler_name="report"),
        await an_idle_job(storage, handler_name="other"),
        await an_idle_job(storage, handler_type=HandlerType.HTTP, handler_name="http"),
        await an_idle_job(storage, handler_type=HandlerType.COMMAND, handler_name="ls"),
    ):
        [rows[job.definition.capability]] = await trigger(storage, job, 1)
    clock.advance(11)

    for capability, row in rows.items():
        found = await undelivered(storage, capability, limit=10)
        assert [(each.execution_id, each.capability) for each, _ in found] == [(row.id, capability)]
    assert len(await undelivered(storage, *rows, "function/unused", limit=10)) == len(rows)
    assert not await storage.ledger.undelivered(capabilities=[], grace=GRACE, limit=10)
    assert len(await storage.ledger.undelivered(capabilities=None, grace=GRACE, limit=10)) == len(rows)


async def test_work_that_nobody_here_can_run_hides_nothing_behind_it(storage: Storage, clock: ManualClock) -> None:
    foreign = await an_idle_job(storage, handler_name="other", concurrency=9)
    await trigger(storage, foreign, 5)
    clock.advance(1)
    [row] = await trigger(storage, await an_idle_job(storage), 1)
    clock.advance(11)

    assert [dispatch.execution_id for dispatch, _ in await undelivered(storage, limit=2)] == [row.id]


async def test_an_execution_is_undelivered_for_what_its_job_says_now(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, handler_name="reprot")
    [row] = await trigger(storage, job, 1)
    await storage.jobs.change(TENANT, job.id, decided(update, replace(job.definition, handler_name="report")))
    clock.advance(11)

    [(dispatch, _)] = await undelivered(storage, limit=10)

    assert (dispatch.execution_id, dispatch.capability) == (row.id, "function/report")
    assert not await undelivered(storage, "function/reprot", limit=10)


async def test_undelivered_dispatches_are_paged_through_by_their_order(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=9)
    rows = await trigger(storage, job, 3)
    clock.advance(1)
    rows += await trigger(storage, job, 2)
    clock.advance(60)
    listed: list[Sighting] = []

    for _ in range(4):
        page = await undelivered(storage, limit=2, after=listed[-1] if listed else None)
        listed += [(dispatch.execution_id, at) for dispatch, at in page]

    assert listed == [(row.id, row.dispatched_at) for row in rows]
