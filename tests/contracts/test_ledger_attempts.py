from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.contracts.event_steps import a_runner, running, trigger_one
from tests.contracts.steps import (
    TENANT,
    WORKER,
    a_running_attempt,
    an_idle_job,
    claim,
    execution,
    executions_of,
    expired,
    trigger,
)
from tests.makers import START, a_failure, a_success, new_id, triggered
from tocsin.adapters.system import ManualClock
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import Backoff, HandlerType
from tocsin.domain.json import Json
from tocsin.domain.trace import TraceContext, span_of
from tocsin.ports.storage import Storage


async def test_a_claim_makes_it_running_leased_and_the_first_attempt(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, lock_timeout_seconds=90)
    [row] = await trigger(storage, job, 1)
    clock.advance(5)

    [attempt] = await claim(storage, row)

    claimed = await execution(storage, row.id)
    assert (claimed.status, claimed.attempt, claimed.worker_id) == (ExecutionStatus.RUNNING, 1, WORKER)
    assert claimed.started_at == attempt.started_at == clock.now()
    assert claimed.lease_expires_at == clock.now() + timedelta(seconds=90)
    assert claimed.holds_slot


async def test_what_is_claimed_at_once_is_leased_for_as_long_as_each_job_says(
    storage: Storage, clock: ManualClock
) -> None:
    seconds = (60, 90, 60, 7200)
    jobs = [await an_idle_job(storage, lock_timeout_seconds=each) for each in seconds]
    rows = [row for job in jobs for row in await trigger(storage, job, 1)]
    clock.advance(5)

    await claim(storage, *rows)

    leases = [(await execution(storage, row.id)).lease_expires_at for row in rows]
    assert leases == [clock.now() + timedelta(seconds=each) for each in seconds]


async def test_an_attempt_carries_all_that_running_and_settling_it_needs(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(
        storage,
        name="probe",
        handler_type=HandlerType.HTTP,
        handler_name="http",
        payload={"url": "http://127.0.0.1/"},
        max_retries=4,
        retry_delay_ms=7,
        backoff=Backoff.FIXED,
        retry_jitter=0.25,
        timeout_ms=1234,
        lock_timeout_seconds=45,
    )
    publisher = TraceContext(trace_id="a" * 32, span_id="b" * 16, flags=3, tracestate="vendor=word")
    changed = await storage.jobs.change(TENANT, job.id, triggered(idempotency_key="k", trace=publisher))
    assert changed.execution is not None

    [attempt] = await claim(storage, changed.execution)

    assert (attempt.execution_id, attempt.job_id, attempt.tenant_id) == (changed.execution.id, job.id, TENANT)
    assert attempt.definition == job.definition
    assert attempt.payload == {"url": "http://127.0.0.1/"}
    assert (attempt.attempt, attempt.failures, attempt.max_retries) == (1, 0, 4)
    assert (attempt.scheduled_at, attempt.started_at) == (changed.execution.scheduled_at, clock.now())
    assert (attempt.idempotency_key, attempt.event_id) == ("k", None)
    assert attempt.trace == publisher.under(span_of(attempt.execution_id))


@pytest.mark.parametrize("payload", [{"own": True}, [], 0, "", False])
async def test_the_executions_own_payload_wins_over_the_jobs(storage: Storage, payload: Json) -> None:
    job = await an_idle_job(storage, payload={"of": "job"}, concurrency=2)
    with_own = await storage.jobs.change(TENANT, job.id, triggered(payload=payload))
    without = await storage.jobs.change(TENANT, job.id, triggered())
    assert with_own.execution is not None
    assert without.execution is not None

    first, second = await claim(storage, with_own.execution, without.execution)

    assert (first.payload, second.payload) == (payload, {"of": "job"})


async def test_claims_are_answered_in_the_order_asked_for_without_what_does_not_qualify(
    storage: Storage,
) -> None:
    job = await an_idle_job(storage, concurrency=3, max_retries=1)
    first, retrying, third, waiting = await trigger(storage, job, 4)
    [attempt] = await claim(storage, retrying)
    await storage.ledger.finish([a_failure(attempt)])
    ended = await a_running_attempt(storage)
    await storage.ledger.finish([a_success(ended)])
    ids = [third.id, waiting.id, new_id(START), retrying.id, ended.execution_id, first.id, third.id]

    attempts = await storage.ledger.claim(ids, worker_id=WORKER)

    assert [attempt.execution_id for attempt in attempts] == [third.id, first.id]
    assert list(await storage.ledger.claim(ids, worker_id="node-2/boot-1")) == []
    assert (await execution(storage, third.id)).worker_id == WORKER


async def test_of_many_claims_at_once_one_gets_the_row(storage: Storage) -> None:
    job = await an_idle_job(storage)
    [row] = await trigger(storage, job, 1)

    answers = await asyncio.gather(
        *(storage.ledger.claim([row.id], worker_id=f"node-{number}/boot") for number in range(10))
    )

    assert sum(len(answer) for answer in answers) == 1
    assert (await execution(storage, row.id)).attempt == 1


async def test_a_retry_is_claimed_no_sooner_than_it_is_available(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage, max_retries=1, retry_delay_ms=10_000)
    await storage.ledger.finish([a_failure(attempt, duration_ms=0)])
    row = await execution(storage, attempt.execution_id)

    clock.advance(9.999999)
    await storage.ledger.ready(limit=10)
    assert not await claim(storage, row)
    clock.advance(timedelta(microseconds=1))
    await storage.ledger.ready(limit=10)
    [second] = await claim(storage, row)

    assert (second.attempt, second.failures) == (2, 1)
    assert (await execution(storage, row.id)).next_retry_at is None


async def test_what_was_dispatched_is_claimed_although_the_clock_was_set_back(
    storage: Storage, clock: ManualClock
) -> None:
    job = await an_idle_job(storage)
    [row] = await trigger(storage, job, 1)

    clock.jump_wall(timedelta(hours=-1))

    assert len(await claim(storage, row)) == 1


async def test_a_worker_can_ask_what_a_claim_of_its_got(storage: Storage) -> None:
    job = await an_idle_job(storage, concurrency=9)
    mine, others, pending = await trigger(storage, job, 3)
    [attempt] = await storage.ledger.claim([mine.id], worker_id="worker-1")
    await storage.ledger.claim([others.id], worker_id="worker-2")

    ids = [pending.id, others.id, mine.id, new_id(START)]
    assert await storage.ledger.claimed(ids, worker_id="worker-1") == [attempt]
    await storage.ledger.finish([a_success(attempt)])
    assert await storage.ledger.claimed(ids, worker_id="worker-1") == []


async def test_an_attempt_tells_how_many_events_in_a_row_led_to_it(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage)
    await trigger_one(storage, running(await a_runner(storage, job), job), depth=3)
    [row] = await executions_of(storage, job)

    [attempt] = await claim(storage, row)
    [asked] = await storage.ledger.claimed([row.id], worker_id=WORKER)
    clock.advance(attempt.definition.lock_timeout_seconds)
    [lease] = await expired(storage, limit=1)

    assert row.depth > 0
    assert [each.depth for each in (attempt, asked, lease.attempt)] == [row.depth] * 3
    assert (await a_running_attempt(storage)).depth == 0
