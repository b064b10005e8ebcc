"""What the stores let out of what becomes of jobs and executions, in the transactions that make it so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.contracts.event_steps import a_runner, a_stored_handler, doing, running, trigger_one
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
from tests.makers import (
    START,
    a_definition,
    a_failure,
    a_handler,
    a_job,
    a_success,
    an_event_job,
    an_outcome,
    decided,
    planner,
)
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import hand_back, lose, settle
from tocsin.domain.errors import InvalidTransition
from tocsin.domain.event import Call, Event, EventOrigin, JobKeyConflict
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus, JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import cancel, delete, pause, reschedule, resume, update
from tocsin.domain.plan import Plan
from tocsin.domain.resolution import Cancel, Create
from tocsin.domain.runs import retry
from tocsin.domain.trace import TraceContext
from tocsin.ports.storage import Storage

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


async def facts_of(storage: Storage, deed: Awaitable[object]) -> list[Event]:
    """Do something while somebody listens; give what was let out."""
    position = await storage.outbox.listen("everything", tenant_id=None, pattern="tocsin.**", lease=HOUR)
    await deed
    return list((await storage.outbox.read(after=position, limit=100)).events)


async def names_of(storage: Storage, deed: Awaitable[object]) -> list[str]:
    return sorted(fact.name.removeprefix("tocsin.") for fact in await facts_of(storage, deed))


def data_of(fact: Event) -> dict[str, Any]:
    assert isinstance(fact.data, dict)
    return fact.data


async def test_a_new_job_is_a_fact(storage: Storage, clock: ManualClock) -> None:
    job = a_job(key="k", tags=("a",), created_by="someone")

    [fact] = await facts_of(storage, storage.jobs.add(job))

    assert (fact.name, fact.tenant_id, fact.origin) == ("tocsin.job.created", TENANT, EventOrigin.FACT)
    assert (fact.source, fact.subject, fact.cause, fact.depth) == ("tocsin", f"job/{job.id}", None, 1)
    assert fact.time == fact.received_at == clock.now()
    assert data_of(fact) == {
        "job_id": str(job.id),
        "job_name": "report",
        "job_key": "k",
        "job_type": "interval",
        "handler_name": "report",
        "tags": ["a"],
        "status": "active",
        "version": 1,
        "reason": "created",
        "changed_by": "someone",
    }


@pytest.mark.parametrize(
    ("step", "name", "version"),
    [
        (pause, "job.paused", 2),
        (cancel, "job.cancelled", 2),
        (delete, "job.deleted", 2),
    ],
)
async def test_a_change_of_a_jobs_status_is_a_fact(
    storage: Storage, step: Callable[..., Plan], name: str, version: int
) -> None:
    job = await storage.jobs.add(a_job())

    [fact] = await facts_of(storage, storage.jobs.change(TENANT, job.id, decided(step)))

    assert fact.name == f"tocsin.{name}"
    assert (data_of(fact)["version"], data_of(fact)["changed_by"]) == (version, "tester")


async def test_a_job_that_is_resumed_updated_or_rescheduled_is_a_fact_each_time(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())
    await storage.jobs.change(TENANT, job.id, decided(pause))
    steps = [
        decided(resume),
        decided(update, a_definition(priority=99)),
        decided(reschedule, a_definition(schedule="every 2m")),
    ]

    told = [await names_of(storage, storage.jobs.change(TENANT, job.id, step)) for step in steps]

    assert told == [["job.resumed"], ["job.updated"], ["job.updated"]]


async def test_a_change_that_changes_nothing_is_no_fact(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())

    same = decided(update, job.definition)

    assert await facts_of(storage, storage.jobs.change(TENANT, job.id, same)) == []
    refused = storage.jobs.change(TENANT, job.id, decided(resume))
    with pytest.raises(InvalidTransition):
        await facts_of(storage, refused)


async def test_a_fire_is_a_fact_of_each_execution(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.QUEUE_ALL))
    clock.advance(2 * MINUTE)

    facts = await facts_of(storage, storage.ledger.fire(planner, limit=10))

    rows = await executions_of(storage, job)
    assert {fact.subject for fact in facts} == {f"execution/{row.id}" for row in rows}
    assert {fact.name for fact in facts} == {"tocsin.execution.created"}
    told = data_of(facts[0])
    assert (told["job_id"], told["origin"], told["attempt"]) == (str(job.id), "schedule", 0)
    assert {fact.cause for fact in facts} == {row.id for row in rows}
    assert {fact.depth for fact in facts} == {1}


async def test_skips_are_facts(storage: Storage, clock: ManualClock) -> None:
    await storage.jobs.add(a_job(misfire_policy=MisfirePolicy.SKIP, misfire_grace_seconds=0))
    clock.advance(timedelta(minutes=5, seconds=30))

    [fact] = await facts_of(storage, storage.ledger.fire(planner, limit=10))

    assert fact.name == "tocsin.execution.skipped"
    assert (data_of(fact)["skip_reason"], data_of(fact)["covers_count"]) == ("misfire", 5)


async def test_a_job_that_ends_by_itself_is_a_fact(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(type=JobType.ONE_TIME, schedule=(START + MINUTE).isoformat()))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)
    [attempt] = await claim(storage, *await executions_of(storage, job))

    facts = await facts_of(storage, storage.ledger.finish([a_success(attempt)]))

    assert sorted(fact.name for fact in facts) == ["tocsin.execution.succeeded", "tocsin.job.updated"]
    [ended] = [fact for fact in facts if fact.name == "tocsin.job.updated"]
    assert (data_of(ended)["status"], data_of(ended)["changed_by"]) == ("completed", None)


async def test_a_run_by_hand_is_a_fact_from_its_beginning_to_its_end(storage: Storage) -> None:
    job = await an_idle_job(storage)
    created = await names_of(storage, trigger(storage, job, 1))
    [row] = await executions_of(storage, job)

    [started] = await facts_of(storage, claim(storage, row))
    [attempt] = await storage.ledger.claimed([row.id], worker_id=WORKER)
    [succeeded] = await facts_of(storage, storage.ledger.finish([a_success(attempt)]))

    assert created == ["execution.created"]
    assert (started.name, data_of(started)["attempt"]) == ("tocsin.execution.started", 1)
    assert data_of(started)["worker_id"] == WORKER
    assert succeeded.name == "tocsin.execution.succeeded"
    assert data_of(succeeded)["duration_ms"] == 1000
    assert await facts_of(storage, storage.ledger.finish([a_success(attempt)])) == []
    assert await facts_of(storage, claim(storage, row)) == []


async def test_facts_of_an_execution_lie_in_its_trace(storage: Storage) -> None:
    job = await an_idle_job(storage)
    handler = await a_runner(storage, job)
    trace = TraceContext(trace_id="a" * 32, span_id="b" * 16, flags=0, tracestate="vendor=word")

    facts = await facts_of(
        storage, trigger_one(storage, running(handler, job), trace=trace, depth=3, correlation_id="the one of 7")
    )

    [fact] = facts
    [row] = await executions_of(storage, job)
    assert (fact.trace.trace_id, fact.parent_span_id) == (trace.trace_id, row.span_id)
    assert (fact.trace.flags, fact.trace.tracestate) == (0, "vendor=word")
    assert (fact.cause, fact.depth, fact.correlation_id) == (row.id, 4, "the one of 7")
    assert data_of(fact)["event_id"] == str(row.event_id)


@pytest.mark.parametrize(
    ("status", "name"),
    [(ExecutionStatus.FAILED, "execution.failed"), (ExecutionStatus.TIMEOUT, "execution.timed_out")],
)
async def test_an_execution_that_ends_ill_is_a_fact(storage: Storage, status: ExecutionStatus, name: str) -> None:
    attempt = await a_running_attempt(storage, max_retries=0)
    finish = settle(attempt, an_outcome(status=status, result=None, error="no luck", error_type="ValueError"), chance=0)

    [fact] = await facts_of(storage, storage.ledger.finish([finish]))

    told = data_of(fact)
    assert fact.name == f"tocsin.{name}"
    assert (told["error"], told["error_type"], told["failures"]) == ("no luck", "ValueError", 1)


async def test_a_retry_is_a_fact_each_time_and_one_that_was_handed_back_is_none(
    storage: Storage, clock: ManualClock
) -> None:
    attempt = await a_running_attempt(storage, max_retries=3, retry_delay_ms=0)
    row = await execution(storage, attempt.execution_id)

    first = await names_of(storage, storage.ledger.finish([a_failure(attempt)]))
    clock.advance(MINUTE)
    await storage.ledger.ready(limit=10)
    [second] = await claim(storage, row)
    handed_back = await names_of(storage, storage.ledger.finish([hand_back(second, START)]))
    [third] = await claim(storage, row)
    again = await names_of(storage, storage.ledger.finish([a_failure(third)]))

    assert (first, handed_back, again) == (["execution.retrying"], [], ["execution.retrying"])


async def test_an_attempt_whose_lease_is_lost_is_a_fact(storage: Storage, clock: ManualClock) -> None:
    attempt = await a_running_attempt(storage, max_retries=0)
    clock.advance(HOUR)
    [lease] = await expired(storage, limit=10)

    [fact] = await facts_of(storage, storage.ledger.finish([lose(lease.attempt, lease.lease_expires_at, chance=0)]))

    assert (fact.name, data_of(fact)["error_type"]) == ("tocsin.execution.failed", "LEASE_LOST")
    assert data_of(fact)["execution_id"] == str(attempt.execution_id)


async def test_a_result_that_no_store_can_keep_is_told_of_as_it_was_recorded(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)

    [fact] = await facts_of(storage, storage.ledger.finish([a_success(attempt, result="\ud800")]))

    assert fact.name == "tocsin.execution.failed"


async def test_a_batch_of_ends_is_a_fact_of_each(storage: Storage) -> None:
    attempts = [await a_running_attempt(storage, max_retries=0) for _ in range(6)]
    ends = [a_success, a_failure] * 3

    facts = await facts_of(
        storage, storage.ledger.finish([end(attempt) for end, attempt in zip(ends, attempts, strict=True)])
    )

    assert {(fact.subject, fact.name) for fact in facts} == {
        (f"execution/{attempt.execution_id}", f"tocsin.execution.{name}")
        for attempt, name in zip(attempts, ["succeeded", "failed"] * 3, strict=True)
    }


async def test_what_is_cancelled_is_a_fact_whether_it_ran_or_not(storage: Storage) -> None:
    job = await an_idle_job(storage)
    running_row, waiting_row = await trigger(storage, job, 2)
    await claim(storage, running_row)

    told = [await names_of(storage, storage.executions.cancel(TENANT, row.id)) for row in (waiting_row, running_row)]

    assert told == [["execution.cancelled"]] * 2


@pytest.mark.parametrize(("step", "name"), [(cancel, "job.cancelled"), (delete, "job.deleted")])
async def test_a_job_that_is_ended_is_a_fact_with_all_that_it_ends(
    storage: Storage, step: Callable[..., Plan], name: str
) -> None:
    job = await an_idle_job(storage)
    running_row, _ = await trigger(storage, job, 2)
    await claim(storage, running_row)

    told = await names_of(storage, storage.jobs.change(TENANT, job.id, decided(step)))

    assert told == ["execution.cancelled", "execution.cancelled", name]


async def test_all_that_waits_is_told_of_when_a_job_is_ended(storage: Storage) -> None:
    job = await an_idle_job(storage)
    rows = await trigger(storage, job, 60)

    facts = await facts_of(storage, storage.jobs.change(TENANT, job.id, decided(cancel)))

    assert sorted(str(fact.subject) for fact in facts) == sorted(
        [f"job/{job.id}", *(f"execution/{row.id}" for row in rows)]
    )


async def test_the_slot_of_what_timed_out_is_freed_without_a_fact(storage: Storage) -> None:
    attempt = await a_running_attempt(storage, max_retries=0)
    timeout = settle(attempt, an_outcome(status=ExecutionStatus.TIMEOUT, result=None), chance=0)
    await storage.ledger.finish([timeout])

    assert await facts_of(storage, storage.ledger.release([(attempt.execution_id, attempt.attempt)])) == []


async def test_a_retry_by_hand_is_a_new_execution(storage: Storage) -> None:
    attempt = await a_running_attempt(storage, max_retries=0)
    await storage.ledger.finish([a_failure(attempt)])
    failed = await execution(storage, attempt.execution_id)

    [fact] = await facts_of(storage, storage.jobs.change(TENANT, failed.job_id, decided(retry, failed)))

    assert (fact.name, data_of(fact)["origin"]) == ("tocsin.execution.created", "retry")


async def test_a_nominal_time_that_is_accounted_for_is_no_fact(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.QUEUE_ALL))
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=10)

    def again(job: ScheduledJob, now: Any) -> Plan:  # noqa: ANN401 - an instant
        return planner(replace(job, next_run=START + MINUTE, last_nominal=None), now)

    assert await facts_of(storage, storage.jobs.change(TENANT, job.id, again)) == []


async def test_what_only_waits_or_moves_on_is_no_fact(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage)
    first, second = await trigger(storage, job, 2)
    [attempt] = await claim(storage, first)

    async def deeds() -> None:
        await storage.ledger.renew({(first.id, 1): MINUTE}, worker_id=WORKER)
        await storage.ledger.ready(limit=10)
        await storage.ledger.release([(first.id, 1)])
        await storage.ledger.redispatch([(second.id, clock.now())])

    assert await facts_of(storage, deeds()) == []
    # The slot that it frees admits the other, which is no news either.
    assert await names_of(storage, storage.ledger.finish([a_success(attempt)])) == ["execution.succeeded"]


async def test_what_events_do_to_jobs_are_facts(storage: Storage) -> None:
    handler = await a_stored_handler(storage)
    definition = a_definition(type=JobType.ONE_TIME, schedule=None, key="k")
    make = Create(definition=definition, delay=MINUTE, on_conflict=JobKeyConflict.KEEP)

    made = await names_of(storage, trigger_one(storage, doing(handler, make)))
    ended = await names_of(storage, trigger_one(storage, doing(handler, Cancel(tenant_id=TENANT, key="k"))))

    assert (made, ended) == (["job.created"], ["job.cancelled"])


async def test_the_job_of_a_handlers_own_is_a_fact_from_its_beginning_to_its_end(storage: Storage) -> None:
    handler = a_handler(action=Call(handler_name="report"))

    begun = await names_of(storage, storage.event_handlers.add(handler, an_event_job()))
    ended = await names_of(storage, storage.event_handlers.remove(TENANT, handler.id, job=decided(delete)))

    assert (begun, ended) == (["job.created"], ["job.deleted"])


async def test_only_the_facts_that_somebody_listens_to_are_let_out(storage: Storage) -> None:
    await a_stored_handler(storage, event="tocsin.execution.succeeded")
    attempt = await a_running_attempt(storage)

    await storage.ledger.finish([a_success(attempt)])

    names = [fact.name for fact in (await storage.outbox.read(after=None, limit=10)).events]
    assert names == ["tocsin.execution.succeeded"]


async def test_each_fact_has_an_id_of_its_own(storage: Storage, clock: ManualClock) -> None:
    async def a_life() -> None:
        attempt = await a_running_attempt(storage, max_retries=1, retry_delay_ms=0)
        await storage.ledger.finish([a_failure(attempt)])
        clock.advance(MINUTE)
        await storage.ledger.ready(limit=10)
        [second] = await claim(storage, await execution(storage, attempt.execution_id))
        await storage.ledger.finish([a_success(second)])
        await storage.jobs.change(TENANT, attempt.job_id, decided(pause))

    facts = await facts_of(storage, a_life())

    assert [fact.name.removeprefix("tocsin.") for fact in facts] == [
        "job.created",
        "execution.created",
        "execution.started",
        "execution.retrying",
        "execution.started",
        "execution.succeeded",
        "job.paused",
    ]
    assert len({fact.id for fact in facts}) == len(facts)
    assert JobStatus.PAUSED.value == data_of(facts[-1])["status"]
