"""What `IScheduler` does to many jobs at once, on all engines, in process and over HTTP against a listening server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.contracts.test_scheduler import shown
from tests.http.nodes import StillNode
from tests.makers import START, a_definition, planner
from tocsin.domain.errors import Conflict, InvalidInput, InvalidJob, InvalidSchedule
from tocsin.domain.job import HandlerType, JobStatus, JobType, OverlapPolicy, ScheduledJob
from tocsin.ports.batches import BulkAction, ChangedJob, NewJob, RefusedJob
from tocsin.ports.conflicts import OnConflict
from tocsin.ports.queries import JobFilter
from tocsin.ports.scheduler import IScheduler

MINUTE = timedelta(minutes=1)
NOBODY = UUID(int=7)


async def some_jobs(scheduler: IScheduler, count: int = 3, **fields: Any) -> list[ScheduledJob]:  # noqa: ANN401 - fields of a definition
    return list(await scheduler.schedule_many([a_definition(name=f"job {n}", **fields) for n in range(count)]))


async def statuses(scheduler: IScheduler, jobs: list[ScheduledJob]) -> list[JobStatus]:
    return [(await scheduler.get_job(job.id)).status for job in jobs]


async def test_many_jobs_are_made_at_once_in_the_order_given(scheduler: IScheduler, node: StillNode) -> None:
    definitions = [
        a_definition(name="a", key="a", payload={"list": [1, None, "🔔"]}, tags=("x",), priority=75),
        a_definition(name="b", overlap_policy=OverlapPolicy.ALLOW_ALL),
        a_definition(name="c", type=JobType.EVENT, schedule=None, start_date=START + MINUTE),
    ]

    made = await scheduler.schedule_many(definitions)

    assert [job.definition for job in made] == definitions
    assert {(job.tenant_id, job.version, job.created_at) for job in made} == {("default", 1, START)}
    for job in made:
        assert shown(await node.scheduler.get_job(job.id)) == shown(job)
        assert [change.reason for change in (await scheduler.get_job_changes(job.id)).items] == ["created"]


async def test_each_job_of_a_batch_may_begin_in_its_own_way(scheduler: IScheduler) -> None:
    later = a_definition(handler_name="later")

    made = await scheduler.schedule_many(
        [NewJob(definition=a_definition(), enabled=False), NewJob(definition=later, allow_unknown_handler=True)]
    )

    assert [job.status for job in made] == [JobStatus.PAUSED, JobStatus.ACTIVE]
    assert [job.definition.handler_name for job in await scheduler.schedule_many([later], allow_unknown_handler=True)]


async def test_a_batch_is_refused_whole_with_every_field_and_its_place(scheduler: IScheduler) -> None:
    wrong = [
        a_definition(key="k"),
        a_definition(priority=101, timeout_ms=1),
        a_definition(schedule="nonsense"),
        a_definition(handler_name="later"),
        a_definition(key="k"),
        a_definition(handler_type=HandlerType.HTTP, payload={}),
    ]

    with pytest.raises(InvalidJob) as refused:
        await scheduler.schedule_many([wrong[0], *wrong[2:]])

    assert refused.type is InvalidJob
    fields = [error.field for error in refused.value.errors]
    assert fields[:3] == ["jobs[1].schedule", "jobs[2].handler_name", "jobs[3].key"]
    assert set(fields[3:]) == {"jobs[4].payload.method", "jobs[4].payload.url"}
    with pytest.raises(InvalidJob) as refused:
        await scheduler.schedule_many(wrong)
    assert {"jobs[1].priority", "jobs[1].timeout_ms"} <= {error.field for error in refused.value.errors}
    assert (await scheduler.list_jobs()).total == 0


async def test_a_batch_whose_schedules_alone_are_wrong_says_so(scheduler: IScheduler) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        await scheduler.schedule_many([a_definition(), a_definition(timezone="Mars/Olympus")])

    assert [error.field for error in refused.value.errors] == ["jobs[1].timezone"]


@pytest.mark.parametrize("count", [0, 1001])
async def test_a_batch_has_bounds(scheduler: IScheduler, count: int) -> None:
    with pytest.raises(InvalidJob) as refused:
        await scheduler.schedule_many([a_definition()] * count)

    assert [error.field for error in refused.value.errors] == ["jobs"]


async def test_a_taken_key_refuses_the_whole_batch_and_names_who_has_it(scheduler: IScheduler) -> None:
    [holder] = await scheduler.schedule_many([a_definition(key="taken")])

    with pytest.raises(Conflict) as conflict:
        await scheduler.schedule_many([a_definition(key="free"), a_definition(key="taken")])

    assert conflict.value.existing_id == holder.id
    assert (await scheduler.list_jobs()).total == 1


async def test_taken_keys_are_kept_or_replaced_when_told_to(scheduler: IScheduler) -> None:
    first = await some_jobs(scheduler, 1, key="k")
    batch = [a_definition(name="before"), a_definition(name="other", key="k"), a_definition(name="after", key="free")]

    kept = await scheduler.schedule_many(batch[:2], on_conflict=OnConflict.KEEP)
    replaced = await scheduler.schedule_many(batch[1:], on_conflict=OnConflict.REPLACE)

    assert [(job.definition.name, job.version) for job in kept] == [("before", 1), ("job 0", 1)]
    assert [(job.definition.name, job.version) for job in replaced] == [("other", 2), ("after", 1)]
    assert kept[1].id == replaced[0].id == first[0].id
    assert shown(await scheduler.get_job(first[0].id)) == shown(replaced[0])
    assert [change.version for change in (await scheduler.get_job_changes(first[0].id)).items] == [2, 1]


async def test_keys_of_others_and_of_cancelled_jobs_are_free(scheduler: IScheduler, node: StillNode) -> None:
    await node.scheduler.for_tenant("acme").schedule(a_definition(key="k"))
    [cancelled] = await some_jobs(scheduler, 1, key="k")
    await scheduler.cancel_job(cancelled.id)

    [made] = await scheduler.schedule_many([a_definition(key="k")], on_conflict=OnConflict.REPLACE)

    assert made.id != cancelled.id
    assert (await node.scheduler.for_tenant("acme").list_jobs()).total == 1


@pytest.mark.parametrize("on_conflict", [OnConflict.KEEP, OnConflict.REPLACE])
async def test_batches_at_once_that_want_the_same_keys_make_one_job_of_each(
    scheduler: IScheduler, on_conflict: OnConflict
) -> None:
    batch = [a_definition(name=f"job {n}", key=f"key {n}") for n in range(30)]
    orders = (batch, batch[::-1], batch[10:] + batch[:10], batch)

    answers = await asyncio.gather(*(scheduler.schedule_many(each, on_conflict=on_conflict) for each in orders))

    jobs = {job.definition.key: job.id for job in (await scheduler.list_jobs(JobFilter(limit=100))).items}
    assert len(jobs) == 30
    for order, answer in zip(orders, answers, strict=True):
        assert [job.id for job in answer] == [jobs[definition.key] for definition in order]


async def test_a_batch_of_which_a_key_is_taken_meanwhile_is_refused_or_made_whole(scheduler: IScheduler) -> None:
    batch = [a_definition(name=f"job {n}", key=f"key {n}") for n in range(30)]

    ends = await asyncio.gather(*(scheduler.schedule_many(batch) for _ in range(3)), return_exceptions=True)

    assert sorted(type(end).__name__ for end in ends) == ["Conflict", "Conflict", "list"]
    assert (await scheduler.list_jobs()).total == 30


async def test_what_a_batch_made_fires(scheduler: IScheduler, node: StillNode) -> None:
    jobs = await some_jobs(scheduler)
    node.clock.advance(MINUTE)

    await node.storage.ledger.fire(planner, limit=10)

    assert [(await scheduler.get_job_history(job.id)).total for job in jobs] == [1, 1, 1]


async def test_many_jobs_are_paused_resumed_and_cancelled(scheduler: IScheduler) -> None:
    jobs = await some_jobs(scheduler)
    ids = [job.id for job in jobs]

    for action, status in (("pause", "paused"), ("resume", "active"), ("cancel", "cancelled")):
        outcome = await scheduler.change_jobs(BulkAction(action), job_ids=ids)

        assert (outcome.action, outcome.dry_run) == (action, False)
        assert (outcome.matched, outcome.changed, outcome.unchanged, list(outcome.refused)) == (3, 3, 0, [])
        assert list(outcome.jobs) == [
            ChangedJob(id=job.id, name=job.definition.name, status=JobStatus(status)) for job in jobs
        ]
        assert await statuses(scheduler, jobs) == [status] * 3


async def test_many_jobs_are_run_at_once(scheduler: IScheduler) -> None:
    jobs = await some_jobs(scheduler)

    outcome = await scheduler.change_jobs(BulkAction.TRIGGER, job_ids=[job.id for job in jobs])

    assert outcome.changed == 3
    runs = [(await scheduler.get_job_history(job.id)).items for job in jobs]
    assert [[(run.origin, run.status) for run in of_job] for of_job in runs] == [[("manual", "pending")]] * 3


async def test_cancelling_many_jobs_ends_what_of_them_is_open(scheduler: IScheduler, node: StillNode) -> None:
    jobs = await some_jobs(scheduler)
    await scheduler.change_jobs(BulkAction.TRIGGER, job_ids=[job.id for job in jobs])
    kept = await some_jobs(scheduler, 1)
    await scheduler.trigger_job(kept[0].id)

    await scheduler.change_jobs(BulkAction.CANCEL, job_ids=[job.id for job in jobs])

    assert {run.status for job in jobs for run in (await scheduler.get_job_history(job.id)).items} == {"cancelled"}
    assert (await node.storage.executions.queue("default")).ready == 1


async def test_what_a_job_cannot_do_is_told_and_hinders_no_other(scheduler: IScheduler, node: StillNode) -> None:
    active, paused, cancelled, deleted = await some_jobs(scheduler, 4)
    await scheduler.pause_job(paused.id)
    await scheduler.cancel_job(cancelled.id)
    await scheduler.unschedule(deleted.id)
    foreign = await node.scheduler.for_tenant("acme").schedule(a_definition())
    ids = [active.id, paused.id, cancelled.id, deleted.id, foreign.id, NOBODY, active.id]

    outcome = await scheduler.change_jobs(BulkAction.PAUSE, job_ids=ids)

    assert (outcome.matched, outcome.changed, outcome.unchanged) == (6, 1, 1)
    assert [job.id for job in outcome.jobs] == [active.id]
    assert outcome.refused[0] == RefusedJob(
        job_id=cancelled.id,
        name="job 2",
        code="INVALID_TRANSITION",
        message="the job is cancelled and cannot become paused",
    )
    missing = [(each.job_id, each.name, each.code) for each in outcome.refused[1:]]
    assert missing == [(job_id, None, "JOB_NOT_FOUND") for job_id in (deleted.id, foreign.id, NOBODY)]
    assert (await node.scheduler.for_tenant("acme").get_job(foreign.id)).status is JobStatus.ACTIVE


@pytest.mark.parametrize("action", list(BulkAction))
async def test_a_dry_run_tells_what_would_happen_and_does_nothing(scheduler: IScheduler, action: BulkAction) -> None:
    active, paused, cancelled = await some_jobs(scheduler)
    await scheduler.pause_job(paused.id)
    await scheduler.cancel_job(cancelled.id)
    before = [await scheduler.get_job(job.id) for job in (active, paused, cancelled)]

    tried = await scheduler.change_jobs(action, query=JobFilter(), dry_run=True)

    assert [await scheduler.get_job(job.id) for job in (active, paused, cancelled)] == before
    assert (await scheduler.list_executions()).total == 0
    done = await scheduler.change_jobs(action, query=JobFilter())
    assert replace(done, dry_run=True) == tried
    assert tried.dry_run


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        (JobFilter(), ["a", "b", "c"]),
        (JobFilter(tags=("x",)), ["a", "b"]),
        (JobFilter(tags_all=("x", "y"), limit=1), ["b"]),
        (JobFilter(name_contains="C", limit=1, offset=5), ["c"]),
        (JobFilter(status=(JobStatus.CANCELLED,)), []),
        (JobFilter(next_run_before=START + MINUTE, created_after=START, type=(JobType.INTERVAL,)), ["a", "b"]),
    ],
)
async def test_jobs_are_meant_by_a_filter_whatever_its_paging(
    scheduler: IScheduler, node: StillNode, query: JobFilter, meant: list[str]
) -> None:
    await node.scheduler.for_tenant("acme").schedule(a_definition(name="foreign"))
    await scheduler.schedule_many(
        [
            a_definition(name="a", tags=("x",)),
            a_definition(name="b", tags=("x", "y")),
            a_definition(name="c", schedule="every 2m"),
        ]
    )

    outcome = await scheduler.change_jobs(BulkAction.PAUSE, query=query)

    assert (sorted(job.name for job in outcome.jobs), outcome.matched) == (meant, len(meant))
    paused = await scheduler.list_jobs(JobFilter(status=(JobStatus.PAUSED,)))
    assert sorted(job.definition.name for job in paused.items) == meant


async def test_more_jobs_than_are_shown_are_changed(scheduler: IScheduler) -> None:
    jobs = await some_jobs(scheduler, 300)
    gone = [UUID(int=n) for n in range(60)]

    outcome = await scheduler.change_jobs(BulkAction.PAUSE, job_ids=[*(job.id for job in jobs), *gone])

    assert (outcome.matched, outcome.changed) == (360, 300)
    assert [job.id for job in outcome.jobs] == [job.id for job in jobs[:50]]
    assert [each.job_id for each in outcome.refused] == gone[:50]
    assert (await scheduler.list_jobs(JobFilter(status=(JobStatus.PAUSED,)))).total == 300


async def test_a_text_that_is_in_every_name_means_no_jobs(scheduler: IScheduler) -> None:
    jobs = await some_jobs(scheduler)

    with pytest.raises(InvalidInput) as refused:
        await scheduler.change_jobs(BulkAction.CANCEL, query=JobFilter(name_contains=""))

    assert [error.field for error in refused.value.errors] == ["filter.name_contains"]
    assert await statuses(scheduler, jobs) == [JobStatus.ACTIVE] * 3


def by_ids(count: int) -> dict[str, Any]:
    return {"job_ids": [UUID(int=n) for n in range(count)]}


@pytest.mark.parametrize(
    "meant", [dict, lambda: by_ids(0), lambda: by_ids(1001), lambda: {**by_ids(1), "query": JobFilter()}]
)
async def test_jobs_are_meant_in_one_way_and_within_bounds(
    scheduler: IScheduler, meant: Callable[[], dict[str, Any]]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await scheduler.change_jobs(BulkAction.PAUSE, **meant())

    assert [error.field for error in refused.value.errors] == ["job_ids"]
