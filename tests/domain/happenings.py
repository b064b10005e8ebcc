"""Events, event handlers and what they would do, as tests of a fan-out need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, cast
from uuid import UUID

from tests.domain.samples import at, count_id, moment
from tests.makers import a_definition
from tocsin.domain.event import (
    CancelJobs,
    Event,
    EventHandler,
    EventHandlerDefinition,
    EventOrigin,
    JobKeyConflict,
)
from tocsin.domain.fan_out import fan_out
from tocsin.domain.flow import FlowControl, FlowState
from tocsin.domain.impact import HandlerImpact
from tocsin.domain.job import JobType, ScheduledJob
from tocsin.domain.json import Json
from tocsin.domain.resolution import (
    Act,
    Announce,
    Cancel,
    Create,
    FannedOut,
    FlowKey,
    Match,
    Resolved,
    Run,
    Situation,
    is_meant,
    wanted,
)
from tocsin.domain.trace import trace_of

NOW: Final = 100.0
"""When batches are decided upon, in seconds after the start."""


def an_event(**fields: object) -> Event:
    """An order that was paid a second ago."""
    event_id = count_id(at(NOW))
    paid = Event(
        id=event_id,
        tenant_id="default",
        name="order.paid",
        data={"id": 7},
        received_at=at(NOW - 1),
        time=at(NOW - 2),
        origin=EventOrigin.HTTP,
        trace=trace_of(event_id),
    )
    return replace(paid, **cast("dict[str, Any]", fields))


def a_handler(flow: FlowControl | None = None, **fields: object) -> EventHandler:
    """A handler of orders; what it does is said by its matches."""
    definition = EventHandlerDefinition(event="order.*", action=CancelJobs(key="any"), flow=flow or FlowControl())
    handler = EventHandler(
        id=count_id(at(0)), tenant_id="default", definition=definition, created_at=at(0), updated_at=at(0)
    )
    return replace(handler, **cast("dict[str, Any]", fields))


def running(job: ScheduledJob, overlay: Json = None, told: Mapping[str, Json] | None = None) -> Run:
    """Run a job, told of an event."""
    return Run(job_id=job.id, overlay=overlay, told={"event": {"id": 7}} if told is None else told)


def making(*, delay: float = 0, on_conflict: JobKeyConflict = JobKeyConflict.KEEP, **fields: object) -> Create:
    """Make a job with the key `escalate`."""
    definition = a_definition(**{"type": JobType.EVENT, "schedule": None, "key": "escalate", **fields})
    return Create(definition=definition, delay=timedelta(seconds=delay), on_conflict=on_conflict)


def cancelling(key: str | None = "escalate", *tags: str) -> Cancel:
    """Cancel what has the key `escalate`."""
    return Cancel(tenant_id="default", key=key, tags=tags)


def announcing(name: str = "order.done") -> Announce:
    """Publish another event."""
    return Announce(name=name, data=None, subject=None)


def acting(*acts: Act | Match, event: Event | None = None) -> Resolved:
    """An event upon which so many handlers act, each one its own."""
    matches = tuple(
        act if isinstance(act, Match) else Match(handler=a_handler(), act=act, flow_key=None) for act in acts
    )
    return Resolved(event=event or an_event(), matches=matches)


def situation(
    batch: Sequence[Resolved],
    jobs: Sequence[ScheduledJob] = (),
    flows: Mapping[FlowKey, FlowState] | None = None,
    seconds: float = NOW,
) -> Situation:
    """What a store with these jobs would find."""
    want = wanted(batch)
    keyed = {(job.tenant_id, job.definition.handler_name, job.definition.key): job.id for job in jobs}
    return Situation(
        now=at(seconds),
        jobs={job.id: job for job in jobs},
        keyed={key: keyed[key] for key in want.keys if key in keyed},
        cancellable={
            cancel: [job.id for job in jobs if is_meant(job, cancel) and job.status in {"pending", "active", "paused"}]
            for cancel in want.cancels
        },
        flows=flows or {},
    )


def decided(*batch: Resolved, jobs: Sequence[ScheduledJob] = (), **found: Any) -> FannedOut:  # noqa: ANN401 - `situation`'s
    """What a batch of events comes to."""
    seconds = found.get("seconds", NOW)
    return fan_out(batch, situation(batch, jobs, **found), moment(seconds))


def impacts(decision: FannedOut) -> list[HandlerImpact]:
    """What each handler made of each event, in order."""
    return [told for event in decision.events if event.impact for told in event.impact.handlers]


def ids_of(jobs: Sequence[ScheduledJob]) -> list[UUID]:
    """Their ids."""
    return [job.id for job in jobs]
