from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from tests.contracts.steps import (
    TENANT,
    WORKER,
    a_running_attempt,
    an_idle_job,
    claim,
    counters,
    execution,
    executions_of,
    expired,
    trigger,
)
from tests.makers import START, a_failure, a_job, a_success, new_id, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import hand_back, lose
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.json import Json
from tocsin.ports.storage import Storage


async def test_a_success_is_written_with_its_result_and_frees_everything(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage)
    clock.advance(2)

    finished = await storage.ledger.finish([a_success(attempt, result={"rows": 3}, duration_ms=1500)])

    row = await execution(storage, attempt.execution_id)
    assert (list(finished.rejected), list(finished.dispatches), list(finished.set_aside)) == ([], [], [])
    assert (row.status, row.result, row.duration_ms) == (ExecutionStatus.SUCCESS, {"rows": 3}, 1500)
    assert row.completed_at == START + timedelta(milliseconds=1500)
    assert (row.holds_slot, row.lease_expires_at, row.worker_id) == (False, None, WORKER)
    assert (row.error, row.error_type, row.error_stack) == (None, None, None)


async def test_a_success_says_how_many_failures_came_before_it(storage: Storage) -> None:
    attempts = [await a_running_attempt(storage) for _ in range(3)]

    await storage.ledger.finish([replace(a_success(each), failures=count) for count, each in enumerate(attempts)])

    rows = [await execution(storage, each.execution_id) for each in attempts]
    assert [(row.status, row.failures) for row in rows] == [(ExecutionStatus.SUCCESS, count) for count in range(3)]


async def test_a_final_failure_keeps_its_error(storage: Storage) -> None:
    attempt = await a_running_attempt(storage, max_retries=0)

    await storage.ledger.finish([a_failure(attempt, result={"status": 500}, error_stack="line 1")])

    row = await execution(storage, attempt.execution_id)
    assert (row.status, row.failures, row.next_retry_at) == (ExecutionStatus.FAILED, 1, None)
    assert (row.error, row.error_type, row.error_stack) == ("no luck", "ValueError", "line 1")
    assert row.result == {"status": 500}
    assert row.past_attempts == ()


async def test_a_failure_with_retries_left_waits_and_keeps_its_slot(storage: Storage) -> None:
    attempt = await a_running_attempt(storage, max_retries=1, retry_delay_ms=60_000)

    finished = await storage.ledger.finish([a_failure(attempt)])

    row = await execution(storage, attempt.execution_id)
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.PENDING, 1, 1)
    assert row.available_at == row.next_retry_at == START + timedelta(seconds=61)
    assert (row.dispatched_at, row.worker_id, row.lease_expires_at) == (None, None, None)
    assert (row.completed_at, row.duration_ms, row.result) == (None, None, None)
    assert (row.error, row.error_type) == ("no luck", "ValueError")
    assert row.holds_slot
    assert list(finished.dispatches) == []
    job_counters = (await storage.jobs.get(TENANT, attempt.job_id)).counters
    assert (job_counters.live, job_counters.slots_taken, job_counters.failure_count) == (1, 1, 0)


async def test_past_attempts_are_kept_with_who_made_them(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage, max_retries=5, retry_delay_ms=0)
    await storage.ledger.finish([a_failure(attempt)])
    clock.advance(5)
    await storage.ledger.ready(limit=10)
    [second] = await storage.ledger.claim([attempt.execution_id], worker_id="node-2/boot-1")
    await storage.ledger.finish([hand_back(second, clock.now())])

    first_try, second_try = (await execution(storage, attempt.execution_id)).past_attempts
    assert (first_try.attempt, first_try.outcome, first_try.worker_id) == (1, "failed", WORKER)
    assert (first_try.started_at, first_try.ended_at) == (START, START + timedelta(seconds=1))
    assert (first_try.error, first_try.error_type) == ("no luck", "ValueError")
    assert (second_try.attempt, second_try.outcome, second_try.worker_id) == (2, "handed_back", "node-2/boot-1")


async def test_work_that_is_handed_back_is_dispatched_at_once_and_has_not_failed(
    storage: Storage, clock: ManualClock
) -> None:
    attempt = await a_running_attempt(storage)
    clock.advance(3)

    finished = await storage.ledger.finish([hand_back(attempt, clock.now())])

    row = await execution(storage, attempt.execution_id)
    assert [dispatch.execution_id for dispatch in finished.dispatches] == [row.id]
    assert (row.status, row.failures, row.next_retry_at) == (ExecutionStatus.PENDING, 0, None)
    assert row.available_at == row.dispatched_at == clock.now()
    [again] = await claim(storage, row)
    assert again.attempt == 2


async def test_work_that_is_handed_back_unbegun_shows_no_start(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage)
    clock.advance(3)

    await storage.ledger.finish([hand_back(attempt, clock.now(), begun=False)])

    row = await execution(storage, attempt.execution_id)
    assert (row.status, row.started_at, row.first_start) == (ExecutionStatus.PENDING, None, None)
    assert [(past.outcome, past.started_at) for past in row.past_attempts] == [("handed_back", None)]


async def test_a_claim_says_whether_a_handler_had_begun_before(storage: Storage, clock: ManualClock) -> None:
    first = await a_running_attempt(storage, max_retries=5, retry_delay_ms=0)
    row = await execution(storage, first.execution_id)
    await storage.ledger.finish([hand_back(first, clock.now(), begun=False)])
    [second] = await claim(storage, row)
    [told_again] = await storage.ledger.claimed([row.id], worker_id=WORKER)
    await storage.ledger.finish([hand_back(second, clock.now())])
    [third] = await claim(storage, row)
    await storage.ledger.finish([hand_back(third, clock.now(), begun=False)])
    [fourth] = await claim(storage, row)

    [once_more] = await storage.ledger.claimed([row.id], worker_id=WORKER)

    assert [each.had_begun for each in (first, second, told_again)] == [False, False, False]
    assert [each.had_begun for each in (third, fourth, once_more)] == [True, True, True]


async def test_a_success_after_a_failure_leaves_no_error_behind(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage, max_retries=1, retry_delay_ms=0)
    await storage.ledger.finish([a_failure(attempt, error_stack="line 1")])
    clock.advance(5)
    await storage.ledger.ready(limit=10)
    [second] = await claim(storage, await execution(storage, attempt.execution_id))

    await storage.ledger.finish([a_success(second)])

    row = await execution(storage, attempt.execution_id)
    assert (row.error, row.error_type, row.error_stack) == (None, None, None)
    assert (row.failures, len(row.past_attempts)) == (1, 1)


async def test_a_zombies_late_finish_changes_nothing(storage: Storage, clock: ManualClock) -> None:
    zombie = await a_running_attempt(storage, max_retries=3)
    clock.advance(61)
    [lease] = await expired(storage, limit=10)
    await storage.ledger.finish([lose(lease.attempt, lease.lease_expires_at, chance=0)])
    [successor] = await storage.ledger.claim([zombie.execution_id], worker_id="node-2/boot-1")
    before = await execution(storage, zombie.execution_id)

    finished = await storage.ledger.finish([a_success(zombie)])

    assert list(finished.rejected) == [(zombie.execution_id, 1)]
    assert await execution(storage, zombie.execution_id) == before
    assert successor.attempt == 2


async def test_a_finish_is_written_once(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)

    finished = await storage.ledger.finish([a_success(attempt), a_success(attempt)])
    again = await storage.ledger.finish([a_failure(attempt)])

    assert list(finished.rejected) == list(again.rejected) == [(attempt.execution_id, 1)]
    totals = (await storage.jobs.get(TENANT, attempt.job_id)).counters
    assert (totals.executions_count, totals.success_count, totals.slots_taken, totals.live) == (1, 1, 0, 0)


async def test_a_finish_of_what_is_not_there_is_rejected(storage: Storage) -> None:
    attempt = replace(await a_running_attempt(storage), execution_id=new_id(START))

    assert list((await storage.ledger.finish([a_success(attempt)])).rejected) == [(attempt.execution_id, 1)]


async def test_cancelled_stays_cancelled(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)
    await storage.executions.cancel(TENANT, attempt.execution_id)

    finished = await storage.ledger.finish([a_success(attempt)])

    assert list(finished.rejected) == [(attempt.execution_id, 1)]
    assert (await execution(storage, attempt.execution_id)).status is ExecutionStatus.CANCELLED


async def test_a_lease_that_was_renewed_meanwhile_is_not_lost(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage)
    clock.advance(61)
    [seen] = await expired(storage, limit=10)
    await storage.ledger.renew(dict.fromkeys([(attempt.execution_id, 1)], timedelta(seconds=60)), worker_id=WORKER)

    finished = await storage.ledger.finish([lose(seen.attempt, seen.lease_expires_at, chance=0)])

    assert list(finished.rejected) == [(attempt.execution_id, 1)]
    assert (await execution(storage, attempt.execution_id)).status is ExecutionStatus.RUNNING


async def test_of_many_sweepers_that_saw_a_lease_expire_one_settles_it(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage, max_retries=0)
    clock.advance(61)
    [seen] = await expired(storage, limit=10)
    loss = lose(seen.attempt, seen.lease_expires_at, chance=0)

    answers = await asyncio.gather(*(storage.ledger.finish([loss]) for _ in range(10)))

    assert sum(len(answer.rejected) for answer in answers) == 9
    row = await execution(storage, attempt.execution_id)
    assert (row.status, row.error_type, row.failures) == (ExecutionStatus.FAILED, "LEASE_LOST", 1)
    assert (await storage.jobs.get(TENANT, attempt.job_id)).counters.failure_count == 1


async def test_counters_follow_every_end(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=5, max_retries=0)
    first, second, third, fourth, fifth = await claim(storage, *await trigger(storage, job, 5))
    await storage.ledger.finish([a_success(first, duration_ms=100), a_success(second, duration_ms=300)])
    await storage.ledger.finish([a_failure(third), a_failure(fourth, status=ExecutionStatus.TIMEOUT)])

    totals = await counters(storage, job)
    assert (totals.executions_count, totals.success_count, totals.failure_count) == (4, 2, 2)
    assert (totals.consecutive_failures, totals.avg_duration_ms) == (2, 200)
    assert (totals.live, totals.slots_taken) == (1, 2)

    await storage.ledger.finish([a_success(fifth)])
    assert (await counters(storage, job)).consecutive_failures == 0


@pytest.mark.parametrize(
    "poison",
    [{"result": "\ud800"}, {"result": float("nan")}, {"result": {"nested": [object()]}}, {"error": "\udfff"}],
)
async def test_a_finish_that_cannot_be_written_is_set_aside_and_the_rest_goes_on(
    storage: Storage, poison: dict[str, object]
) -> None:
    job = await an_idle_job(storage, concurrency=3, max_retries=0)
    good, bad, also_good = await claim(storage, *await trigger(storage, job, 3))

    finished = await storage.ledger.finish([a_success(good), a_success(bad, **poison), a_success(also_good)])

    assert list(finished.set_aside) == [(bad.execution_id, 1)]
    assert list(finished.rejected) == []
    assert [row.status for row in await executions_of(storage, job)] == ["success", "failed", "success"]
    refused = await execution(storage, bad.execution_id)
    assert (refused.error_type, refused.result, refused.failures) == ("STORE_REFUSED", None, 1)
    assert refused.error
    assert (refused.holds_slot, refused.lease_expires_at) == (False, None)
    totals = await counters(storage, job)
    assert (totals.success_count, totals.failure_count, totals.slots_taken, totals.live) == (2, 1, 0, 0)


async def test_a_poisonous_retry_ends_and_frees_its_slot(storage: Storage) -> None:
    attempt = await a_running_attempt(storage, max_retries=3)

    finished = await storage.ledger.finish([a_failure(attempt, error="\ud800")])

    row = await execution(storage, attempt.execution_id)
    assert list(finished.set_aside) == [(attempt.execution_id, 1)]
    assert (row.status, row.error_type, row.failures, row.holds_slot) == ("failed", "STORE_REFUSED", 1, False)


async def test_documents_come_back_as_they_were_written(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)
    document = {
        "text": "ünï \N{BELL} 'quoted' \"twice\"",
        "big": 2**53 - 1,
        "half": 0.5,
        "none": None,
        "list": [[], {}],
    }

    await storage.ledger.finish([a_success(attempt, result=document)])

    row = await execution(storage, attempt.execution_id)
    assert row.result == document
    cast("dict[str, Json]", row.result)["big"] = 0
    assert (await execution(storage, attempt.execution_id)).result == document


async def test_what_the_schedule_fired_runs_like_any_other(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(60)
    fired = await storage.ledger.fire(planner, limit=10)

    [attempt] = await storage.ledger.claim([d.execution_id for d in fired.dispatches], worker_id=WORKER)
    await storage.ledger.finish([a_success(attempt)])

    totals = await counters(storage, job)
    assert (totals.scheduled_count, totals.success_count, totals.live) == (1, 1, 0)
