"""Ends that are written in one statement, in the company of those that are not, and of who changes their jobs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from tests.contracts.steps import TENANT, claim, counters, execution, executions_of, recount, trigger
from tests.makers import START, a_failure, a_job, a_success, an_event_job, planner
from tests.postgres.sessions import CUT, until_calls_wait_for_a_lock
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus, OverlapPolicy
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

MINUTE: Final = timedelta(minutes=1)
HOLD: Final = "SELECT 1 FROM executions WHERE id = $1 FOR NO KEY UPDATE"
# Whoever wants to write an execution of that time has to wait, having locked the job and its counters.
TAKE_NEXT_TIME: Final = "UPDATE executions SET scheduled_at = scheduled_at + interval '1 minute' WHERE id = $1"


@pytest.mark.parametrize(
    ("end_date", "status"), [(START + MINUTE * 2.5, JobStatus.COMPLETED), (START + MINUTE * 9, JobStatus.ACTIVE)]
)
async def test_an_end_that_waits_for_a_fire_knows_what_became_of_the_job(
    storage: Storage, clock: ManualClock, stranger: Stranger, end_date: object, status: JobStatus
) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.SKIP, end_date=end_date))
    clock.advance(60)
    await storage.ledger.fire(planner, limit=1)
    [attempt] = await claim(storage, *await executions_of(storage, job))
    clock.advance(60)

    begun = stranger.transaction()
    await begun.start()
    await stranger.execute(TAKE_NEXT_TIME, attempt.execution_id)
    fire = asyncio.create_task(storage.ledger.fire(planner, limit=1))
    await until_calls_wait_for_a_lock(stranger, 1)
    end = asyncio.create_task(storage.ledger.finish([a_success(attempt)]))
    await until_calls_wait_for_a_lock(stranger, 2)
    await begun.rollback()

    assert [(await fire).jobs, (await end).rejected] == [1, []]
    assert (await storage.jobs.get(TENANT, job.id)).status is status
    assert await counters(storage, job) == recount(await executions_of(storage, job))


async def test_good_ends_of_several_jobs_are_counted_for_each_and_what_did_not_end_is_not(storage: Storage) -> None:
    limited, free = [
        await storage.jobs.add(an_event_job(overlap_policy=policy, concurrency=3))
        for policy in (OverlapPolicy.SKIP, OverlapPolicy.ALLOW_ALL)
    ]
    rows = [*await trigger(storage, limited, 3), *await trigger(storage, free, 3)]
    attempts = await claim(storage, *rows)

    stale = replace(attempts[0], attempt=2)
    finished = await storage.ledger.finish([a_success(each) for each in (stale, *attempts[1:-1])])

    assert finished.rejected == [(stale.execution_id, 2)]
    for job in (limited, free):
        assert await counters(storage, job) == recount(await executions_of(storage, job))


async def test_ends_that_were_written_are_not_rejected_where_the_call_is_repeated_for_others(
    storage: Storage, stranger: Stranger
) -> None:
    first, second = [await storage.jobs.add(an_event_job(overlap_policy=OverlapPolicy.ALLOW_ALL)) for _ in range(2)]
    attempts = await claim(storage, *await trigger(storage, first, 2), *await trigger(storage, second, 1))
    ends = [*map(a_success, attempts[:2]), a_failure(attempts[2])]

    async with stranger.transaction():
        await stranger.execute(HOLD, attempts[2].execution_id)
        call = asyncio.create_task(storage.ledger.finish(ends))
        await until_calls_wait_for_a_lock(stranger, 1)
        await stranger.execute(CUT)
        with pytest.raises(StoreUnavailable):
            await call

    assert (await execution(storage, attempts[0].execution_id)).status is ExecutionStatus.SUCCESS
    assert (await storage.ledger.finish(ends)).rejected == []
    assert len((await storage.ledger.finish(ends)).rejected) == len(ends)
    await claim(storage, *await trigger(storage, first, 1))
    assert await stranger.fetchval("SELECT count(*) FROM claims") == 1
