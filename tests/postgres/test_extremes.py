from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, TypeAlias

import pytest

from tests.contracts.steps import TENANT, an_idle_job, executions_of, trigger
from tests.makers import a_job, an_event_job, triggered
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import WorkerNotFound
from tocsin.ports.queries import ExecutionFilter, JobFilter
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

BEYOND = 10**30
UNSTORABLE = ("half \ud800", "nul \0")
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
FIRST, LAST = datetime.min.replace(tzinfo=EAST), datetime.max.replace(tzinfo=WEST)


async def test_a_number_beyond_every_integer_is_past_the_end(storage: Storage) -> None:
    job = await an_idle_job(storage)
    [row] = await trigger(storage, job, 1)

    jobs = await storage.jobs.list(TENANT, JobFilter(offset=BEYOND))
    executions = await storage.executions.list(TENANT, ExecutionFilter(offset=BEYOND))
    logs = await storage.executions.logs(TENANT, row.id, after=BEYOND, limit=10)

    assert (jobs.items, jobs.total) == ([], 1)
    assert (executions.items, executions.total) == ([], 1)
    assert logs.items == []
    for below, seen in ((BEYOND, 1), (-BEYOND, 0)):
        versions = await storage.jobs.versions(TENANT, job.id, limit=10, before_version=below)
        assert (len(versions.items), versions.total) == (seen, 1)


@pytest.mark.parametrize("text", UNSTORABLE)
async def test_text_that_cannot_be_stored_matches_nothing(storage: Storage, text: str) -> None:
    await storage.jobs.add(a_job(tags=("a",), created_by="me", key="k"))

    for query in (
        JobFilter(name_contains=text),
        JobFilter(tags=(text,)),
        JobFilter(tags_all=("a", text)),
        JobFilter(key=(text,)),
        JobFilter(handler_name=(text,)),
        JobFilter(created_by=(text,)),
    ):
        assert (await storage.jobs.list(TENANT, query)).items == []
    assert (await storage.jobs.list(TENANT, JobFilter(key=("k", text)))).total == 1
    with pytest.raises(WorkerNotFound):
        await storage.workers.drain(text, requested=True)


async def test_an_instant_beyond_the_calendar_of_utc_is_before_or_after_everything(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())
    await storage.jobs.change(TENANT, job.id, triggered())

    assert (await storage.jobs.list(TENANT, JobFilter(created_after=FIRST, next_run_before=LAST))).total == 1
    assert (await storage.jobs.list(TENANT, JobFilter(created_after=LAST))).total == 0
    assert (await storage.jobs.list(TENANT, JobFilter(created_before=FIRST))).total == 0
    assert (await storage.executions.list(TENANT, ExecutionFilter(scheduled_after=FIRST))).total == 1
    assert (await storage.executions.list(TENANT, ExecutionFilter(scheduled_after=LAST))).total == 0
    assert (await storage.executions.figures(TENANT, job_id=None, since=LAST)).by_status == {}


async def test_a_payload_that_a_handler_changes_is_whole_for_the_next(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(an_event_job(payload={"left": ["a", "b"]}, concurrency=2))
    first, second = await trigger(storage, job, 2)

    [attempt] = await storage.ledger.claim([first.id], worker_id="node")
    assert isinstance(attempt.payload, dict)
    attempt.payload.clear()
    clock.advance(1)

    [attempt] = await storage.ledger.claim([second.id], worker_id="node")
    assert attempt.payload == {"left": ["a", "b"]}


async def test_a_definition_that_somebody_broke_hinders_no_list(storage: Storage, stranger: Connection) -> None:
    broken, sound = await storage.jobs.add(a_job(name="a")), await storage.jobs.add(a_job(name="b"))
    for text in ("5", "[]", '{"name": 7, "tags": "x"}'):
        await stranger.execute("UPDATE jobs SET definition = $1 WHERE id = $2", text, broken.id)

        assert (await storage.jobs.list(TENANT, JobFilter(tags=("x",)))).total in {0, 1}
        assert (await storage.jobs.list(TENANT, JobFilter(name_contains="b"))).items == [sound]
        page = await storage.jobs.list(TENANT, JobFilter())
        assert {job.id for job in page.items} == {broken.id, sound.id}
        assert await executions_of(storage, broken) == []
