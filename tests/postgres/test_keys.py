from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

import pytest

from tests.contracts.steps import TENANT
from tests.makers import an_event_job, decided, new_id
from tests.postgres.sessions import until_calls_wait_for_a_lock
from tocsin.domain.errors import Conflict
from tocsin.domain.job import ScheduledJob
from tocsin.domain.lifecycle import update
from tocsin.ports.queries import JobFilter
from tocsin.ports.storage import Storage
from tocsin.ports.stores import Changed

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

COPY = """
INSERT INTO jobs (id, tenant_id, status, exhausted, created_at, updated_at, version, definition)
SELECT $1, tenant_id, status, exhausted, created_at, updated_at, version, $2 FROM jobs"""


async def rekeyed(storage: Storage, job: ScheduledJob, key: str) -> Changed:
    return await storage.jobs.change(TENANT, job.id, decided(update, replace(job.definition, key=key)))


async def a_key_about_to_be_taken(stranger: Connection, key: str) -> UUID:
    """Have somebody else make a job with the key, like the one there is, and not commit."""
    taker = new_id(an_event_job().created_at)
    await stranger.execute("BEGIN")
    definition = f'{{"name": "taker", "handler_name": "report", "key": "{key}"}}'
    await stranger.execute(COPY, taker, definition)
    return taker


@pytest.mark.parametrize("change", ["add", "rekey"])
async def test_a_key_that_another_takes_at_the_same_time_is_that_ones(
    storage: Storage, stranger: Connection, change: str
) -> None:
    job = await storage.jobs.add(an_event_job())
    taker = await a_key_about_to_be_taken(stranger, "nightly")
    call = storage.jobs.add(an_event_job(key="nightly")) if change == "add" else rekeyed(storage, job, "nightly")
    waiting = asyncio.ensure_future(call)
    await until_calls_wait_for_a_lock(stranger, 1)

    await stranger.execute("COMMIT")

    with pytest.raises(Conflict) as refusal:
        await waiting
    assert refusal.value.existing_id == taker
    assert (await storage.jobs.get(TENANT, job.id)) == job


@pytest.mark.parametrize("change", ["add", "rekey"])
async def test_a_key_that_another_gives_up_is_ours(storage: Storage, stranger: Connection, change: str) -> None:
    job = await storage.jobs.add(an_event_job())
    await a_key_about_to_be_taken(stranger, "nightly")
    call = storage.jobs.add(an_event_job(key="nightly")) if change == "add" else rekeyed(storage, job, "nightly")
    waiting = asyncio.ensure_future(call)
    await until_calls_wait_for_a_lock(stranger, 1)

    await stranger.execute("ROLLBACK")
    await waiting

    assert (await storage.jobs.list(TENANT, JobFilter(key=("nightly",)))).total == 1


async def test_of_many_jobs_that_want_one_key_at_once_one_gets_it(storage: Storage) -> None:
    jobs = [await storage.jobs.add(an_event_job(key=f"{number}")) for number in range(10)]

    answers = await asyncio.gather(*(rekeyed(storage, job, "nightly") for job in jobs), return_exceptions=True)

    [holder] = (await storage.jobs.list(TENANT, JobFilter(key=("nightly",)))).items
    refusals = [answer for answer in answers if isinstance(answer, Conflict)]
    assert [refusal.existing_id for refusal in refusals] == [holder.id] * 9


async def test_jobs_that_exchange_their_keys_at_once_leave_each_key_with_one(storage: Storage) -> None:
    for _ in range(5):
        one, other = an_event_job(key="a"), an_event_job(key="b")
        for job in (one, other):
            await storage.jobs.add(job)

        answers = await asyncio.gather(rekeyed(storage, one, "b"), rekeyed(storage, other, "a"), return_exceptions=True)

        assert all(isinstance(answer, Changed | Conflict) for answer in answers)
        stored = [await storage.jobs.get(TENANT, job.id) for job in (one, other)]
        assert len({job.definition.key for job in stored}) == 2
        for job in stored:
            await rekeyed(storage, job, str(job.id))
