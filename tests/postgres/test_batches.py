"""Many jobs at once take as many round trips as a few do, and keep nobody waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import asyncpg
import pytest

from tests.makers import a_job, decided, triggered
from tocsin.adapters.postgres import Access, Database
from tocsin.adapters.postgres.batches import PostgresBatches
from tocsin.adapters.postgres.transaction import Transaction
from tocsin.adapters.system import ManualClock
from tocsin.domain.job import DEFAULT_TENANT, ScheduledJob
from tocsin.domain.lifecycle import cancel, pause, resume
from tocsin.domain.plan import Decision, Plan
from tocsin.ports.storage import Storage

FEW, MANY = 2, 60


@pytest.fixture
async def batches(access: Access, storage: Storage, clock: ManualClock) -> AsyncIterator[PostgresBatches]:  # noqa: ARG001 - it makes the schema
    opened = Database(Access(url=access.url, connections=1), clock)
    await opened.open()
    yield PostgresBatches(opened)
    await opened.close()


async def asked_by(batches: PostgresBatches) -> list[str]:
    """Give the list that every statement from here on is added to, on the one connection that there is."""
    statements: list[str] = []

    async def listen(transaction: Transaction) -> None:
        def note(query: asyncpg.connection.LoggedQuery) -> None:
            statements.append(query.query)

        transaction.connection.add_query_logger(note)

    await batches._database.change(listen)  # noqa: SLF001 - its connection is nobody else's to see
    statements.clear()
    return statements


def some_jobs(count: int, key: str) -> Sequence[ScheduledJob]:
    return [a_job(name=f"job {n}", key=f"{key}-{n}" if n % 2 else None) for n in range(count)]


async def test_how_many_jobs_are_made_does_not_matter_for_how_often_the_server_is_asked(
    batches: PostgresBatches,
) -> None:
    statements, counts = await asked_by(batches), list[int]()

    for count in (FEW, FEW, MANY):
        statements.clear()
        added = await batches.add(some_jobs(count, f"new-{len(counts)}"), lambda _: decided(pause))
        assert len(added.jobs) == count
        counts.append(len(statements))

    assert counts[1] == counts[2] > 0


async def test_how_many_keys_are_taken_does_not_matter_either(batches: PostgresBatches) -> None:
    statements, counts = await asked_by(batches), list[int]()

    for count in (FEW, FEW, MANY):
        key = f"taken-{len(counts)}"
        held = await batches.add(some_jobs(count, key), lambda _: decided(pause))
        statements.clear()
        met = await batches.add(some_jobs(count, key), lambda _: decided(pause))
        assert [job.id for job in met.jobs[1::2]] == [job.id for job in held.jobs[1::2]]
        counts.append(len(statements))

    assert counts[1] == counts[2] > 0


@pytest.mark.parametrize("decide", [decided(pause), decided(cancel), triggered()], ids=["pause", "cancel", "trigger"])
async def test_how_many_jobs_are_changed_does_not_matter_either(batches: PostgresBatches, decide: Decision) -> None:
    statements, counts = await asked_by(batches), list[int]()

    for count in (FEW, FEW, MANY):
        made = await batches.add(some_jobs(count, f"changed-{len(counts)}"), lambda _: decided(pause))
        statements.clear()
        changed = await batches.change(DEFAULT_TENANT, [job.id for job in made.jobs], decide)
        assert (len(changed.jobs), changed.refused) == (count, [])
        counts.append(len(statements))

    assert counts[1] == counts[2] > 0


async def test_whoever_else_is_due_has_its_turn_while_many_plans_are_made(batches: PostgresBatches) -> None:
    since_a_turn, most = 0, 0

    def noted(decide: Decision) -> Decision:
        def note(job: ScheduledJob, now: datetime) -> Plan:
            nonlocal since_a_turn, most
            since_a_turn += 1
            most = max(most, since_a_turn)
            return decide(job, now)

        return note

    async def take_turns() -> None:
        nonlocal since_a_turn
        while True:
            since_a_turn = 0
            await asyncio.sleep(0)

    jobs = [a_job(name=f"job {n}", key=f"key-{n}") for n in range(MANY)]
    other = asyncio.create_task(take_turns())
    made = await batches.add(jobs, lambda _: decided(pause))
    await batches.add([a_job(key=f"key-{n}") for n in range(MANY)], lambda _: noted(decided(pause)))
    await batches.change(DEFAULT_TENANT, [job.id for job in made.jobs], noted(decided(resume)))
    other.cancel()

    assert 0 < most <= 10
