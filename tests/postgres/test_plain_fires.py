"""Fires that are written in one statement, held against what was decided, and in the company of those that are not."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.contracts.steps import TENANT, counters, executions_of, recount
from tests.makers import START, a_job, new_id, occurrences_of, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.firing import LOOK_AHEAD, fire
from tocsin.domain.job import JobType, OverlapPolicy, ScheduledJob
from tocsin.domain.plan import Plan, is_plain_fire
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

MINUTE: Final = timedelta(minutes=1)
SECOND: Final = timedelta(seconds=1)
RARE: Final = {
    "priority": 90,
    "max_retries": 0,
    "version": 4,
    "depth": 3,
    "overlap_policy": OverlapPolicy.QUEUE_ALL,
    "concurrency": 2,
}
SHORTEN: Final = (
    "UPDATE jobs SET definition = (definition::jsonb - '{priority,max_retries}'::text[])::json WHERE id = $1"
)
REWIND: Final = "UPDATE jobs SET next_run = last_run, last_nominal = NULL WHERE id = $1"


class Decided:
    """Plans as the domain does, ahead of time too, and keeps the plans."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def __call__(self, job: ScheduledJob, now: datetime) -> Plan:
        self.plans.append(fire(job, now, occurrences_of(job), new_id, ahead=LOOK_AHEAD))
        return self.plans[-1]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        RARE,
        {"max_executions": 1, "type": JobType.RECURRING},
        {"type": JobType.ONE_TIME, "schedule": (START + MINUTE).isoformat()},
    ],
    ids=["usual", "rare", "the last of a recurring job", "one time"],
)
@pytest.mark.parametrize("at", [MINUTE + SECOND, MINUTE - LOOK_AHEAD / 2], ids=["on time", "ahead"])
async def test_what_is_written_is_what_was_decided(
    storage: Storage, clock: ManualClock, fields: dict[str, Any], at: timedelta
) -> None:
    job = await storage.jobs.add(a_job(**fields))
    clock.advance(at)
    decided = Decided()

    fired = await storage.ledger.fire(decided, limit=10, ahead=LOOK_AHEAD)

    [plan] = decided.plans
    assert is_plain_fire(plan)
    assert await storage.jobs.get(TENANT, job.id) == plan.job
    assert await executions_of(storage, job) == list(plan.executions)
    assert [(each.execution_id, each.capability, each.priority) for each in fired.dispatches] == [
        (row.id, job.definition.capability, row.priority) for row in plan.executions
    ]


async def test_what_a_stored_definition_leaves_out_is_at_its_default(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    job = await storage.jobs.add(a_job(priority=90, max_retries=7))
    await stranger.execute(SHORTEN, job.id)
    clock.advance(MINUTE)

    await storage.ledger.fire(planner, limit=10)

    [row] = await executions_of(storage, job)
    assert (row.priority, row.max_retries) == (50, 3)


async def test_plain_fires_and_others_of_one_batch_are_all_written(storage: Storage, clock: ManualClock) -> None:
    waits = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.QUEUE_ALL))
    plain = await storage.jobs.add(a_job(schedule="every 2m", overlap_policy=OverlapPolicy.QUEUE_ALL))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    clock.advance(MINUTE)
    decided = Decided()

    fired = await storage.ledger.fire(decided, limit=10)

    assert {plan.job.id: is_plain_fire(plan) for plan in decided.plans} == {waits.id: False, plain.id: True}
    assert (fired.jobs, fired.executions, len(fired.dispatches)) == (2, 2, 1)
    for job in (waits, plain):
        rows = await executions_of(storage, job)
        assert rows[-1].scheduled_at == START + 2 * MINUTE
        assert await counters(storage, job) == recount(rows)


async def test_a_nominal_time_that_the_ledger_has_keeps_no_other_of_the_batch_from_firing(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    jobs = [await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.ALLOW_ALL)) for _ in range(3)]
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=2)
    await stranger.execute(REWIND, jobs[0].id)
    decided = Decided()

    fired = await storage.ledger.fire(decided, limit=10)

    assert all(map(is_plain_fire, decided.plans))
    assert (fired.jobs, fired.executions, len(fired.dispatches)) == (2, 1, 1)
    for job in jobs:
        rows = await executions_of(storage, job)
        assert [row.scheduled_at for row in rows] == [START + MINUTE]
        assert await counters(storage, job) == recount(rows)
        assert (await storage.jobs.get(TENANT, job.id)).next_run == START + 2 * MINUTE


async def test_a_nominal_time_that_the_ledger_has_hides_nothing_from_the_look_at_everything(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    jobs = [
        await storage.jobs.add(a_job(schedule="every 1h", overlap_policy=OverlapPolicy.ALLOW_ALL)) for _ in range(2)
    ]
    clock.advance(60 * MINUTE)
    assert (await storage.ledger.fire(planner, limit=10)).jobs == 2
    clock.advance(30 * MINUTE)
    await storage.ledger.fire(planner, limit=10)
    # Both lie before where looks begin; one was recorded, the other never.
    await stranger.execute(REWIND, jobs[0].id)
    await stranger.execute("UPDATE jobs SET next_run = $2 WHERE id = $1", jobs[1].id, START + 80 * MINUTE)
    clock.advance(MINUTE)

    fired = await storage.ledger.fire(planner, limit=10)

    assert (fired.jobs, fired.next_due) == (2, START + 120 * MINUTE)
