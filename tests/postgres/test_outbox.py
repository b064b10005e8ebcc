from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from tests.contracts.event_steps import a_stored_handler
from tests.contracts.steps import TENANT
from tests.makers import a_success, an_event_job, triggered
from tocsin.adapters.postgres import Database
from tocsin.adapters.postgres.facts import interest_of
from tocsin.domain.errors import InvalidEvent
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

LEASE: Final = timedelta(minutes=1)
WRITE: Final = """
INSERT INTO outbox (tenant_id, at, event)
SELECT tenant_id, at, jsonb_set(event::jsonb, '{subject}', '"late"') FROM outbox LIMIT 1"""


async def read(storage: Storage, after: str | None) -> tuple[Sequence[str | None], str]:
    outgoing = await storage.outbox.read(after=after, limit=100)
    return [event.subject for event in outgoing.events], outgoing.position


async def listen(storage: Storage, name: str = "me", after: str | None = None) -> str:
    return await storage.outbox.listen(name, tenant_id=None, pattern="tocsin.**", lease=LEASE, after=after)


async def test_what_is_committed_late_holds_up_what_comes_after_and_is_not_missed(
    storage: Storage, stranger: Stranger
) -> None:
    await a_stored_handler(storage, event="tocsin.job.created")
    first = await storage.jobs.add(an_event_job())
    _, position = await read(storage, None)
    await stranger.execute("BEGIN")
    await stranger.execute(WRITE)
    second = await storage.jobs.add(an_event_job())

    held_up = await read(storage, position)
    await stranger.execute("COMMIT")
    then, end = await read(storage, position)

    assert held_up == ([], position)
    assert then == ["late", f"job/{second.id}"]
    assert (await read(storage, end))[0] == []
    assert first.id != second.id


async def test_a_listener_is_told_once_nobody_is_left_who_did_not_know_of_it(
    storage: Storage, stranger: Stranger
) -> None:
    await a_stored_handler(storage, event="tocsin.job.deleted")
    job = await storage.jobs.add(an_event_job())
    await stranger.execute("BEGIN")
    await stranger.execute("UPDATE jobs SET version = version WHERE id = $1", job.id)
    await stranger.execute("SELECT FROM event_listeners")
    listening = asyncio.ensure_future(storage.outbox.listen("me", tenant_id=None, pattern="tocsin.**", lease=LEASE))
    done, _ = await asyncio.wait([listening], timeout=0.3)
    assert not done

    await stranger.execute("COMMIT")
    position = await listening
    await storage.jobs.add(an_event_job())

    assert len((await read(storage, position))[0]) == 1


async def test_who_shares_a_new_listener_is_told_no_sooner(storage: Storage, stranger: Stranger) -> None:
    await a_stored_handler(storage, event="tocsin.job.deleted")
    job = await storage.jobs.add(an_event_job())
    await stranger.execute("BEGIN")
    await stranger.execute("UPDATE jobs SET version = version WHERE id = $1", job.id)
    await stranger.execute("SELECT FROM event_listeners")
    listening = [asyncio.ensure_future(listen(storage)) for _ in range(3)]
    done, _ = await asyncio.wait(listening, timeout=0.3)
    assert not done

    await stranger.execute("COMMIT")
    positions = await asyncio.gather(*listening)

    for position in positions:
        assert await listen(storage, after=position)


async def test_a_listener_that_was_never_told_has_not_begun(storage: Storage, stranger: Stranger) -> None:
    _, position = await read(storage, None)
    await stranger.execute("BEGIN")
    await stranger.execute("SELECT FROM event_listeners")
    await stranger.execute("UPDATE jobs SET version = version")
    listening = asyncio.ensure_future(listen(storage))
    await asyncio.wait([listening], timeout=0.3)
    listening.cancel()
    await asyncio.wait([listening])
    await stranger.execute("COMMIT")

    with pytest.raises(InvalidEvent, match="position"):
        await listen(storage, after=position)
    assert await listen(storage, after=await listen(storage))


async def test_a_listener_of_another_server_begins_anew(storage: Storage, stranger: Stranger) -> None:
    position = await listen(storage)
    await stranger.execute("UPDATE event_listeners SET since = '9000000000000000000'")

    with pytest.raises(InvalidEvent, match="position"):
        await listen(storage, after=position)

    assert await listen(storage, after=await listen(storage))


async def test_any_number_of_listeners_to_the_same_count_as_one(storage: Storage, database: Database) -> None:
    for name in "abc":
        await listen(storage, name)

    interest = await database.read(interest_of)

    assert interest.listeners == ((None, "tocsin.**"),)


async def test_a_listener_does_not_wait_for_who_only_reads(storage: Storage, stranger: Stranger) -> None:
    await stranger.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    await stranger.execute("SELECT FROM event_listeners, executions, jobs, outbox")

    await storage.outbox.listen("me", tenant_id=None, pattern="tocsin.**", lease=LEASE)


async def test_a_start_is_told_to_who_listens_to_starts(storage: Storage) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=5))
    dispatched = [(await storage.jobs.change(TENANT, job.id, triggered())).dispatches[0] for _ in range(3)]
    ids = [each.execution_id for each in dispatched]
    position = await storage.outbox.listen("ends", tenant_id=None, pattern="tocsin.execution.succeeded", lease=LEASE)
    [first] = await storage.ledger.claim(ids[:1], worker_id="node-1")
    await storage.outbox.listen("starts", tenant_id=None, pattern="tocsin.execution.started", lease=LEASE)

    claimed = await storage.ledger.claim(ids, worker_id="node-1")
    await storage.ledger.finish([a_success(each) for each in (first, *claimed)])

    assert [each.execution_id for each in claimed] == ids[1:]
    told = (await storage.outbox.read(after=position, limit=10)).events
    assert [event.name for event in told] == ["tocsin.execution.started"] * 2 + ["tocsin.execution.succeeded"] * 3


@pytest.mark.parametrize("position", ["", "7", "1.2.3", "-1.0", "x.y", f"{2**63}.0", "99999999999.1", "1.\0"])
async def test_a_position_that_no_store_wrote_is_refused(storage: Storage, position: str) -> None:
    with pytest.raises(InvalidEvent, match="position"):
        await storage.outbox.read(after=position, limit=1)


async def test_a_copy_of_a_database_on_a_younger_server_goes_on_from_its_outbox(
    storage: Storage, stranger: Stranger
) -> None:
    await a_stored_handler(storage, event="tocsin.job.created")
    before = await storage.jobs.add(an_event_job())
    _, position = await read(storage, None)
    await storage.outbox.advance("relay", position)
    await stranger.execute("UPDATE outbox SET transaction_id = '9000000000000000000'")
    await stranger.execute("UPDATE outbox_consumers SET transaction_id = '9000000000000000000'")

    assert await storage.outbox.progress("relay") is None
    after = await storage.jobs.add(an_event_job())
    subjects, position = await read(storage, None)
    await storage.outbox.advance("relay", position)

    assert subjects == [f"job/{before.id}", f"job/{after.id}"]
    assert await storage.outbox.progress("relay") == position
