"""What somebody else wrote about events and nobody here can read: it is passed over, and stays for who can."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from tests.contracts.event_steps import a_runner, a_stored_handler, heard, running, trigger, trigger_one
from tests.contracts.steps import TENANT, an_idle_job
from tests.makers import START, an_event, decided, fanned_out
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import Conflict, EventNotFound
from tocsin.domain.event import Event, EventHandler
from tocsin.domain.facts import NODE_LOST, fact_of_node
from tocsin.domain.flow import Batch, FlowControl
from tocsin.domain.job import ScheduledJob
from tocsin.domain.lifecycle import delete
from tocsin.ports.queries import EventFilter, EventHandlerFilter
from tocsin.ports.storage import Storage

LEASE = timedelta(hours=1)
UNREADABLE_EVENTS = {
    "an impact of the next version": """impact = '{"handlers": [{"touch": "of the next version"}]}'""",
    "an impact that is no object": "impact = '[]'",
    "attributes that are none": "attributes = '7'",
    "a time that is none": "occurred_at = 'yesterday'",
    "a time beyond all times": "occurred_at = 9223372036854775807",
    "a cause that is none": "cause = 'chance'",
}
UNREADABLE_HANDLERS = {
    "a word of the next version": "json_set(definition, '$.mode', 'of the next version')",
    "no object": "'[]'",
    "a number for a word": "json_set(definition, '$.event', 7)",
}


def damage(stranger: sqlite3.Connection, event_id: UUID, expression: str = "impact = '7'") -> None:
    stranger.execute(f"UPDATE events SET {expression} WHERE id = ?", (str(event_id),))  # noqa: S608 - ours


def damage_handler(stranger: sqlite3.Connection, handler: EventHandler, expression: str = "'[]'") -> None:
    statement = f"UPDATE event_handlers SET definition = {expression} WHERE id = ?"  # noqa: S608 - ours
    stranger.execute(statement, (str(handler.id),))


async def lose(storage: Storage, *subjects: str) -> None:
    facts = (fact_of_node(NODE_LOST, {}, TENANT, subject=subject, now=START) for subject in subjects)
    await storage.outbox.append(list(facts))


async def a_gathering_handler(storage: Storage) -> tuple[EventHandler, ScheduledJob]:
    job = await an_idle_job(storage, concurrency=9)
    return await a_runner(storage, job, flow=FlowControl(batch=Batch(size=9, seconds=10))), job


async def hold(storage: Storage, handler: EventHandler, job: ScheduledJob, key: str = "") -> Event:
    return await trigger_one(storage, running(handler, job, flow_key=key))


@pytest.mark.parametrize("document", ["{}", "[]", "7", '{"origin": "of the next version"}'])
async def test_a_row_of_the_outbox_that_cannot_be_read_holds_up_nothing(
    storage: Storage, stranger: sqlite3.Connection, document: str
) -> None:
    start = await storage.outbox.listen("test", tenant_id=None, pattern="tocsin.**", lease=LEASE)
    await lose(storage, *"abcde")
    stranger.execute(
        "UPDATE outbox SET event = ? WHERE json_extract(event, '$.subject') IN ('b', 'c', 'd')", (document,)
    )

    whole = await storage.outbox.read(after=start, limit=10)
    pages = [await storage.outbox.read(after=start, limit=2)]
    while pages[-1].events:
        pages.append(await storage.outbox.read(after=pages[-1].position, limit=2))

    assert [event.subject for event in whole.events] == ["a", "e"]
    assert [event.subject for page in pages for event in page.events] == ["a", "e"]
    assert len(whole.positions) == 2
    rest = await storage.outbox.read(after=whole.positions[0], limit=10, tenant_id=TENANT)
    assert [event.subject for event in rest.events] == ["e"]
    assert pages[-1].position == whole.position
    assert stranger.execute("SELECT count(*) FROM outbox").fetchone() == (5,)


@pytest.mark.parametrize("expression", UNREADABLE_EVENTS.values(), ids=UNREADABLE_EVENTS)
async def test_an_event_that_cannot_be_read_is_left_out_of_every_list(
    storage: Storage, stranger: sqlite3.Connection, expression: str
) -> None:
    events = [await trigger_one(storage) for _ in range(6)]
    for event in events[1:4]:
        damage(stranger, event.id, expression)
    sound = [events[0].id, events[4].id, events[5].id]
    query = EventFilter(limit=2)
    found: list[UUID] = []

    while True:
        page = await storage.events.list(TENANT, query)
        found += [event.id for event in page.items]
        if page.next_cursor is None:
            break
        query = replace(query, cursor=page.next_cursor)
    first = await storage.events.stored(None, since=START, until=START + LEASE, limit=1)
    rest = await storage.events.stored(None, since=START, until=START + LEASE, limit=1, after=first[0].id)

    assert found == sound[::-1]
    assert [event.id for event in (*first, *rest)] == sound[:2]
    with pytest.raises(Conflict, match="cannot be read"):
        await storage.events.get(TENANT, events[1].id)
    with pytest.raises(EventNotFound):
        await storage.events.get("another", events[1].id)


async def test_an_event_that_comes_again_and_cannot_be_read_hinders_no_other(
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    known = await trigger_one(storage)
    damage(stranger, known.id)

    fanned = await trigger(storage, heard(known), heard(an_event()))

    assert [each.is_duplicate for each in fanned.events] == [True, False]
    assert fanned.events[0].event.id == known.id


@pytest.mark.parametrize("expression", UNREADABLE_HANDLERS.values(), ids=UNREADABLE_HANDLERS)
async def test_a_handler_that_cannot_be_read_is_left_out_of_the_list_and_can_be_removed(
    storage: Storage, stranger: sqlite3.Connection, expression: str
) -> None:
    damaged, sound = [await a_stored_handler(storage) for _ in range(2)]
    damage_handler(stranger, damaged, expression)

    listed = await storage.event_handlers.list(TENANT, EventHandlerFilter())
    with pytest.raises(Conflict, match="cannot be read") as unread:
        await storage.event_handlers.get(TENANT, damaged.id)
    with pytest.raises(Conflict, match="cannot be read"):
        await storage.event_handlers.change(TENANT, damaged.id, lambda handler, _: handler)
    await storage.event_handlers.remove(TENANT, damaged.id, job=decided(delete))

    assert unread.value.existing_id == damaged.id
    assert list(listed.items) == [sound]
    assert (await storage.event_handlers.list(TENANT, EventHandlerFilter())).total == 1


async def test_what_is_due_and_cannot_be_read_waits_and_holds_up_nothing(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    (lost, lost_job), (sound, job) = [await a_gathering_handler(storage) for _ in range(2)]
    for number in range(3):
        await hold(storage, lost, lost_job, f"{number}")
    partly = [await hold(storage, sound, job, "partly") for _ in range(2)]
    damage_handler(stranger, lost)
    damage(stranger, partly[0].id)
    clock.advance(5)
    whole = [await hold(storage, sound, job, key) for key in "ab"]
    clock.advance(5)

    early = await storage.events.due_gatherings(limit=1)
    clock.advance(5)
    first = await storage.events.due_gatherings(limit=1)
    both = await storage.events.due_gatherings(limit=2)

    assert (list(early.items), early.next_due) == ([], START + timedelta(seconds=15))
    assert [list(item.events) for item in first.items] == [whole[:1]]
    assert first.next_due == clock.now()
    assert [list(item.events) for item in both.items] == [[event] for event in whole]
    assert both.next_due is None
    assert stranger.execute("SELECT count(*) FROM event_gatherings").fetchone() == (6,)


async def test_what_could_not_be_read_is_acted_upon_once_it_can(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    handler, job = await a_gathering_handler(storage)
    event = await hold(storage, handler, job)
    [(impact,)] = stranger.execute("SELECT impact FROM events").fetchall()
    damage(stranger, event.id)
    clock.advance(10)
    assert not (await storage.events.due_gatherings(limit=10)).items

    stranger.execute("UPDATE events SET impact = ?", (impact,))

    [item] = (await storage.events.due_gatherings(limit=10)).items
    assert list(item.events) == [event]


async def test_a_gathering_whose_events_are_gone_is_dropped(
    storage: Storage, stranger: sqlite3.Connection, clock: ManualClock
) -> None:
    handler, job = await a_gathering_handler(storage)
    events = [await hold(storage, handler, job, key) for key in "aab"]
    stranger.execute("DELETE FROM events WHERE id <> ?", (str(events[0].id),))
    clock.advance(10)

    due = await storage.events.due_gatherings(limit=10)

    assert [list(item.events) for item in due.items] == [events[:1]]
    assert due.next_due is None
    assert stranger.execute("SELECT count(*) FROM event_gatherings").fetchone() == (1,)


async def test_an_event_that_cannot_be_read_is_shown_to_nobody_and_hinders_no_other(
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    job = await an_idle_job(storage, concurrency=9)
    handler = await a_runner(storage, job)
    events = [await trigger_one(storage) for _ in range(2)]
    damage(stranger, events[0].id)

    again = [replace(heard(event, running(handler, job)), replayed=True) for event in events]
    fanned = await storage.events.revisit(again, fanned_out)

    assert [each.event.id for each in fanned.events] == [events[1].id]
