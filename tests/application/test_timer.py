from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.application.rig import Rig
from tests.contracts.steps import versions_of
from tests.makers import START, a_job
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.firing import LOOK_AHEAD
from tocsin.domain.job import JobStatus, JobType, ScheduledJob
from tocsin.domain.plan import Decision, Plan


def corrupted(schedule: str, timezone: str) -> Decision:
    def decide(job: ScheduledJob, _: datetime) -> Plan:
        poisoned = replace(job.definition, type=JobType.CRON, schedule=schedule, timezone=timezone)
        return Plan(job=replace(job, definition=poisoned))

    return decide


async def test_a_due_job_fires_and_the_answer_is_the_time_until_the_next(rig: Rig) -> None:
    job = await rig.storage.jobs.add(a_job(schedule="every 1m"))
    assert await rig.timer.run_once() == 59.5

    rig.clock.advance(75)
    wait = await rig.timer.run_once()

    assert wait == 44.5
    assert [row.scheduled_at for row in await rig.history(job)] == [START + timedelta(minutes=1)]
    assert [len(batch) for batch in rig.pipe.sent] == [1]


async def test_without_jobs_nothing_is_known_to_be_due(rig: Rig) -> None:
    assert await rig.timer.run_once() is None


async def test_more_due_jobs_than_a_batch_are_due_at_once(rig: Rig) -> None:
    jobs = [await rig.storage.jobs.add(a_job()) for _ in range(3)]
    rig.clock.advance(60)
    rig.timer = replace(rig.timer, batch=2)

    assert (await rig.timer.run_once() or 0) <= 0
    assert await rig.timer.run_once() == 59.5

    assert [len(await rig.history(job)) for job in jobs] == [1, 1, 1]


async def test_a_job_that_is_about_to_be_due_is_handed_on_ahead_of_its_time(rig: Rig) -> None:
    job = await rig.storage.jobs.add(a_job(schedule="every 1m"))
    rig.clock.advance(await rig.timer.run_once() or 0)

    wait = await rig.timer.run_once()

    [row] = await rig.history(job)
    assert row.available_at == row.scheduled_at == START + timedelta(minutes=1) == rig.clock.now() + LOOK_AHEAD
    assert [[item.execution_id for item in batch] for batch in rig.pipe.sent] == [[row.id]]
    assert wait == 60


async def test_a_job_without_a_free_slot_is_looked_at_again_now_and_then_and_at_its_instant(rig: Rig) -> None:
    job = await rig.storage.jobs.add(a_job(schedule="every 1m"))
    await rig.trigger(job)
    rig.clock.advance(59.5)
    waits: list[float] = []

    while not waits or waits[-1] < 1:
        waits.append(await rig.timer.run_once() or 0)
        rig.clock.advance(waits[-1])

    assert waits == [0.05] * 10 + [59.5]
    assert [row.skip_reason for row in await rig.history(job)] == [None, "overlap"]


async def test_two_timers_double_nothing(rig: Rig) -> None:
    job = await rig.storage.jobs.add(a_job(schedule="every 1m", overlap_policy="queue_all"))
    timers = [rig.timer, rig.another_timer()]

    for _ in range(5):
        rig.clock.advance(60)
        await asyncio.gather(*(timer.run_once() for timer in timers))

    nominal = [row.scheduled_at for row in await rig.history(job)]
    assert nominal == [START + timedelta(minutes=minute) for minute in range(1, 6)]


@pytest.mark.parametrize(
    ("schedule", "timezone"),
    [("99 99 * * *", "UTC"), ("\ud800" * 2000, "UTC"), ("0 0 31 2 *", "UTC"), ("* * * * *", "Mars/" + "X" * 5000)],
)
async def test_a_job_that_cannot_be_planned_fails_by_itself_and_says_why(
    rig: Rig, schedule: str, timezone: str
) -> None:
    sound = [await rig.storage.jobs.add(a_job()) for _ in range(2)]
    bad = await rig.storage.jobs.add(a_job())
    await rig.storage.jobs.change(bad.tenant_id, bad.id, corrupted(schedule, timezone))
    rig.clock.advance(60)

    await rig.timer.run_once()

    failed = await rig.job(bad)
    assert (failed.status, failed.next_run) == (JobStatus.FAILED, None)
    newest = (await versions_of(rig.storage, bad.tenant_id, bad.id))[-1]
    assert newest.reason.startswith("the schedule cannot be computed: ")
    assert len(newest.reason.encode()) < 1200
    assert [len(await rig.history(job)) for job in sound] == [1, 1]
    assert [fields["job_id"] for fields in rig.notes.of("job.unplannable")] == [str(bad.id)]


async def test_what_was_fired_while_the_pipe_was_gone_is_handed_on_once_by_a_sweeper(rig: Rig) -> None:
    rig.handle("report", lambda: None)
    job = await rig.storage.jobs.add(a_job())
    rig.clock.advance(60)
    rig.pipe.down = {"dispatch"}
    assert await rig.timer.run_once() == 59.5
    assert [fields["executions"] for fields in rig.notes.of("dispatch.failed")] == [1]

    rig.pipe.down = set()
    rig.clock.advance(5)
    await rig.sweeper.run_once()
    await rig.sweeper.run_once()

    [row] = await rig.history(job)
    assert row.status is ExecutionStatus.PENDING
    assert [[item.execution_id for item in batch] for batch in rig.pipe.sent] == [[row.id]]


async def test_a_fleet_of_due_jobs_is_fired_in_few_rounds_each_job_once(rig: Rig) -> None:
    jobs = [await rig.storage.jobs.add(a_job()) for _ in range(30)]
    rig.clock.advance(60)
    rig.timer = replace(rig.timer, batch=2)

    waits = [await rig.timer.run_once() for _ in range(2)]

    assert waits == [0, 59.5]
    assert [len(await rig.history(job)) for job in jobs] == [1] * 30
    assert sorted(len(batch) for batch in rig.pipe.sent) == [2] * 15


async def test_a_batch_that_fails_among_others_fails_the_round_and_the_others_stand(rig: Rig) -> None:
    jobs = [await rig.storage.jobs.add(a_job()) for _ in range(6)]
    rig.clock.advance(60)
    rig.timer = replace(rig.timer, batch=2)

    async def fail() -> None:
        raise StoreUnavailable("the second batch did not get through")

    async def fail_next() -> None:
        rig.ledger.during["fire"] = fail

    rig.ledger.during["fire"] = fail_next

    with pytest.raises(StoreUnavailable):
        await rig.timer.run_once()

    assert [len(await rig.history(job)) for job in jobs] == [1] * 6
    assert sorted(len(batch) for batch in rig.pipe.sent) == [2] * 3
