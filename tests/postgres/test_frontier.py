from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

import pytest

from tests.contracts.steps import trigger
from tests.makers import START, a_job, an_event_job, planner
from tocsin.adapters.postgres import Database
from tocsin.adapters.postgres.filters import EVER
from tocsin.adapters.postgres.frontier import DUE_MARGIN, NOTED_MARGIN, Frontier
from tocsin.adapters.postgres.transaction import Transaction
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import StoreUnavailable
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
LookAt: TypeAlias = Callable[..., Awaitable[datetime]]


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


@pytest.fixture
def look_at(database: Database, clock: ManualClock) -> LookAt:
    """Ask a frontier, at an instant, where to begin; and have it told, unless that look fails, what it left."""

    async def look(frontier: Frontier, at: datetime, *, left: datetime | None = None, fails: bool = False) -> datetime:
        clock.jump_wall(at - clock.now())
        begun = []

        async def work(transaction: Transaction) -> None:
            begun.append(await frontier.since(transaction))
            await frontier.tell(transaction, left)
            if fails:
                raise StoreUnavailable("out of time")

        with suppress(StoreUnavailable):
            await database.write(work)
            frontier.move(left, at)
        return begun[-1]

    return look


async def test_a_full_look_that_fails_is_made_again_only_a_minute_later(look_at: LookAt) -> None:
    frontier = Frontier("due")
    assert await look_at(frontier, START, left=START) == EVER
    assert await look_at(frontier, START + HOUR, fails=True) == EVER

    # It left nothing, and the next ones begin where the last success did.
    assert await look_at(frontier, START + HOUR, fails=True) == START
    assert await look_at(frontier, START + HOUR + timedelta(seconds=59), fails=True) == START
    assert await look_at(frontier, START + HOUR + timedelta(seconds=60), fails=True) == EVER


async def test_after_the_clock_was_set_back_looks_begin_anew_until_one_succeeds(look_at: LookAt) -> None:
    frontier = Frontier("due")
    await look_at(frontier, START + HOUR)

    assert [await look_at(frontier, START, fails=True) for _ in range(2)] == [EVER, EVER]
    await look_at(frontier, START, left=START)
    assert await look_at(frontier, START) == START - DUE_MARGIN
    assert await look_at(Frontier("due"), START) == START - DUE_MARGIN


async def test_a_look_reaches_back_behind_now_as_far_as_its_margin(look_at: LookAt) -> None:
    frontier = Frontier("dispatched", NOTED_MARGIN)
    await look_at(frontier, START)

    assert await look_at(frontier, START) == START - NOTED_MARGIN


async def test_a_node_that_starts_begins_where_others_got_to(look_at: LookAt) -> None:
    await look_at(Frontier("due"), START, left=START - HOUR)

    assert await look_at(Frontier("due"), START + timedelta(seconds=59)) == START - HOUR
    assert await look_at(Frontier("claimed"), START) == EVER


async def test_of_all_nodes_one_looks_at_everything_in_a_minute(look_at: LookAt) -> None:
    fleet = [Frontier("dispatched", NOTED_MARGIN) for _ in range(3)]
    sweeps = [START + timedelta(seconds=seconds) for seconds in range(0, 240, 5)]
    looks = [await look_at(frontier, at) for at in sweeps for frontier in fleet]

    assert looks.count(EVER) == 4


async def test_a_node_that_starts_and_fails_to_look_at_everything_begins_where_others_got_to(look_at: LookAt) -> None:
    await look_at(Frontier("due"), START, left=START)
    frontier = Frontier("due")

    assert await look_at(frontier, START + HOUR, fails=True) == EVER
    assert await look_at(frontier, START + HOUR) == START - DUE_MARGIN


async def test_a_full_look_that_failed_is_told_to_nobody_as_made(look_at: LookAt) -> None:
    frontier = Frontier("due")
    await look_at(frontier, START, fails=True)
    await look_at(frontier, START + timedelta(seconds=40))

    assert await look_at(Frontier("due"), START + timedelta(seconds=41)) == EVER


async def test_what_a_failed_transaction_found_is_told_to_nobody(look_at: LookAt) -> None:
    await look_at(Frontier("due"), START, fails=True)

    assert await look_at(Frontier("due"), START) == EVER


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


async def test_a_page_of_a_backlog_does_not_count_as_a_look_at_everything(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    job = await storage.jobs.add(an_event_job(overlap_policy=OverlapPolicy.ALLOW_ALL))
    stored = await trigger(storage, job, 4)
    clock.advance(10)
    grace = timedelta(seconds=1)
    page = await storage.ledger.undelivered(capabilities=None, grace=grace, limit=2)
    dispatch, at = page[-1]
    await stranger.execute(
        "WITH moved AS (UPDATE executions SET dispatched_at = $1 WHERE id = $2) "
        "UPDATE open_executions SET dispatched_at = $1 WHERE execution_id = $2",
        START - HOUR,
        stored[0].id,
    )
    clock.advance(60)

    await storage.ledger.undelivered(capabilities=None, grace=grace, limit=2, after=(dispatch.execution_id, at))
    first = await storage.ledger.undelivered(capabilities=None, grace=grace, limit=2)

    assert first[0][0].execution_id == stored[0].id
