"""What events do to jobs: make them, and cancel them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.contracts.event_steps import a_stored_handler, doing, heard, running, told_by, trigger, trigger_one
from tests.contracts.steps import TENANT, an_idle_job, claim, counters, executions_of, recount, versions_of
from tests.contracts.steps import trigger as run_by_hand
from tests.makers import START, a_definition, a_job, an_event, decided, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.event import JobKeyConflict
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.impact import Touch
from tocsin.domain.job import JobDefinition, JobStatus, JobType, ScheduledJob
from tocsin.domain.lifecycle import cancel, delete, pause
from tocsin.domain.plan import Plan
from tocsin.domain.resolution import Act, Cancel, Create
from tocsin.ports.queries import JobFilter
from tocsin.ports.storage import Storage

FOREIGN = "another"
MINUTE = timedelta(minutes=1)


def creating(
    *, delay: timedelta = MINUTE, on_conflict: JobKeyConflict = JobKeyConflict.KEEP, **fields: object
) -> Create:
    definition = a_definition(type=JobType.ONE_TIME, schedule=None, name="escalate", **fields)
    return Create(definition=definition, delay=delay, on_conflict=on_conflict)


async def jobs_of(storage: Storage, tenant_id: str) -> list[ScheduledJob]:
    return list((await storage.jobs.list(tenant_id, JobFilter(limit=250))).items)


async def status_of(storage: Storage, job: ScheduledJob) -> JobStatus:
    return (await storage.jobs.get(job.tenant_id, job.id)).status


async def test_an_event_makes_a_job_that_runs_once_after_a_delay(storage: Storage, clock: ManualClock) -> None:
    handler = await a_stored_handler(storage)
    event = an_event(depth=3)
    definition: JobDefinition = creating(key="order 7", payload={"order": 7}).definition

    fanned = await trigger(storage, heard(event, doing(handler, creating(key="order 7", payload={"order": 7}))))

    [job] = await jobs_of(storage, TENANT)
    assert (job.definition.type, job.definition.payload) == (JobType.ONE_TIME, definition.payload)
    assert (job.next_run, job.created_at, job.created_in) == (clock.now() + MINUTE, clock.now(), event.trace)
    assert job.depth == 3
    assert fanned.jobs == 1
    assert told_by(handler, fanned.events[0].event).job_ids == (job.id,)
    [first] = await versions_of(storage, TENANT, job.id)
    assert (first.version, first.reason, first.changed_by) == (1, "created", f"event_handler/{handler.id}")
    clock.advance(MINUTE)
    assert (await storage.ledger.fire(planner, limit=10)).executions == 1


async def test_a_job_is_made_for_the_tenant_of_the_event(storage: Storage) -> None:
    handler = await a_stored_handler(storage, every_tenant=True)

    await trigger_one(storage, doing(handler, creating(key="k")), tenant_id=FOREIGN)

    assert (len(await jobs_of(storage, FOREIGN)), len(await jobs_of(storage, TENANT))) == (1, 0)


@pytest.mark.parametrize("step", [None, pause])
async def test_a_job_that_has_the_key_is_kept(storage: Storage, step: Callable[..., Plan] | None) -> None:
    handler = await a_stored_handler(storage)
    job = await storage.jobs.add(a_job(key="k"))
    if step is not None:
        await storage.jobs.change(TENANT, job.id, decided(step))

    fanned = await trigger(storage, heard(an_event(), doing(handler, creating(key="k"))))

    told = told_by(handler, fanned.events[0].event)
    assert (told.touch, told.job_ids, fanned.jobs) == (Touch.ACTED, (job.id,), 0)
    assert told.reason
    assert [each.id for each in await jobs_of(storage, TENANT)] == [job.id]


@pytest.mark.parametrize("step", [cancel, delete])
async def test_a_key_whose_job_is_gone_is_free(storage: Storage, step: Callable[..., Plan]) -> None:
    handler = await a_stored_handler(storage)
    job = await storage.jobs.add(a_job(key="k"))
    await storage.jobs.change(TENANT, job.id, decided(step))

    fanned = await trigger(storage, heard(an_event(), doing(handler, creating(key="k"))))

    [made] = told_by(handler, fanned.events[0].event).job_ids
    assert (await storage.jobs.get(TENANT, made)).definition.key == "k"


async def test_the_same_key_of_another_handler_name_or_tenant_is_another(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    await storage.jobs.add(a_job(key="k", handler_name="other"))
    await storage.jobs.add(a_job(key="k", tenant_id=FOREIGN))

    fanned = await trigger(storage, heard(an_event(), doing(handler, creating(key="k"))))

    assert fanned.jobs == 1
    assert len(await jobs_of(storage, TENANT)) == 2


async def test_a_job_that_has_the_key_is_replaced(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    job = await an_idle_job(storage, key="k")
    [row] = await run_by_hand(storage, job, 1)
    await claim(storage, row)

    act = creating(key="k", on_conflict=JobKeyConflict.REPLACE)
    fanned = await trigger(storage, heard(an_event(), doing(handler, act)))

    made, replaced = told_by(handler, fanned.events[0].event).job_ids
    assert (replaced, fanned.jobs) == (job.id, 2)
    assert list(fanned.stopped) == [row.id]
    assert await status_of(storage, job) is JobStatus.CANCELLED
    assert (await storage.jobs.get(TENANT, made)).status is JobStatus.ACTIVE
    assert (await versions_of(storage, TENANT, job.id))[-1].reason == "cancelled"


async def test_of_two_events_in_one_batch_the_first_has_the_key(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    fanned = await trigger(storage, *(heard(an_event(), doing(handler, creating(key="k"))) for _ in range(2)))

    [job] = await jobs_of(storage, TENANT)
    assert [told_by(handler, each.event).job_ids for each in fanned.events] == [(job.id,)] * 2
    assert fanned.jobs == 1


async def test_a_definition_that_cannot_be_kept_is_refused(storage: Storage) -> None:
    handler = await a_stored_handler(storage)

    event = await trigger_one(storage, doing(handler, creating(max_retries=-1)))

    assert told_by(handler, event).touch is Touch.REFUSED
    assert not await jobs_of(storage, TENANT)


async def test_jobs_are_cancelled_by_their_key_with_all_that_runs(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    job, other = await an_idle_job(storage, key="k", concurrency=1), await an_idle_job(storage, key="l")
    namesake = await an_idle_job(storage, key="k", handler_name="other")
    foreign = await an_idle_job(storage, key="k", tenant_id=FOREIGN)
    running_row, waiting_row = await run_by_hand(storage, job, 2)
    await claim(storage, running_row)

    fanned = await trigger(storage, heard(an_event(), doing(handler, Cancel(tenant_id=TENANT, key="k"))))

    assert set(told_by(handler, fanned.events[0].event).job_ids) == {job.id, namesake.id}
    assert (fanned.jobs, list(fanned.stopped), list(fanned.dispatches)) == (2, [running_row.id], [])
    assert {row.id: row.status for row in await executions_of(storage, job)} == {
        running_row.id: ExecutionStatus.CANCELLED,
        waiting_row.id: ExecutionStatus.CANCELLED,
    }
    assert await counters(storage, job) == recount(await executions_of(storage, job))
    assert [await status_of(storage, each) for each in (job, namesake, other, foreign)] == [
        JobStatus.CANCELLED,
        JobStatus.CANCELLED,
        JobStatus.ACTIVE,
        JobStatus.ACTIVE,
    ]
    assert (await versions_of(storage, TENANT, job.id))[-1].reason == "cancelled"


async def test_jobs_are_cancelled_that_have_all_of_the_tags(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    both = await an_idle_job(storage, tags=("b", "a", "c"))
    paused = await an_idle_job(storage, tags=("a", "b"))
    await storage.jobs.change(TENANT, paused.id, decided(pause))
    one = await an_idle_job(storage, tags=("a",))
    completed = await an_idle_job(storage, tags=("a", "b"), status=JobStatus.COMPLETED)

    event = await trigger_one(storage, doing(handler, Cancel(tenant_id=TENANT, key=None, tags=("a", "b"))))

    assert set(told_by(handler, event).job_ids) == {both.id, paused.id}
    assert await status_of(storage, one) is JobStatus.ACTIVE
    assert await status_of(storage, completed) is JobStatus.COMPLETED


async def test_a_key_and_tags_must_both_be_the_jobs(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    meant = await an_idle_job(storage, key="k", tags=("a",))
    await an_idle_job(storage, key="k", handler_name="other")
    await an_idle_job(storage, key="l", tags=("a",))

    event = await trigger_one(storage, doing(handler, Cancel(tenant_id=TENANT, key="k", tags=("a",))))

    assert told_by(handler, event).job_ids == (meant.id,)


async def test_a_cancel_that_means_nobody_says_so(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    job = await an_idle_job(storage)

    event = await trigger_one(
        storage,
        doing(handler, Cancel(tenant_id=TENANT, key="k")),
    )

    told = told_by(handler, event)
    assert (told.touch, told.job_ids) == (Touch.ACTED, ())
    assert told.reason
    assert await status_of(storage, job) is JobStatus.ACTIVE


async def test_what_was_due_is_accounted_for_before_a_job_is_cancelled(storage: Storage, clock: ManualClock) -> None:
    handler = await a_stored_handler(storage)
    job = await storage.jobs.add(a_job(key="k"))
    clock.advance(MINUTE)

    fanned = await trigger(storage, heard(an_event(), doing(handler, Cancel(tenant_id=TENANT, key="k"))))

    [row] = await executions_of(storage, job)
    assert (row.scheduled_at, row.status) == (START + MINUTE, ExecutionStatus.CANCELLED)
    assert list(fanned.dispatches) == []
    assert await counters(storage, job) == recount([row])


async def test_what_one_event_of_a_batch_begins_the_next_may_end(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    job = await an_idle_job(storage, key="k", concurrency=2)
    ending = doing(handler, Cancel(tenant_id=TENANT, key="k"))

    fanned = await trigger(
        storage, *(heard(an_event(), match) for match in (running(handler, job), ending, running(handler, job)))
    )

    assert [told_by(handler, each.event).touch for each in fanned.events] == [Touch.ACTED, Touch.ACTED, Touch.REFUSED]
    [row] = await executions_of(storage, job)
    assert row.status is ExecutionStatus.CANCELLED
    assert (list(fanned.dispatches), list(fanned.stopped)) == ([], [])
    assert await counters(storage, job) == recount([row])


async def test_a_job_that_is_made_and_cancelled_in_one_batch_was_never_there(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    acts: list[Act] = [creating(key="k"), Cancel(tenant_id=TENANT, key="k"), creating(key="k")]

    fanned = await trigger(storage, *(heard(an_event(), doing(handler, act)) for act in acts))

    made, ended, again = [told_by(handler, each.event).job_ids for each in fanned.events]
    assert made == ended
    assert [job.id for job in await jobs_of(storage, TENANT)] == list(again)


async def test_an_event_cancels_what_an_earlier_one_delayed(storage: Storage, clock: ManualClock) -> None:
    handler = await a_stored_handler(storage)
    await trigger_one(storage, doing(handler, creating(key="order 7")))
    [job] = await jobs_of(storage, TENANT)

    await trigger_one(storage, doing(handler, Cancel(tenant_id=TENANT, key="order 7")), name="order.resolved")

    clock.advance(timedelta(hours=1))
    assert (await storage.ledger.fire(planner, limit=10)).executions == 0
    assert await status_of(storage, job) is JobStatus.CANCELLED
