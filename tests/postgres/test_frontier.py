from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

import pytest

from tests.contracts.steps import trigger
from tests.makers import START, a_job, an_event_job, planner
from tocsin.adapters.postgres.filters import EVER
from tocsin.adapters.postgres.frontier import NOTED_MARGIN, Frontier
from tocsin.adapters.system import ManualClock
from tocsin.domain.job import JobType, OverlapPolicy
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

HOUR = timedelta(hours=1)


async def fired(storage: Storage) -> int:
    return (await storage.ledger.fire(planner, limit=10)).jobs


async def undelivered(storage: Storage) -> int:
    return len(await storage.ledger.undelivered(capabilities=None, grace=timedelta(seconds=1), limit=10))


async def lapsed(storage: Storage) -> int:
    return len(await storage.ledger.lapsed(limit=10))


async def dispatch(storage: Storage) -> UUID:
    [row] = await trigger(storage, await storage.jobs.add(an_event_job()), 1)
    return row.id


async def claim(storage: Storage) -> None:
    assert await storage.ledger.claim([await dispatch(storage)], worker_id="node")


SWEEPS: Final = [(undelivered, dispatch), (lapsed, claim)]
Sweep: TypeAlias = Callable[[Storage], Awaitable[int]]
Step: TypeAlias = Callable[[Storage], Awaitable[object]]


async def test_what_becomes_due_a_minute_ago_is_found_at_once(storage: Storage, clock: ManualClock) -> None:
    clock.advance(7200)
    assert await fired(storage) == 0
    late = clock.now() - timedelta(seconds=60)

    await storage.jobs.add(a_job(type=JobType.ONE_TIME, schedule=late.isoformat(), next_run=late))

    assert await fired(storage) == 1


async def test_what_somebody_wrote_into_the_past_is_found_within_a_minute(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    await storage.jobs.add(a_job(schedule="every 5h"))
    clock.advance(7200)
    assert await fired(storage) == 0
    await stranger.execute("UPDATE jobs SET next_run = $1", START + HOUR)

    assert await fired(storage) == 0
    clock.advance(60)
    assert await fired(storage) == 1


async def test_a_backlog_is_worked_off_however_old_it_is(storage: Storage, clock: ManualClock) -> None:
    for _ in range(3):
        await storage.jobs.add(a_job())
    assert await fired(storage) == 0
    clock.advance(7200)

    looks = [await storage.ledger.fire(planner, limit=1) for _ in range(4)]

    assert [each.jobs for each in looks] == [1, 1, 1, 0]


async def test_a_clock_that_is_set_back_hides_nothing(storage: Storage, clock: ManualClock) -> None:
    clock.advance(7200)
    assert await fired(storage) == 0
    clock.jump_wall(-HOUR)
    await storage.jobs.add(a_job(next_run=clock.now()))

    assert await fired(storage) == 1


@pytest.mark.parametrize(("sweep", "step"), SWEEPS)
async def test_what_is_lost_while_a_sweeper_looks_on_is_found(
    storage: Storage, clock: ManualClock, sweep: Sweep, step: Step
) -> None:
    clock.advance(7200)
    assert await sweep(storage) == 0
    clock.advance(10)
    await step(storage)
    found = []
    for _ in range(40):
        clock.advance(5)
        found.append(await sweep(storage))

    assert (found[-1], sorted(found)) == (1, found)


@pytest.mark.parametrize(("sweep", "step"), SWEEPS)
async def test_a_clock_that_is_set_back_hides_nothing_from_a_sweeper(
    storage: Storage, clock: ManualClock, sweep: Sweep, step: Step
) -> None:
    clock.advance(7200)
    assert await sweep(storage) == 0
    clock.jump_wall(-HOUR)
    await step(storage)
    clock.advance(200)

    assert await sweep(storage) == 1


@pytest.mark.parametrize(
    ("sweep", "step", "change"),
    [
        (
            undelivered,
            dispatch,
            "WITH moved AS (UPDATE executions SET dispatched_at = $1) UPDATE open_executions SET dispatched_at = $1",
        ),
        (
            lapsed,
            claim,
            """
            WITH moved AS (UPDATE executions SET started_at = $1, lease_expires_at = $1)
            UPDATE claims SET claimed_at = $1""",
        ),
    ],
)
async def test_what_somebody_moved_into_the_past_is_found_by_a_sweeper_within_a_minute(  # noqa: PLR0917 - fixtures
    storage: Storage, clock: ManualClock, stranger: Stranger, sweep: Sweep, step: Step, change: str
) -> None:
    clock.advance(7200)
    await step(storage)
    assert await sweep(storage) == 0
    await stranger.execute(change, START)

    assert await sweep(storage) == 0
    clock.advance(60)
    assert await sweep(storage) == 1


def test_a_full_look_that_fails_is_made_again_only_a_minute_later() -> None:
    frontier = Frontier()
    assert frontier.since(START) == EVER
    frontier.move(START, START)
    assert frontier.since(START + HOUR) == EVER

    # It is never moved, and the next ones begin where the last success did.
    assert frontier.since(START + HOUR) == START
    assert frontier.since(START + HOUR + timedelta(seconds=59)) == START
    assert frontier.since(START + HOUR + timedelta(seconds=60)) == EVER


def test_after_the_clock_was_set_back_looks_begin_anew_until_one_succeeds() -> None:
    frontier = Frontier()
    frontier.since(START + HOUR)
    frontier.move(None, START + HOUR)

    assert [frontier.since(START), frontier.since(START)] == [EVER, EVER]
    frontier.move(START, START)
    assert frontier.since(START) == START - timedelta(minutes=2)


def test_a_look_reaches_back_behind_now_as_far_as_its_margin() -> None:
    frontier = Frontier(NOTED_MARGIN)
    frontier.since(START)
    frontier.move(None, START)

    assert frontier.since(START) == START - NOTED_MARGIN


async def test_a_look_through_pages_finds_each_of_a_backlog_once(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(an_event_job(overlap_policy=OverlapPolicy.ALLOW_ALL))
    stored = {row.id for row in await trigger(storage, job, 5)}
    clock.advance(10)

    after, seen = None, []
    while page := await storage.ledger.undelivered(capabilities=None, grace=timedelta(seconds=1), limit=2, after=after):
        seen += [dispatch.execution_id for dispatch, _ in page]
        last, at = page[-1]
        after = last.execution_id, at

    assert (len(seen), set(seen)) == (5, stored)
