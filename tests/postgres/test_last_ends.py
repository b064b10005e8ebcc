"""Ends that complete jobs of one time in one statement, held against the way that reads and writes whole jobs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

import pytest

from tests.contracts.steps import TENANT, claim, counters, execution, executions_of, recount, trigger, versions_of
from tests.makers import a_failure, a_job, a_success, an_event_job, decided, planner
from tests.postgres.sessions import CUT, until_calls_wait_for_a_lock
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import Attempt
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import JobStatus, JobType, ScheduledJob
from tocsin.domain.lifecycle import pause, reschedule, resume, update
from tocsin.domain.plan import JobChange
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

MINUTE: Final = timedelta(minutes=1)
NOBODY: Final = UUID(int=0)
HOLD: Final = "SELECT 1 FROM executions WHERE id = $1 FOR NO KEY UPDATE"
HOLD_JOB: Final = "SELECT 1 FROM jobs WHERE id = $1 FOR NO KEY UPDATE"
RENEWED: Final = "UPDATE executions SET lease_expires_at = lease_expires_at + interval '1 minute' WHERE id = $1"
CLAIMS: Final = "SELECT count(*) FROM claims"
STORED: Final = """
SELECT count(*) FILTER (WHERE after -> 'definition' IS NULL AND before -> 'definition' IS NULL) AS narrow, count(*)
FROM job_versions"""


async def running(
    storage: Storage, clock: ManualClock, count: int, **fields: object
) -> tuple[list[ScheduledJob], list[Attempt]]:
    """Jobs of one time with the attempts that run for them, in their order."""
    at = clock.now() + MINUTE
    fields = {"type": JobType.ONE_TIME, "schedule": at.isoformat(), **fields}
    jobs = [await storage.jobs.add(a_job(**fields)) for _ in range(count)]
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=count)
    rows = [row for job in jobs for row in await executions_of(storage, job)]
    return jobs, [*await claim(storage, *rows)]


async def told(storage: Storage, job: ScheduledJob) -> tuple[ScheduledJob, JobExecution, list[JobChange]]:
    """All that there is of a job, but for what tells it from another."""
    [row] = await executions_of(storage, job)
    return (
        replace(await storage.jobs.get(TENANT, job.id), id=NOBODY),
        replace(row, id=NOBODY, job_id=NOBODY, trace_id=None, span_id=None),
        [replace(each, job_id=NOBODY) for each in await versions_of(storage, TENANT, job.id)],
    )


@pytest.mark.parametrize("is_paused", [False, True])
async def test_what_one_statement_writes_is_what_the_general_way_would(
    storage: Storage, clock: ManualClock, *, is_paused: bool
) -> None:
    jobs, attempts = await running(storage, clock, 2, payload={"n": 1.0}, metadata={"b": 1, "a": None})
    if is_paused:
        for job in jobs:
            await storage.jobs.change(TENANT, job.id, decided(pause))
    clock.advance(1)
    quick, general = [a_success(attempt, result={"n": 1}, duration_ms=1000) for attempt in attempts]

    await storage.ledger.finish([quick])
    # What somebody listens to is the general way's.
    await storage.outbox.listen("everything", tenant_id=None, pattern="tocsin.**", lease=MINUTE)
    await storage.ledger.finish([general])

    first, second = [await told(storage, job) for job in jobs]
    assert first == second
    assert first[0].status is JobStatus.COMPLETED


async def test_an_end_that_waits_for_an_edit_knows_that_the_job_is_to_fire_again(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    [job], [attempt] = await running(storage, clock, 1)
    later = clock.now() + 5 * MINUTE
    rescheduled = replace(job.definition, schedule=later.isoformat())

    async with stranger.transaction():
        await stranger.execute(HOLD_JOB, job.id)
        edit = asyncio.create_task(storage.jobs.change(TENANT, job.id, decided(reschedule, rescheduled)))
        await until_calls_wait_for_a_lock(stranger, 1)
        end = asyncio.create_task(storage.ledger.finish([a_success(attempt)]))
        await until_calls_wait_for_a_lock(stranger, 2)

    assert (await edit).job.next_run == later
    assert (await end).rejected == []
    assert (await storage.jobs.get(TENANT, job.id)).status is JobStatus.ACTIVE
    assert (await execution(storage, attempt.execution_id)).status is ExecutionStatus.SUCCESS
    assert await counters(storage, job) == recount(await executions_of(storage, job))


async def test_completing_ends_are_not_rejected_where_the_call_is_repeated_for_others(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    jobs, attempts = await running(storage, clock, 2)
    ends = [a_success(attempts[0]), a_failure(attempts[1])]

    async with stranger.transaction():
        await stranger.execute(HOLD, attempts[1].execution_id)
        call = asyncio.create_task(storage.ledger.finish(ends))
        await until_calls_wait_for_a_lock(stranger, 1)
        await stranger.execute(CUT)
        with pytest.raises(StoreUnavailable):
            await call

    assert (await storage.jobs.get(TENANT, jobs[0].id)).status is JobStatus.COMPLETED
    assert (await storage.ledger.finish(ends)).rejected == []
    assert len((await storage.ledger.finish(ends)).rejected) == len(ends)


async def test_a_claim_is_settled_whose_end_was_written_by_a_call_that_failed_for_others(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    _, attempts = await running(storage, clock, 1)
    recurring = await storage.jobs.add(an_event_job())
    attempts += await claim(storage, *await trigger(storage, recurring, 1))
    ends = [a_success(attempt) for attempt in attempts]

    async with stranger.transaction():
        await stranger.execute(HOLD, attempts[1].execution_id)
        call = asyncio.create_task(storage.ledger.finish(ends))
        await until_calls_wait_for_a_lock(stranger, 1)
        await stranger.execute(CUT)
        with pytest.raises(StoreUnavailable):
            await call
    await storage.ledger.finish(ends)
    await claim(storage, *await trigger(storage, recurring, 1))

    assert await stranger.fetchval(CLAIMS) == 1


async def test_an_end_that_waits_for_a_renewal_completes_its_job_all_the_same(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    jobs, attempts = await running(storage, clock, 3)

    async with stranger.transaction():
        await stranger.execute(RENEWED, attempts[1].execution_id)
        end = asyncio.create_task(storage.ledger.finish([*map(a_success, attempts)]))
        await until_calls_wait_for_a_lock(stranger, 1)

    assert (await end).rejected == []
    for job in jobs:
        assert (await storage.jobs.get(TENANT, job.id)).status is JobStatus.COMPLETED
        assert len(await versions_of(storage, TENANT, job.id)) == 2
        assert await counters(storage, job) == recount(await executions_of(storage, job))


async def test_a_result_that_cannot_be_kept_keeps_no_other_job_from_its_end(
    storage: Storage, clock: ManualClock
) -> None:
    jobs, attempts = await running(storage, clock, 2, max_retries=0)
    good, bad = map(a_success, attempts)

    await storage.ledger.finish([good, replace(bad, result={"text": "\ud800"})])

    states = [(await storage.jobs.get(TENANT, job.id)).status for job in jobs]
    assert states == [JobStatus.COMPLETED, JobStatus.FAILED]


async def test_a_version_repeats_no_definition_that_it_did_not_change_and_is_read_whole_from_any_page(
    storage: Storage, stranger: Stranger
) -> None:
    job = await storage.jobs.add(a_job(payload={"n": 1.0}))
    steps = [decided(pause), decided(resume), decided(update, replace(job.definition, priority=9)), decided(pause)]
    for step in steps:
        job = (await storage.jobs.change(TENANT, job.id, step)).job

    versions = await versions_of(storage, TENANT, job.id)

    assert tuple(await stranger.fetchrow(STORED) or ()) == (3, 5)
    documents = [cast("dict[str, Any]", each.after) for each in versions]
    assert [each.before for each in versions] == [None, *documents[:-1]]
    assert [each["definition"]["priority"] for each in documents] == [50, 50, 50, 9, 9]
    assert [each["status"] for each in documents] == ["active", "paused", "active", "active", "paused"]
    assert all([*each] == ["definition", "status", "deleted"] for each in documents)
    for version in range(2, len(versions) + 1):
        page = await storage.jobs.versions(TENANT, job.id, limit=1, before_version=version)
        assert page.items == [versions[version - 2]]
