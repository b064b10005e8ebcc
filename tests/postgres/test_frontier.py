from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.makers import START, a_job, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.job import JobType
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

HOUR = timedelta(hours=1)


async def fired(storage: Storage) -> int:
    return (await storage.ledger.fire(planner, limit=10)).jobs


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
