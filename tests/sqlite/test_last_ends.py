"""Ends that complete jobs of one time at once, held against the way that reads and writes whole jobs."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, cast
from uuid import UUID

import pytest

from tests.contracts.steps import TENANT, claim, counters, executions_of, recount, trigger, versions_of
from tests.makers import a_job, a_success, decided, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import Attempt
from tocsin.domain.execution import JobExecution
from tocsin.domain.job import JobStatus, JobType, ScheduledJob
from tocsin.domain.lifecycle import pause, resume, update
from tocsin.domain.plan import JobChange
from tocsin.ports.storage import Storage

MINUTE: Final = timedelta(minutes=1)
NOBODY: Final = UUID(int=0)
NARROW: Final = """
SELECT sum(json_type(after, '$.definition') IS NULL AND json_type(before, '$.definition') IS NULL), count(*)
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
async def test_what_is_written_at_once_is_what_the_general_way_would_write(
    storage: Storage, clock: ManualClock, *, is_paused: bool
) -> None:
    jobs, attempts = await running(storage, clock, 2, payload={"n": 1.0}, metadata={"b": 1, "a": None})
    if is_paused:
        for job in jobs:
            await storage.jobs.change(TENANT, job.id, decided(pause))
    clock.advance(1)
    quick, general = [a_success(attempt, result={"n": 1}, duration_ms=1000) for attempt in attempts]

    await storage.ledger.finish([replace(quick, is_of_one_time=True)])
    # What is not said to be of one time is the general way's.
    await storage.ledger.finish([replace(general, is_of_one_time=False)])

    first, second = [await told(storage, job) for job in jobs]
    assert first == second
    assert first[0].status is JobStatus.COMPLETED


async def test_an_end_that_leaves_work_to_its_job_does_not_complete_it(storage: Storage, clock: ManualClock) -> None:
    [job], [attempt] = await running(storage, clock, 1)
    await trigger(storage, job, 1)

    assert (await storage.ledger.finish([a_success(attempt)])).rejected == []

    assert (await storage.jobs.get(TENANT, job.id)).status is JobStatus.ACTIVE
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
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    job = await storage.jobs.add(a_job(payload={"n": 1.0}))
    steps = [decided(pause), decided(resume), decided(update, replace(job.definition, priority=9)), decided(pause)]
    for step in steps:
        job = (await storage.jobs.change(TENANT, job.id, step)).job

    versions = await versions_of(storage, TENANT, job.id)

    assert stranger.execute(NARROW).fetchone() == (3, 5)
    documents = [cast("dict[str, Any]", each.after) for each in versions]
    assert [each.before for each in versions] == [None, *documents[:-1]]
    assert [each["definition"]["priority"] for each in documents] == [50, 50, 50, 9, 9]
    assert [each["status"] for each in documents] == ["active", "paused", "active", "active", "paused"]
    assert all([*each] == ["definition", "status", "deleted"] for each in documents)
    for version in range(2, len(versions) + 1):
        page = await storage.jobs.versions(TENANT, job.id, limit=1, before_version=version)
        assert page.items == [versions[version - 2]]


async def test_a_ledger_that_begins_with_a_version_without_a_definition_is_told_it(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    for step in (pause, resume):
        clock.advance(1)
        await storage.jobs.change(TENANT, job.id, decided(step))
    clock.advance(1)

    [ledger] = (await storage.ledger.recent_ledgers(since=clock.now(), limit=10)).ledgers

    [change] = ledger.versions
    recorded = cast("dict[str, Any]", change.after)
    assert change.version == 3
    assert (recorded["definition"]["schedule"], recorded["status"]) == (job.definition.schedule, "active")
