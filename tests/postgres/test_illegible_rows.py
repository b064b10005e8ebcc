"""Rows that a later version wrote, or somebody by hand, and that this one cannot read."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

import pytest

from tests.contracts.event_steps import (
    a_runner,
    a_stored_handler,
    doing,
    heard,
    running,
    told_by,
    trigger,
    trigger_one,
)
from tests.contracts.steps import TENANT
from tests.makers import START, an_event_job, decided, fanned_out
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import Conflict
from tocsin.domain.event import Event, EventHandler
from tocsin.domain.flow import Batch, FlowControl
from tocsin.domain.impact import Touch
from tocsin.domain.lifecycle import delete
from tocsin.domain.resolution import Announce, Resolved
from tocsin.ports.queries import EventFilter, EventHandlerFilter
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger

DANCES: Final = '{"event": "order.*", "enabled": true, "priority": 50, "action": {"type": "dance"}}'
TOUCHED: Final = '{"handlers": [{"touch": "of the next version"}]}'
AFTER: Final = START + timedelta(days=1)


async def spoil(stranger: Stranger, spoilt: Event | EventHandler) -> None:
    if isinstance(spoilt, Event):
        await stranger.execute("UPDATE events SET impact = $2 WHERE id = $1", spoilt.id, TOUCHED)
    else:
        await stranger.execute("UPDATE event_handlers SET definition = $2 WHERE id = $1", spoilt.id, DANCES)


async def restore(stranger: Stranger, handler: EventHandler, sound: EventHandler) -> None:
    copy = "UPDATE event_handlers SET definition = s.definition FROM event_handlers AS s"
    await stranger.execute(f"{copy} WHERE event_handlers.id = $1 AND s.id = $2", handler.id, sound.id)


async def publish(storage: Storage, handler: EventHandler, subject: str) -> None:
    await trigger_one(storage, doing(handler, Announce(name="order.seen", data=None, subject=subject)))


@pytest.mark.parametrize("event", ["[]", "{}", '{"origin": "of the next version"}', "[" * 3000 + "]" * 3000])
async def test_an_event_that_cannot_be_read_holds_up_nothing_in_the_outbox(
    storage: Storage, stranger: Stranger, event: str
) -> None:
    handler = await a_stored_handler(storage)
    for subject in ("first", "spoilt", "also spoilt", "last"):
        await publish(storage, handler, subject)
    await stranger.execute("UPDATE outbox SET event = $1 WHERE event ->> 'subject' LIKE '%spoilt'", event)

    first = await storage.outbox.read(after=None, limit=2)
    last = await storage.outbox.read(after=first.positions[0], limit=1)
    none = await storage.outbox.read(after=last.position, limit=1)

    assert [each.subject for page in (first, last) for each in page.events] == ["first", "last"]
    assert len(first.positions) == len(first.events)
    assert (list(none.events), none.position) == ([], last.position)


async def test_what_is_spoilt_at_the_end_of_the_outbox_is_behind_who_has_read_so_far(
    storage: Storage, stranger: Stranger
) -> None:
    handler = await a_stored_handler(storage)
    await publish(storage, handler, "spoilt")
    await stranger.execute("UPDATE outbox SET event = '{}'")

    read = await storage.outbox.read(after=None, limit=10)
    await storage.outbox.advance("relay", read.position)
    removed = await storage.outbox.trim(keep=timedelta(days=-1), limit=10, consumers=("relay",))

    assert (list(read.events), removed) == ([], 1)


async def gathered(storage: Storage, clock: ManualClock, handlers: list[EventHandler], job_id: UUID) -> list[Event]:
    """One event that waits for each handler, a second apart, all of them due."""
    job = await storage.jobs.get(TENANT, job_id)
    events = []
    for handler in handlers:
        clock.advance(1)
        events.append(await trigger_one(storage, running(handler, job, flow_key="")))
    clock.advance(60)
    return events


async def test_gatherings_that_cannot_be_read_are_left_and_hold_up_no_others(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    job = await storage.jobs.add(an_event_job())
    handlers = [await a_runner(storage, job, flow=FlowControl(batch=Batch(size=9, seconds=9))) for _ in range(6)]
    events = await gathered(storage, clock, handlers, job.id)
    await spoil(stranger, handlers[0])
    await spoil(stranger, events[1])
    await spoil(stranger, handlers[2])
    await spoil(stranger, events[4])

    seen: list[UUID] = []
    while (due := await storage.events.due_gatherings(limit=1)).items:
        seen += [item.handler.id for item in due.items]
        await storage.events.revisit([], fanned_out, closes=[item.gathering for item in due.items])

    assert seen == [handlers[3].id, handlers[5].id]
    assert due.next_due is None
    assert await stranger.fetchval("SELECT count(*) FROM event_gatherings") == 4
    await restore(stranger, handlers[0], handlers[3])
    assert [item.events[0].id for item in (await storage.events.due_gatherings(limit=1)).items] == [events[0].id]


async def test_a_gathering_of_which_one_event_cannot_be_read_is_left_whole(
    storage: Storage, clock: ManualClock, stranger: Stranger
) -> None:
    job = await storage.jobs.add(an_event_job())
    handler = await a_runner(storage, job, flow=FlowControl(batch=Batch(size=9, seconds=9)))
    events = await gathered(storage, clock, [handler], job.id)
    await stranger.execute("UPDATE event_gatherings SET due_at = due_at + '1 day'")
    events += [await trigger_one(storage, running(handler, job, flow_key=""))]
    clock.advance(timedelta(days=2))
    await spoil(stranger, events[0])

    assert not (await storage.events.due_gatherings(limit=10)).items

    await stranger.execute("DELETE FROM events WHERE id = $1", events[0].id)
    [item] = (await storage.events.due_gatherings(limit=10)).items
    assert [event.id for event in item.events] == [events[1].id]


async def test_lists_leave_out_what_cannot_be_read(storage: Storage, stranger: Stranger) -> None:
    handlers = [await a_stored_handler(storage) for _ in range(3)]
    events = [await trigger_one(storage) for _ in range(3)]
    await spoil(stranger, handlers[1])
    await spoil(stranger, events[1])

    listed = await storage.events.list(TENANT, EventFilter(limit=2))
    rest = await storage.events.list(TENANT, EventFilter(limit=2, cursor=listed.next_cursor))
    stored = await storage.events.stored(TENANT, since=START, until=AFTER, limit=1, after=events[0].id)
    kept = await storage.event_handlers.list(TENANT, EventHandlerFilter(limit=10))

    assert [event.id for event in (*listed.items, *rest.items)] == [events[2].id, events[0].id]
    assert [event.id for event in stored] == [events[2].id]
    assert [handler.id for handler in kept.items] == [handlers[0].id, handlers[2].id]


async def test_what_is_asked_for_by_its_id_and_cannot_be_read_is_said_to_be_so(
    storage: Storage, stranger: Stranger
) -> None:
    handler, event = await a_stored_handler(storage), await trigger_one(storage)
    await spoil(stranger, handler)
    await spoil(stranger, event)

    with pytest.raises(Conflict, match="cannot be read") as unread:
        await storage.event_handlers.get(TENANT, handler.id)
    with pytest.raises(Conflict, match="cannot be read"):
        await storage.event_handlers.change(TENANT, handler.id, lambda known, _: known)
    with pytest.raises(Conflict, match="cannot be read"):
        await storage.events.get(TENANT, event.id)
    with pytest.raises(Conflict, match="cannot be read"):
        await trigger(storage, heard(event))

    assert unread.value.existing_id == handler.id
    await storage.event_handlers.remove(TENANT, handler.id, job=decided(delete))
    assert not (await storage.event_handlers.list(TENANT, EventHandlerFilter())).total


async def test_a_replay_goes_past_an_event_that_cannot_be_read(storage: Storage, stranger: Stranger) -> None:
    job = await storage.jobs.add(an_event_job(concurrency=9))
    handler = await a_runner(storage, job)
    events = [await trigger_one(storage) for _ in range(3)]
    await spoil(stranger, events[0])

    stored = await storage.events.stored(TENANT, since=START, until=AFTER, limit=1)
    batch = [Resolved(event=event, matches=(running(handler, job),), replayed=True) for event in stored]
    fanned = await storage.events.revisit(batch, fanned_out)

    assert [each.event.id for each in fanned.events] == [events[1].id]
    assert told_by(handler, await storage.events.get(TENANT, events[1].id)).touch is Touch.ACTED
