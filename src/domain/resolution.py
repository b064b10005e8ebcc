"""What is known of an event before a transaction: which handlers it concerns, and what each of them would do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from .event import Event, EventHandler, HandlerCounters, JobKeyConflict
from .flow import FlowState, Gathering
from .impact import HandlerImpact
from .job import JobDefinition, ScheduledJob
from .json import Json
from .plan import Plan

FlowKey: TypeAlias = tuple[UUID, str]
"""An event handler and a key of its flow control."""

JobKey: TypeAlias = tuple[str, str, str]
"""What no two live jobs share: tenant, handler_name and key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """
    Run a job: `overlay` is the rendered payload, None without a template; `told` is the event, or the events.

    `told` is `{"event": {…}}`, or `{"events": […]}` of a batch.
    """

    job_id: UUID
    overlay: Json
    told: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Make a one-time job of a rendered definition, whose schedule is yet to be set, after a delay."""

    definition: JobDefinition
    delay: timedelta
    on_conflict: JobKeyConflict


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Cancel the live jobs of a tenant that have the rendered key, or all of the tags."""

    tenant_id: str
    key: str | None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Publish another event."""

    name: str
    data: Json
    subject: str | None


Act: TypeAlias = Run | Create | Cancel | Announce


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """
    A handler that would act upon an event, and how.

    `flow_key` is None where no flow control applies: the handler has none, or the event waited or is replayed.
    `gathering` is what is closed by it.
    """

    handler: EventHandler
    act: Act
    flow_key: str | None = None
    gathering: Gathering | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """
    One event with what it would do, handlers in the order in which they act.

    `left_out` are handlers whose name matched and that do nothing; `others` counts those whose name did not match.
    An event that has an impact already is shown to more handlers, or to the handler that held it in `gathering`.
    """

    event: Event
    matches: tuple[Match, ...] = ()
    left_out: tuple[HandlerImpact, ...] = ()
    others: int = 0
    replayed: bool = False
    gathering: Gathering | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """
    What a store must read, and lock, for a batch of events before it can be decided upon.

    `jobs` are to be run: their counters; `cancels` may cancel jobs, and `keys` have them replaced: their rows too.
    """

    jobs: Collection[UUID]
    cancels: Collection[Cancel]
    keys: Collection[JobKey]
    flows: Collection[FlowKey]


def wanted(batch: Iterable[Resolved]) -> Wanted:
    """Say what a batch of events concerns."""
    pairs = [(resolved.event, match) for resolved in batch for match in resolved.matches]
    acts = [(event, match.act) for event, match in pairs]
    return Wanted(
        jobs={act.job_id for _, act in acts if isinstance(act, Run)},
        cancels={act for _, act in acts if isinstance(act, Cancel)},
        keys={key for event, act in acts if isinstance(act, Create) and (key := job_key(event.tenant_id, act))},
        flows={(match.handler.id, match.flow_key) for _, match in pairs if match.flow_key is not None},
    )


def job_key(tenant_id: str, act: Create) -> JobKey | None:
    """Tell under which key a job would be made; None if it would have none."""
    key = act.definition.key
    return None if key is None else (tenant_id, act.definition.handler_name, key)


def is_meant(job: ScheduledJob, cancel: Cancel) -> bool:
    """Tell whether a cancel is about a job, whatever has become of that."""
    definition = job.definition
    if job.tenant_id != cancel.tenant_id:
        return False
    if cancel.key is not None and definition.key != cancel.key:
        return False
    return bool(cancel.key or cancel.tags) and set(cancel.tags) <= set(definition.tags)


def shown_again(resolved: Resolved, stored: Event) -> Resolved:
    """
    Give an entry of a revisit its event as that is stored now.

    Of a replay without the handlers that acted upon it, or hold it, already.
    """
    if not resolved.replayed:
        return replace(resolved, event=stored)
    told = stored.impact.handlers if stored.impact is not None else ()
    done = {each.handler_id for each in told if each.touch.is_match}
    return replace(
        resolved,
        event=stored,
        matches=tuple(match for match in resolved.matches if match.handler.id not in done),
        left_out=tuple(each for each in resolved.left_out if each.handler_id not in done),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """
    What a store found of the `Wanted`, at its now.

    `jobs` holds every job named below by its id, none deleted. `keyed` are those that have a key, neither deleted
    nor cancelled; `cancellable` those that a cancel is about: pending, active or paused.
    """

    now: datetime
    jobs: Mapping[UUID, ScheduledJob] = field(default_factory=dict)
    keyed: Mapping[JobKey, UUID] = field(default_factory=dict)
    cancellable: Mapping[Cancel, Sequence[UUID]] = field(default_factory=dict)
    flows: Mapping[FlowKey, FlowState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A gathering as it stands now, of which handler and key and in whose tenant's name."""

    handler_id: UUID
    flow_key: str
    tenant_id: str
    gathering: Gathering


@dataclass(frozen=True, slots=True, kw_only=True)
class FannedOut:
    """
    What a batch of events comes to; a store writes all of it, or nothing.

    `events` have their impact; `plans` follow one another, and come before `created`, which may take a key that one
    of them sets free; `flows` and `held` replace what is stored; `published` goes to the outbox; `counts` is added to
    the counters of handlers, `last_triggered` replaced.
    """

    events: Sequence[Event]
    plans: Sequence[Plan]
    created: Sequence[ScheduledJob]
    flows: Mapping[FlowKey, FlowState]
    held: Sequence[Held]
    published: Sequence[Event]
    counts: Mapping[UUID, HandlerCounters]
