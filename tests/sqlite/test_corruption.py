from __future__ import annotations

import sqlite3

import pytest

from tests.makers import a_job, a_success, decided, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus, ScheduledJob
from tocsin.domain.lifecycle import delete
from tocsin.ports.queries import ExecutionFilter, JobFilter
from tocsin.ports.storage import Storage

DAMAGES = {
    "a word that is none": "json_set(definition, '$.overlap_policy', 'sometimes')",
    "a type that is none": "json_set(definition, '$.type', 7)",
    "a field that is missing": "json_remove(definition, '$.handler_name')",
    "an instant that is none": "json_set(definition, '$.end_date', 'tomorrow')",
    "no object": "'[]'",
}


def damage(stranger: sqlite3.Connection, job: ScheduledJob, expression: str) -> None:
    stranger.execute(f"UPDATE jobs SET definition = {expression} WHERE id = ?", (str(job.id),))  # noqa: S608 - ours


@pytest.mark.parametrize("expression", DAMAGES.values(), ids=DAMAGES)
async def test_a_job_that_cannot_be_read_is_set_aside_and_hinders_nobody(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock, expression: str
) -> None:
    broken, sound = [await storage.jobs.add(a_job()) for _ in range(2)]
    damage(stranger, broken, expression)
    clock.advance(60)

    fired = await storage.ledger.fire(planner, limit=10)

    assert (fired.jobs, fired.executions) == (2, 1)
    found = await storage.jobs.get(broken.tenant_id, broken.id)
    assert (found.status, found.next_run, found.version) == (JobStatus.FAILED, None, 2)
    assert "cannot be read" in (found.definition.description or "")
    _, failed = await storage.jobs.versions(broken.tenant_id, broken.id)
    assert "cannot be read" in failed.reason
    assert (await storage.jobs.get(sound.tenant_id, sound.id)).status is JobStatus.ACTIVE


async def test_what_could_not_be_read_stays_in_the_file(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    damage(stranger, job, DAMAGES["a word that is none"])
    [before] = stranger.execute("SELECT definition FROM jobs")
    clock.advance(60)

    await storage.ledger.fire(planner, limit=10)

    assert stranger.execute("SELECT definition FROM jobs").fetchall() == [before]


async def test_a_job_that_cannot_be_read_is_listed_and_can_be_deleted(
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    jobs = [await storage.jobs.add(a_job()) for _ in range(2)]
    damage(stranger, jobs[0], DAMAGES["no object"])

    listed = await storage.jobs.list(jobs[0].tenant_id, JobFilter())
    await storage.jobs.change(jobs[0].tenant_id, jobs[0].id, decided(delete))

    assert {job.id for job in listed.items} == {job.id for job in jobs}
    assert (await storage.jobs.list(jobs[0].tenant_id, JobFilter())).items == [jobs[1]]


async def test_work_of_a_job_that_cannot_be_read_any_more_is_still_settled(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(60)
    fired = await storage.ledger.fire(planner, limit=10)
    attempts = await storage.ledger.claim([each.execution_id for each in fired.dispatches], worker_id="node")
    damage(stranger, job, DAMAGES["a type that is none"])

    await storage.ledger.renew([(attempts[0].execution_id, 1)], worker_id="node")
    finished = await storage.ledger.finish([a_success(attempt) for attempt in attempts])

    assert finished.rejected == []
    [row] = (await storage.executions.list(job.tenant_id, ExecutionFilter())).items
    assert row.status is ExecutionStatus.SUCCESS


async def test_the_file_takes_no_definition_that_is_no_json(storage: Storage, stranger: sqlite3.Connection) -> None:
    job = await storage.jobs.add(a_job())

    with pytest.raises(sqlite3.Error, match=r"(?i)json"):
        damage(stranger, job, "'{'")
