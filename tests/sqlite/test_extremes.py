from __future__ import annotations

from tests.makers import a_job, a_success, an_event_job, triggered
from tocsin.adapters.system import ManualClock
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.ports.queries import ExecutionFilter, JobFilter
from tocsin.ports.storage import Storage

BEYOND = 10**30
HALF_A_CHARACTER = "\ud800"


async def test_an_offset_beyond_every_integer_is_past_the_end(storage: Storage) -> None:
    job = await storage.jobs.add(an_event_job())
    changed = await storage.jobs.change(job.tenant_id, job.id, triggered())
    assert changed.execution is not None

    jobs = await storage.jobs.list(DEFAULT_TENANT, JobFilter(offset=BEYOND))
    executions = await storage.executions.list(DEFAULT_TENANT, ExecutionFilter(offset=BEYOND))
    logs = await storage.executions.logs(DEFAULT_TENANT, changed.execution.id, after=BEYOND, limit=10)

    assert (jobs.items, jobs.total) == ([], 1)
    assert (executions.items, executions.total) == ([], 1)
    assert logs.items == []


async def test_text_that_cannot_be_stored_matches_nothing(storage: Storage) -> None:
    await storage.jobs.add(a_job())

    for query in (
        JobFilter(name_contains=HALF_A_CHARACTER),
        JobFilter(tags=(HALF_A_CHARACTER,)),
        JobFilter(key=(HALF_A_CHARACTER,)),
        JobFilter(created_by=(HALF_A_CHARACTER,)),
    ):
        assert (await storage.jobs.list(DEFAULT_TENANT, query)).items == []


async def test_a_payload_that_a_handler_changes_is_whole_for_the_next(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(an_event_job(payload={"left": ["a", "b"]}, concurrency=2))
    changes = [await storage.jobs.change(job.tenant_id, job.id, triggered()) for _ in range(2)]
    [first, second] = [change.execution.id for change in changes if change.execution is not None]

    [attempt] = await storage.ledger.claim([first], worker_id="node")
    assert isinstance(attempt.payload, dict)
    attempt.payload.clear()
    clock.advance(1)

    [attempt] = await storage.ledger.claim([second], worker_id="node")
    assert attempt.payload == {"left": ["a", "b"]}


async def test_a_result_beyond_every_integer_is_kept_to_the_last_digit(storage: Storage) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=2))
    changes = [await storage.jobs.change(job.tenant_id, job.id, triggered()) for _ in range(2)]
    ids = [change.execution.id for change in changes if change.execution is not None]
    attempts = await storage.ledger.claim(ids, worker_id="node")

    await storage.ledger.finish([a_success(attempt, result={"n": BEYOND + 1}) for attempt in attempts])

    assert [(await storage.executions.get(DEFAULT_TENANT, each)).result for each in ids] == [{"n": BEYOND + 1}] * 2
