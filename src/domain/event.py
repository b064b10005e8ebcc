"""A named fact with data that arrives from outside, and the standing rules about such facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

from .flow import FlowControl
from .impact import Impact
from .json import Json
from .trace import TraceContext

RESERVED: Final = "tocsin"
"""The first segment of the names of Tocsin's own facts; nobody else may publish any."""

DEPTH_LIMIT: Final = 16
"""How many events in a row may lead from one to the next; a chain that is longer stops, and says so."""


class EventOrigin(StrEnum):
    """By which way an event came in; `publish` is another handler's action, `fact` Tocsin's own word."""

    HTTP = "http"
    CLOUDEVENTS = "cloudevents"
    STREAM = "stream"
    IN_PROCESS = "in_process"
    PUBLISH = "publish"
    FACT = "fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """
    One event as it is kept.

    `name` has segments, split at `.` and `:`. `time` is when it happened by its source's word, `received_at` the
    store's clock. `depth` counts the events that led to it, `cause` is the execution or the event that it follows
    from. `trace` is the span that stands for it, under `parent_span_id`. `impact` is what it touched: None until it
    has been resolved.
    """

    id: UUID
    tenant_id: str
    name: str
    data: Json
    received_at: datetime
    time: datetime
    origin: EventOrigin
    trace: TraceContext
    parent_span_id: str | None = None
    source: str | None = None
    subject: str | None = None
    idempotency_key: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    correlation_id: str | None = None
    cause: UUID | None = None
    depth: int = 0
    impact: Impact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """
    An event as it is handed in; bounds are those of `domain.event_definition.validate_event`.

    `idempotency_key` (1..255 characters) tells repetitions apart: the same key of one tenant happens once. `time` is
    when it happened, now if None. `trace` is the span of whoever published it. `attributes` are kept and shown, such
    as the extensions of a CloudEvent.
    """

    name: str
    data: Json = None
    source: str | None = None
    subject: str | None = None
    time: datetime | None = None
    idempotency_key: str | None = None
    correlation_id: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    trace: TraceContext | None = None
    origin: EventOrigin = EventOrigin.IN_PROCESS


class EventHandlerMode(StrEnum):
    """Whether the call that triggers an event waits for what this handler makes of it."""

    ASYNC = "async"
    SYNC = "sync"


class JobKeyConflict(StrEnum):
    """
    What `create_job` does when a live job has the key: leave that one, or cancel it and make the new one.

    One that has ended makes room in either case: it is deleted, and its ledger stays.
    """

    KEEP = "keep"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """
    Run a job of the handler's tenant.

    `payload` is a template that is merged over the job's own payload: object into object, key by key, anything else
    replaces it. Without one, a job of type function, agent or workflow finds the event under `event` in its payload,
    and a job of type http or command, whose payload is the call itself, runs as it is.
    """

    job_id: UUID
    payload: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateJob:
    """
    Make a job that runs once, `delay_seconds` after the event was received.

    `job` holds the fields of its definition, templates where texts are, but for type, schedule and timezone. With a
    `key` among them a later event can find the job.
    """

    job: Mapping[str, Json]
    delay_seconds: int = 0
    on_conflict: JobKeyConflict = JobKeyConflict.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJobs:
    """Cancel the live jobs of the event's tenant that have this key, a template, or all of these tags."""

    key: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """
    Call a handler directly.

    The event handler has a job of its own for it, of type `event`, which goes where the event handler goes: so calls
    have slots, retries and a ledger like all other work. `payload` is as in `RunJob`; `options` are fields of the
    job's definition, such as max_retries, concurrency or timeout_ms; unless they say otherwise any number of calls runs
    at once. `job_id` is that job's, given by the store.
    """

    handler_name: str
    handler_type: str = "function"
    payload: Json = None
    options: Mapping[str, Json] = field(default_factory=dict)
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Publish another event of the same tenant; `name`, `subject` and `data` are templates."""

    name: str
    data: Json = None
    subject: str | None = None


Action: TypeAlias = RunJob | CreateJob | CancelJobs | Call | Publish

ACTION_TYPES: Final[Mapping[str, type[Action]]] = {
    "run_job": RunJob,
    "create_job": CreateJob,
    "cancel_jobs": CancelJobs,
    "call": Call,
    "publish": Publish,
}
"""How an action is named in documents and bodies."""

ACTION_NAMES: Final[Mapping[type[Action], str]] = {kind: name for name, kind in ACTION_TYPES.items()}


def action_name(action: Action) -> str:
    """Name an action as documents and bodies do."""
    return ACTION_NAMES[type(action)]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHandlerDefinition:
    """
    All that a user decides about an event handler: this event, this filter, this action.

    `event` is a pattern (`domain.patterns`); `filter` a CEL expression over `event`, true for what is acted upon.
    `key` names it for declarative use, unique per tenant. `every_tenant` has it see the events of all tenants; it
    acts in its own tenant for `run_job` and `call`, in the event's for everything else. Handlers of higher `priority`
    (0..100) act first. Bounds are those of `domain.event_definition.validate_handler`.
    """

    event: str
    action: Action
    name: str | None = None
    key: str | None = None
    filter: str | None = None
    mode: EventHandlerMode = EventHandlerMode.ASYNC
    priority: int = 50
    enabled: bool = True
    every_tenant: bool = False
    flow: FlowControl = field(default_factory=FlowControl)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerCounters:
    """
    What came of an event handler so far.

    `triggered` counts events whose name matched, `matched` those that it acted upon or holds; `succeeded` and
    `failed` its executions by how they ended, and what it refused counts as failed.
    """

    triggered: int = 0
    matched: int = 0
    succeeded: int = 0
    failed: int = 0
    last_triggered: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHandler:
    """An event handler: its definition, who it belongs to, and what came of it. `version` rises with each change."""

    id: UUID
    tenant_id: str
    definition: EventHandlerDefinition
    created_at: datetime
    updated_at: datetime
    created_by: str | None = None
    version: int = 1
    counters: HandlerCounters = field(default_factory=HandlerCounters)

    def sees(self, tenant_id: str) -> bool:
        """Tell whether events of a tenant are for this handler."""
        return self.definition.every_tenant or self.tenant_id == tenant_id
