"""The order in which event handlers, what waits for them and jobs of their own are locked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tests.contracts.event_steps import running, trigger_one
from tests.contracts.steps import TENANT
from tests.makers import a_handler, an_event_job, decided
from tests.postgres.sessions import until_calls_wait_for_a_lock
from tocsin.domain.event import Call, EventHandler
from tocsin.domain.flow import Batch, FlowControl
from tocsin.domain.job import ScheduledJob
from tocsin.domain.lifecycle import delete, update
from tocsin.ports.events import HandlerChange
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

IMPATIENT: Final = "BEGIN; SET LOCAL lock_timeout = '100ms'"
"""Gives up long before the server looks for who waits in a circle."""

LOCK_COUNTERS: Final = "SELECT FROM job_counters WHERE job_id = $1 FOR NO KEY UPDATE"
LOCK_GATHERINGS: Final = "SELECT FROM event_gatherings WHERE handler_id = $1 FOR UPDATE"
WAIT_FOR_IT: Final = """
INSERT INTO event_gatherings
SELECT gen_random_uuid(), handler_id, flow_key, tenant_id, event_ids, first_at, due_at, superseded
FROM event_gatherings
WHERE handler_id = $1"""


async def a_batching_caller(storage: Storage) -> tuple[EventHandler, ScheduledJob]:
    """An event handler with a job of its own, and an event that waits for it."""
    job = an_event_job()
    flow = FlowControl(batch=Batch(size=9, seconds=9))
    handler = await storage.event_handlers.add(a_handler(action=Call(handler_name="report"), flow=flow), job)
    await trigger_one(storage, running(handler, job, flow_key=""))
    return handler, job


def renamed(name: str) -> HandlerChange:
    return lambda handler, _: replace(handler, definition=replace(handler.definition, name=name))


async def test_who_has_events_wait_for_a_handler_does_not_wait_for_who_changes_it(
    storage: Storage, stranger: Stranger
) -> None:
    handler, job = await a_batching_caller(storage)
    await stranger.execute(IMPATIENT)
    await stranger.execute(LOCK_COUNTERS, job.id)
    wanted = replace(job.definition, concurrency=7)
    changing = asyncio.ensure_future(
        storage.event_handlers.change(TENANT, handler.id, renamed("other"), job=decided(update, wanted))
    )
    await until_calls_wait_for_a_lock(stranger, 1)

    await stranger.execute(WAIT_FOR_IT, handler.id)
    await stranger.execute("COMMIT")

    assert (await changing).definition.name == "other"
    assert (await storage.jobs.get(TENANT, job.id)).definition.concurrency == 7


async def test_who_acts_upon_what_waited_does_not_wait_for_who_removes_its_handler(
    storage: Storage, stranger: Stranger
) -> None:
    handler, job = await a_batching_caller(storage)
    await stranger.execute("DELETE FROM event_flows")
    await stranger.execute(IMPATIENT)
    await stranger.execute(LOCK_GATHERINGS, handler.id)
    removing = asyncio.ensure_future(storage.event_handlers.remove(TENANT, handler.id, job=decided(delete)))
    await until_calls_wait_for_a_lock(stranger, 1)

    await stranger.execute(LOCK_COUNTERS, job.id)
    await stranger.execute("COMMIT")
    await removing

    assert await stranger.fetchval("SELECT count(*) FROM event_gatherings") == 0
