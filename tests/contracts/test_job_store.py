from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.contracts.steps import TENANT, an_idle_job, claim, executions_of, trigger, versions_of
from tests.makers import START, a_definition, a_job, a_success, decided, new_id, planner, triggered
from tocsin.adapters.system import ManualClock
from tocsin.domain.counters import JobCounters
from tocsin.domain.definition import document
from tocsin.domain.errors import Conflict, JobNotFound, VersionConflict
from tocsin.domain.job import Backoff, HandlerType, JobStatus, JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import cancel, delete, pause, resume, update
from tocsin.domain.plan import Plan
from tocsin.ports.queries import JobFilter
from tocsin.ports.storage import Storage

OTHER = "acme"
MINUTE = timedelta(minutes=1)


async def test_the_stores_clock_is_the_one_that_fires(storage: Storage, clock: ManualClock) -> None:
    clock.advance(1.000001)

    assert await storage.jobs.now() == clock.now()


async def test_a_job_comes_back_as_it_was_added(storage: Storage) -> None:
    definition = a_definition(
        name="ünï 'quoted' \"twice\"; --",
        type=JobType.RECURRING,
        schedule="*/7 2 * * 1-5",
        handler_name="http",
        handler_type=HandlerType.HTTP,
        key="the-key",
        description="what for",
        timezone="Europe/Berlin",
        start_date=START,
        end_date=START + timedelta(days=9, microseconds=1),
        max_executions=9,
        payload={"a": [1, 2.5, None, {"b": "\N{BELL}"}]},
        metadata={"team": "ops"},
        tags=("b", "a"),
        priority=75,
        concurrency=3,
        overlap_policy=OverlapPolicy.QUEUE_ONE,
        misfire_policy=MisfirePolicy.RUN_ALL,
        misfire_grace_seconds=1,
        catchup_window_seconds=2,
        max_catchup=3,
        max_retries=4,
        retry_delay_ms=5,
        backoff=Backoff.FIXED,
        retry_jitter=0.5,
        timeout_ms=6000,
        lock_timeout_seconds=31,
    )
    job = a_job(
        definition=definition,
        tenant_id=OTHER,
        created_at=START + timedelta(microseconds=123),
        next_run=START + MINUTE,
        created_by="someone",
    )

    assert await storage.jobs.add(job) == job
    assert await storage.jobs.get(OTHER, job.id) == job


@pytest.mark.parametrize("payload", [None, 0, "", [], {}, False])
async def test_every_payload_is_itself_again(storage: Storage, payload: object) -> None:
    job = await storage.jobs.add(a_job(payload=payload))

    stored = (await storage.jobs.get(TENANT, job.id)).definition.payload
    assert (stored, type(stored)) == (payload, type(payload))


async def test_the_first_version_is_recorded(storage: Storage) -> None:
    job = await storage.jobs.add(a_job(created_by="someone"))

    [created] = await versions_of(storage, TENANT, job.id)

    assert (created.job_id, created.tenant_id, created.version) == (job.id, TENANT, 1)
    assert (created.changed_at, created.changed_by, created.reason) == (START, "someone", "created")
    assert created.before is None
    assert created.after == {"definition": document(job.definition), "status": "active", "deleted": False}


async def test_an_unknown_job_is_not_found(storage: Storage) -> None:
    missing = new_id(START)

    for call in (storage.jobs.get(TENANT, missing), versions_of(storage, TENANT, missing)):
        with pytest.raises(JobNotFound) as caught:
            await call
        assert caught.value.job_id == missing
    with pytest.raises(JobNotFound):
        await storage.jobs.change(TENANT, missing, triggered())


async def test_a_foreign_job_is_not_found(storage: Storage) -> None:
    job = await storage.jobs.add(a_job(tenant_id=OTHER))

    for call in (
        storage.jobs.get(TENANT, job.id),
        versions_of(storage, TENANT, job.id),
        storage.jobs.change(TENANT, job.id, triggered()),
    ):
        with pytest.raises(JobNotFound):
            await call
    assert (await storage.jobs.list(TENANT, JobFilter())).total == 0
    assert (await storage.jobs.get(OTHER, job.id)) == job


async def test_a_deleted_job_does_not_exist_but_its_ledger_and_versions_do(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    deleted = await storage.jobs.change(TENANT, job.id, decided(delete))

    assert (deleted.job.deleted_at, deleted.job.deleted_by) == (clock.now(), "tester")
    for call in (storage.jobs.get(TENANT, job.id), storage.jobs.change(TENANT, job.id, triggered())):
        with pytest.raises(JobNotFound):
            await call
    assert (await storage.jobs.list(TENANT, JobFilter())).total == 0
    assert [change.reason for change in await versions_of(storage, TENANT, job.id)] == ["created", "deleted"]
    assert len(await executions_of(storage, job)) == 1
    assert (await storage.executions.queue(None)).jobs_by_status == {}


async def test_a_key_is_taken_once_per_tenant_and_handler(storage: Storage) -> None:
    first = await storage.jobs.add(a_job(key="nightly"))
    await storage.jobs.add(a_job(key="nightly", handler_name="other"))
    await storage.jobs.add(a_job(key="nightly", tenant_id=OTHER))
    await storage.jobs.add(a_job())
    await storage.jobs.add(a_job())

    with pytest.raises(Conflict) as caught:
        await storage.jobs.add(a_job(key="nightly"))

    assert caught.value.existing_id == first.id
    assert (await storage.jobs.list(TENANT, JobFilter())).total == 4


async def test_of_many_jobs_added_at_once_with_one_key_one_stays(storage: Storage) -> None:
    answers = await asyncio.gather(*(storage.jobs.add(a_job(key="nightly")) for _ in range(10)), return_exceptions=True)

    assert sum(isinstance(answer, Conflict) for answer in answers) == 9
    assert (await storage.jobs.list(TENANT, JobFilter())).total == 1


@pytest.mark.parametrize("step", [cancel, delete])
async def test_a_cancelled_or_deleted_job_gives_its_key_back(storage: Storage, step: Callable[..., Plan]) -> None:
    first = await storage.jobs.add(a_job(key="nightly"))
    await storage.jobs.change(TENANT, first.id, decided(step))

    second = await storage.jobs.add(a_job(key="nightly"))

    assert (await storage.jobs.list(TENANT, JobFilter(key=("nightly",), status=(JobStatus.ACTIVE,)))).items == [second]


async def test_an_update_cannot_take_another_jobs_key(storage: Storage) -> None:
    first = await storage.jobs.add(a_job(key="nightly"))
    second = await storage.jobs.add(a_job(key="hourly"))

    with pytest.raises(Conflict) as caught:
        await storage.jobs.change(
            TENANT, second.id, decided(update, replace(second.definition, key="nightly", priority=1))
        )

    assert caught.value.existing_id == first.id
    assert await storage.jobs.get(TENANT, second.id) == second
    assert len(await versions_of(storage, TENANT, second.id)) == 1


async def test_a_job_keeps_its_own_key(storage: Storage) -> None:
    job = await storage.jobs.add(a_job(key="nightly"))

    changed = await storage.jobs.change(TENANT, job.id, decided(update, replace(job.definition, priority=1)))

    assert (changed.job.definition.key, changed.job.definition.priority) == ("nightly", 1)


async def test_every_change_of_definition_or_status_is_recorded(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(1)
    renamed = replace(job.definition, name="renamed")
    await storage.jobs.change(TENANT, job.id, decided(update, renamed))
    await storage.jobs.change(TENANT, job.id, decided(pause))
    await storage.jobs.change(TENANT, job.id, decided(resume))
    await storage.jobs.change(TENANT, job.id, triggered())

    versions = await versions_of(storage, TENANT, job.id)

    assert [change.version for change in versions] == [1, 2, 3, 4]
    assert [change.reason for change in versions] == ["created", "updated", "paused", "resumed"]
    assert [change.changed_by for change in versions] == [None, "tester", "tester", "tester"]
    assert [change.before for change in versions[1:]] == [change.after for change in versions[:-1]]
    assert versions[1].after == {"definition": document(renamed), "status": "active", "deleted": False}
    assert versions[1].changed_at == clock.now()
    assert (await storage.jobs.get(TENANT, job.id)).version == 4


async def test_a_change_answers_the_job_as_it_is_stored(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())

    changed = await storage.jobs.change(TENANT, job.id, triggered(payload=[1]))

    assert changed.job == await storage.jobs.get(TENANT, job.id)
    assert changed.execution is not None
    assert changed.execution == await storage.executions.get(TENANT, changed.execution.id)
    assert [dispatch.execution_id for dispatch in changed.dispatches] == [changed.execution.id]
    assert (await storage.jobs.change(TENANT, job.id, decided(pause))).execution is None


async def test_a_decision_sees_the_job_and_the_stores_now(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(3)
    seen: list[tuple[ScheduledJob, datetime]] = []

    def look(job: ScheduledJob, now: datetime) -> Plan:
        seen.append((job, now))
        return Plan(job=job)

    await storage.jobs.change(TENANT, job.id, look)

    assert seen == [(job, clock.now())]


async def test_a_decision_that_raises_changes_nothing(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(2 * MINUTE)

    def refuse(job: ScheduledJob, now: datetime) -> Plan:
        planner(job, now)
        raise LookupError("no")

    with pytest.raises(LookupError):
        await storage.jobs.change(TENANT, job.id, refuse)

    assert await storage.jobs.get(TENANT, job.id) == job
    assert not await executions_of(storage, job)
    assert (await storage.ledger.fire(planner, limit=1)).jobs == 1


async def test_a_stale_version_changes_nothing(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())
    await storage.jobs.change(TENANT, job.id, decided(pause), expected_version=1)

    with pytest.raises(VersionConflict) as caught:
        await storage.jobs.change(TENANT, job.id, decided(resume), expected_version=1)

    assert (caught.value.expected, caught.value.current) == (1, 2)
    assert (await storage.jobs.get(TENANT, job.id)).status is JobStatus.PAUSED


async def test_of_many_editors_with_one_version_one_wins(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())

    answers: list[Any] = await asyncio.gather(
        *(
            storage.jobs.change(
                TENANT, job.id, decided(update, replace(job.definition, priority=priority)), expected_version=1
            )
            for priority in range(10)
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, VersionConflict) for answer in answers) == 9
    assert (await storage.jobs.get(TENANT, job.id)).version == 2


async def test_an_idempotency_key_runs_once_per_job(storage: Storage) -> None:
    job, other = await an_idle_job(storage), await an_idle_job(storage)
    run = triggered(idempotency_key="once")

    answers = await asyncio.gather(
        *(storage.jobs.change(TENANT, job.id, run, idempotency_key="once") for _ in range(10))
    )
    elsewhere = await storage.jobs.change(TENANT, other.id, run, idempotency_key="once")

    [row] = await executions_of(storage, job)
    assert {answer.execution.id for answer in answers if answer.execution} == {row.id}
    assert sum(len(answer.dispatches) for answer in answers) == 1
    assert elsewhere.execution is not None
    assert elsewhere.execution.id != row.id


async def test_a_known_idempotency_key_asks_for_no_decision(storage: Storage) -> None:
    job = await an_idle_job(storage)
    await storage.jobs.change(TENANT, job.id, triggered(idempotency_key="once"), idempotency_key="once")

    def never(job: ScheduledJob, now: datetime) -> Plan:
        raise AssertionError(job, now)

    answer = await storage.jobs.change(TENANT, job.id, never, idempotency_key="once")

    assert answer.execution is not None
    assert answer.execution.idempotency_key == "once"
    assert answer.job == await storage.jobs.get(TENANT, job.id)


async def test_a_new_job_has_counted_nothing(storage: Storage) -> None:
    assert (await an_idle_job(storage)).counters == JobCounters()


async def test_a_change_that_python_calls_equal_is_stored_as_it_is_recorded(storage: Storage) -> None:
    job = await an_idle_job(storage, payload={"dry_run": 1})

    changed = await storage.jobs.change(
        TENANT, job.id, decided(update, replace(job.definition, payload={"dry_run": True}))
    )

    stored = await storage.jobs.get(TENANT, job.id)
    recorded = (await versions_of(storage, TENANT, job.id))[-1].after
    assert [changed.job.version, stored.version] == [2, 2]
    assert isinstance(stored.definition.payload, dict)
    assert stored.definition.payload["dry_run"] is True
    assert recorded == {"definition": document(stored.definition), "status": "active", "deleted": False}


async def test_what_waits_is_admitted_once_the_policy_allows_all(storage: Storage) -> None:
    job = await an_idle_job(storage)
    rows = await trigger(storage, job, 3)

    changed = await storage.jobs.change(
        TENANT, job.id, decided(update, replace(job.definition, overlap_policy=OverlapPolicy.ALLOW_ALL))
    )

    assert [dispatch.execution_id for dispatch in changed.dispatches] == [row.id for row in rows[1:]]
    assert changed.job.counters == JobCounters(slots_taken=3, live=3)


async def test_what_runs_counts_once_the_policy_allows_all_no_more(storage: Storage) -> None:
    job = await an_idle_job(storage, overlap_policy=OverlapPolicy.ALLOW_ALL)
    attempts = await claim(storage, *await trigger(storage, job, 3))
    await storage.jobs.change(
        TENANT, job.id, decided(update, replace(job.definition, overlap_policy=OverlapPolicy.SKIP))
    )
    await trigger(storage, job, 1)

    admitted = [len((await storage.ledger.finish([a_success(attempt)])).dispatches) for attempt in attempts]

    assert admitted == [0, 0, 1]
