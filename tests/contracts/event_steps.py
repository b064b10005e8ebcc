"""What tests of events do again and again."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from tests.contracts.steps import TENANT
from tests.makers import a_handler, an_event, fanned_out
from tocsin.domain.event import Event, EventHandler, RunJob
from tocsin.domain.fan_out import Decide
from tocsin.domain.flow import Gathering
from tocsin.domain.impact import HandlerImpact, Impact
from tocsin.domain.job import ScheduledJob
from tocsin.domain.resolution import Act, FannedOut, Match, Resolved, Run, Situation
from tocsin.ports.events import Fanned
from tocsin.ports.storage import Storage


class Deciding:
    """The real decision, which remembers what it was asked about."""

    def __init__(self) -> None:
        self.batches: list[list[UUID]] = []
        self.situations: list[Situation] = []

    def __call__(self, batch: Sequence[Resolved], situation: Situation) -> FannedOut:
        self.batches.append([each.event.id for each in batch])
        self.situations.append(situation)
        return fanned_out(batch, situation)


async def a_stored_handler(storage: Storage, **fields: object) -> EventHandler:
    """Store an event handler."""
    return await storage.event_handlers.add(a_handler(**fields), None)


async def a_runner(storage: Storage, job: ScheduledJob, **fields: object) -> EventHandler:
    """Store an event handler that runs a job."""
    return await a_stored_handler(storage, action=RunJob(job_id=job.id), **fields)


def heard(event: Event, *matches: Match) -> Resolved:
    """An event with those that would act upon it."""
    return Resolved(event=event, matches=matches)


def doing(handler: EventHandler, act: Act, **fields: object) -> Match:
    """A handler that would act so."""
    return Match(handler=handler, act=act, **fields)  # type: ignore[arg-type]  # fields of a match by their names


def running(handler: EventHandler, job: ScheduledJob, **fields: object) -> Match:
    """A handler that would run a job."""
    return doing(handler, Run(job_id=job.id, overlay=None, told={"event": {"name": "told"}}), **fields)


async def trigger(storage: Storage, *batch: Resolved, decide: Decide = fanned_out) -> Fanned:
    """Trigger events with the registry as it is."""
    registry = await storage.event_handlers.registry(None)
    assert registry is not None
    return await storage.events.trigger(batch, decide, revision=registry.revision)


async def trigger_one(storage: Storage, *matches: Match, **fields: object) -> Event:
    """Trigger one event and give it as it was stored."""
    fanned = await trigger(storage, heard(an_event(**fields), *matches))
    return fanned.events[0].event


def told_by(handler: EventHandler, event: Event) -> HandlerImpact:
    """What a handler made of an event."""
    assert event.impact is not None
    [told] = [each for each in event.impact.handlers if each.handler_id == handler.id]
    return told


async def impact_of(storage: Storage, event: Event) -> Impact:
    """Read what an event touched."""
    impact = (await storage.events.get(TENANT, event.id)).impact
    assert impact is not None
    return impact


async def due_gathering(storage: Storage) -> Gathering:
    """Read the one gathering that is due."""
    [due] = (await storage.events.due_gatherings(limit=10)).items
    return due.gathering
