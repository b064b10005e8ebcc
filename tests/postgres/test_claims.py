from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

import pytest

from tests.contracts.steps import TENANT, trigger
from tests.makers import START, a_success, an_event_job, decided, new_id
from tocsin.adapters.postgres import Access, open_postgres
from tocsin.adapters.postgres.claims import Claims
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import Attempt
from tocsin.domain.job import OverlapPolicy
from tocsin.domain.lifecycle import cancel
from tocsin.ports.ledger import Hold
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

A_FULL_LOOK: Final = 61
UNNOTED: Final = """
SELECT count(*) FROM executions AS e
WHERE e.lease_expires_at IS NOT NULL AND NOT EXISTS (SELECT FROM claims AS c WHERE e.id = ANY(c.execution_ids))"""
NOTED: Final = "SELECT coalesce(sum(cardinality(execution_ids)), 0) FROM claims"
CLAIMS: Final = "SELECT count(*) FROM claims"


@pytest.fixture
async def other(access: Access, clock: ManualClock) -> AsyncIterator[Storage]:
    """Another node on the same database."""
    async with open_postgres(access, clock) as opened:
        yield opened


async def ids_of(storage: Storage, count: int) -> list[UUID]:
    job = await storage.jobs.add(an_event_job(overlap_policy=OverlapPolicy.ALLOW_ALL))
    return [row.id for row in await trigger(storage, job, count)]


async def claimed(storage: Storage, count: int) -> list[Attempt]:
    return [*await storage.ledger.claim(await ids_of(storage, count), worker_id="node")]


async def sweep(storage: Storage, clock: ManualClock) -> int:
    clock.advance(A_FULL_LOOK)
    return len(await storage.ledger.lapsed(limit=100))


async def test_what_a_node_held_that_died_is_found_by_others(
    storage: Storage, other: Storage, clock: ManualClock
) -> None:
    attempts = await claimed(storage, 3)
    await storage.ledger.finish([a_success(attempts[0])])
    clock.advance(attempts[0].definition.lock_timeout_seconds)

    lapsed = await other.ledger.lapsed(limit=10)

    assert sorted(each.hold for each in lapsed) == sorted((each.execution_id, 1) for each in attempts[1:])


async def test_a_claim_is_gone_once_its_node_claims_again_after_the_end(storage: Storage, stranger: Stranger) -> None:
    attempts = await claimed(storage, 3)
    await storage.ledger.finish([a_success(each) for each in attempts])

    await claimed(storage, 2)

    assert await stranger.fetchval(NOTED) == 2


async def test_a_claim_is_struck_of_what_another_node_ended(
    storage: Storage, other: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    attempts = await claimed(storage, 4)

    await other.ledger.finish([a_success(each) for each in attempts[:3]])
    await sweep(other, clock)
    assert await stranger.fetchval(NOTED) == 1
    await other.ledger.finish([a_success(attempts[3])])
    await sweep(other, clock)
    assert await stranger.fetchval(CLAIMS) == 0


async def test_a_claim_stays_until_the_slot_of_its_handler_is_released(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    [attempt] = await claimed(storage, 1)
    await storage.jobs.change(TENANT, attempt.job_id, decided(cancel))

    await sweep(storage, clock)
    assert await stranger.fetchval(NOTED) == 1
    await storage.ledger.release([(attempt.execution_id, 1)])
    await sweep(storage, clock)
    assert await stranger.fetchval(CLAIMS) == 0


async def test_a_sweep_that_meets_claims_and_ends_strikes_nothing_that_is_leased(
    storage: Storage, other: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    ids = await ids_of(storage, 60)

    async def run(node: Storage, mine: list[UUID]) -> None:
        for first in range(0, len(mine), 3):
            attempts = await node.ledger.claim(mine[first : first + 3], worker_id="node")
            await node.ledger.finish([a_success(each) for each in attempts[:2]])

    async def look(node: Storage) -> None:
        for _ in range(15):
            await sweep(node, clock)

    await asyncio.gather(run(storage, ids[:30]), run(other, ids[30:]), look(storage), look(other))

    assert await stranger.fetchval(UNNOTED) == 0
    clock.advance(timedelta(days=1).total_seconds())
    assert len(await other.ledger.lapsed(limit=100)) == 20
    assert await stranger.fetchval(NOTED) == 20


def test_a_claim_is_settled_once_all_that_it_took_is_let_go_and_told_once() -> None:
    claims, first, second = Claims(), new_id(START), new_id(START)
    ids = [new_id(START) for _ in range(3)]
    claims.took(first, holds(ids))
    claims.let_go(holds(ids[:2]))
    assert claims.settled() == []

    claims.took(second, holds(ids[1:], attempt=2))
    assert claims.settled() == [first]
    claims.let_go([*holds(ids), *holds(ids, attempt=2) * 2])

    assert [claims.settled(), claims.settled()] == [[second], []]


def test_what_a_claim_took_again_counts_no_more_for_the_one_before() -> None:
    claims, first = Claims(), new_id(START)
    ids = [new_id(START) for _ in range(2)]
    claims.took(first, holds(ids))

    claims.took(new_id(START), holds(ids, attempt=2))

    assert claims.settled() == [first]


def test_late_word_of_an_attempt_says_nothing_of_the_next_one_of_the_same_execution() -> None:
    claims, second = Claims(), new_id(START)
    ids = [new_id(START) for _ in range(2)]
    claims.took(new_id(START), holds(ids))
    claims.took(second, holds(ids, attempt=2))
    claims.settled()

    claims.let_go(holds(ids))
    claims.forget(holds(ids))

    assert claims.settled() == []
    claims.let_go(holds(ids, attempt=2))
    assert claims.settled() == [second]


def test_a_claim_of_which_something_was_lost_is_left_to_the_sweeper() -> None:
    claims = Claims()
    ids = [new_id(START) for _ in range(3)]
    claims.took(new_id(START), holds(ids))

    claims.forget(holds(ids[:1]))
    claims.let_go(holds(ids))

    assert claims.settled() == []


def holds(ids: list[UUID], *, attempt: int = 1) -> list[Hold]:
    return [(each, attempt) for each in ids]
