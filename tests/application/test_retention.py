from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.application.rig import Rig
from tests.makers import an_event_job
from tocsin.application.retention import BATCH, INTERVAL_SECONDS
from tocsin.domain.job import ScheduledJob


async def a_job_with_a_past(rig: Rig, runs: int) -> ScheduledJob:
    job = await rig.a_job(lambda: None, concurrency=1000)
    for _ in range(runs):
        await rig.trigger(job)
    await rig.work()
    return job


async def test_what_is_old_and_not_among_the_newest_goes(rig: Rig) -> None:
    job = await a_job_with_a_past(rig, 12)
    retention = replace(rig.retention, keep=timedelta(days=1), newest=5)
    assert await retention.run() == {"executions": 0, "jobs": 0}

    rig.clock.advance(timedelta(days=1, seconds=1))

    assert await retention.run() == {"executions": 7, "jobs": 0}
    assert len(await rig.history(job)) == 5


async def test_by_default_thirty_days_and_the_newest_hundred_are_kept(rig: Rig) -> None:
    job = await a_job_with_a_past(rig, 102)
    rig.clock.advance(timedelta(days=30))
    assert await rig.retention.run() == {"executions": 0, "jobs": 0}

    rig.clock.advance(1)

    assert await rig.retention.run() == {"executions": 2, "jobs": 0}
    assert len(await rig.history(job)) == 100


async def test_a_loop_removes_a_batch_each_hour_and_goes_on_at_once_while_there_is_more(rig: Rig) -> None:
    await a_job_with_a_past(rig, BATCH + 5)
    rig.clock.advance(timedelta(days=31))
    retention = replace(rig.retention, newest=0)

    assert await retention.run_once() == 0
    assert await retention.run_once() == INTERVAL_SECONDS
    assert [fields["executions"] for fields in rig.notes.of("retention.removed")] == [BATCH, 5]


async def test_deleted_jobs_go_with_their_last_execution_however_many_they_are(rig: Rig) -> None:
    rig.handle("report", lambda: None)
    for _ in range(BATCH + 5):
        job = await a_quiet_job(rig)
        await rig.scheduler.unschedule(job.id)
    rig.clock.advance(timedelta(days=31))

    assert await rig.retention.run() == {"executions": 0, "jobs": BATCH + 5}


async def a_quiet_job(rig: Rig) -> ScheduledJob:
    return await rig.storage.jobs.add(an_event_job())
