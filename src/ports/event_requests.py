"""What callers hand to the scheduler about events, and what they are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypedDict
from uuid import UUID

from ..domain.event import Action, Event, EventHandlerMode
from ..domain.execution import JobExecution
from ..domain.flow import FlowControl
from ..domain.json import Json
from ..domain.trace import TraceContext

EVENTS_BOUNDS: Final = (1, 1000)


class EventOptions(TypedDict, total=False):
    """What may come with an event beside its name and data (`domain.event.NewEvent`)."""

    source: str | None
    subject: str | None
    time: datetime | None
    idempotency_key: str | None
    correlation_id: str | None
    attributes: Mapping[str, Json]
    trace: TraceContext | None


class EventHandlerChanges(TypedDict, total=False):
    """The fields of an event handler's definition that an update may name."""

    event: str
    action: Action
    name: str | None
    key: str | None
    filter: str | None
    mode: EventHandlerMode
    priority: int
    enabled: bool
    flow: FlowControl


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcome:
    """
    What came of triggering one event.

    `matched` counts the handlers that acted or hold it, `execution_ids` what runs, or will run, because of it, in the
    order in which the handlers acted. `is_duplicate` says that it had been triggered before, and nothing was done.
    `outcomes` are the executions of `sync` handlers as they ended, or as they stood when the wait was over.
    """

    event_id: UUID
    matched: int
    execution_ids: Sequence[UUID]
    is_duplicate: bool = False
    outcomes: Sequence[JobExecution] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReport:
    """An event with its impact, and the executions that came of it and are still kept, the first 250 of them."""

    event: Event
    executions: Sequence[JobExecution]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """
    What showing past events to a handler came to, or would come to if `is_dry_run`.

    Of `seen` events whose name matched, `acted` were acted upon, `filtered` and `refused` not, and `known` had been
    acted upon by the handler before. `event_ids` are the first 100 acted upon, `reasons` says what was refused, and
    how often.
    """

    handler_id: UUID
    is_dry_run: bool
    seen: int
    acted: int
    filtered: int
    refused: int
    known: int
    event_ids: Sequence[UUID]
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterTrial:
    """
    What a pattern and a filter make of one event: whether it `matches` both.

    `name_matches` is the pattern's word alone; `result` is what the filter comes to, None where it failed. `error` says
    why it did, or that `result` is neither true nor false, or that one of the two is malformed.
    """

    matches: bool
    name_matches: bool
    result: Json
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedItem:
    """One of Tocsin's own facts as it happened; `position` is where to go on behind it. No fact: only a position."""

    position: str
    fact: Event | None
