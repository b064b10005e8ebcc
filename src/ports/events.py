"""Events, the standing rules about them, and the outbox: at rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias
from uuid import UUID

from ..domain.event import Event, EventHandler
from ..domain.fan_out import Decide
from ..domain.flow import Gathering
from ..domain.job import ScheduledJob
from ..domain.plan import Plan
from ..domain.resolution import Resolved
from .dispatcher import Dispatch
from .queries import EventFilter, EventHandlerFilter
from .stores import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggered:
    """An event as it is stored; `is_duplicate` if it was there before, and nothing was done."""

    event: Event
    is_duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fanned:
    """
    What a batch of events came to, in its order.

    `dispatches` may be claimed now; `stopped` are running executions of jobs that were cancelled; `jobs` counts those
    made or cancelled, so that a timer should look again.
    """

    events: Sequence[Triggered]
    dispatches: Sequence[Dispatch]
    stopped: Sequence[UUID]
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DueGathering:
    """A gathering whose time has come, with its handler as it is now and its events, oldest first."""

    handler: EventHandler
    flow_key: str
    gathering: Gathering
    events: Sequence[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class DueGatherings:
    """
    A batch of them, earliest first.

    `next_due` is when the earliest beyond these is due, which lies in the past if more are; `now` the store's clock.
    """

    items: Sequence[DueGathering]
    next_due: datetime | None
    now: datetime


class EventStore(Protocol):
    """
    Events at rest. Every call is one transaction, and a fixed number of statements however large the batch is.

    Locks are taken in one order: keys of flow control, rows of jobs that may be cancelled, counters of jobs,
    executions, counters of event handlers; each by id.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline; nothing was changed.
    """

    async def trigger(self, batch: Sequence[Resolved], decide: Decide, *, revision: int) -> Fanned:
        """
        Store the events of a batch that are new, and all that they do.

        An event is not new if its id, or its tenant's idempotency key, is there already, or came earlier in the
        batch: then the stored one is answered and nothing done. Of the others what they want (`domain.resolution.
        wanted`) is locked and read, `decide` is asked once, and what it says is written: events with their impact,
        executions and cancellations with counters, slots and versions as `Ledger` and `JobStore` keep them, new jobs,
        keys of flow control, gatherings, counters of event handlers, and the outbox.

        Raises:
            HandlersChanged: the registry of event handlers is not at `revision` any more.
        """

    async def revisit(self, batch: Sequence[Resolved], decide: Decide, *, closes: Sequence[Gathering] = ()) -> Fanned:
        """
        Show stored events to handlers again: those of gatherings that are due, or of a replay.

        The events are locked, and given to `decide` as they are stored now with the matches of the batch; matches of
        a replayed event whose handler acted upon it, or holds it, already are left out first. A gathering in `closes`
        that has changed meanwhile or is gone, and the entries of the batch that close it, are left out too;
        what is closed is removed, and from the key whose open one it is. Otherwise as `trigger`; `Fanned.events` has
        what was shown, in order.
        """

    async def due_gatherings(self, *, limit: int) -> DueGatherings:
        """
        List gatherings with `due_at <= now`, with events of `GATHERED_BYTES` in all, or one gathering if it has more.

        One whose handler is disabled, or whose events are all gone, is dropped from the store. What cannot be read, be
        it a handler or an event, is passed over and left where it is: another version may read it.
        """

    async def get(self, tenant_id: str, event_id: UUID) -> Event:
        """
        Read one event.

        Raises:
            EventNotFound: this tenant has none of this id.
        """

    async def list(self, tenant_id: str, query: EventFilter) -> Page[Event]:
        """Read the events that match, newest first by (received_at, id)."""

    async def stored(
        self, tenant_id: str | None, *, since: datetime, until: datetime, limit: int, after: UUID | None = None
    ) -> Sequence[Event]:
        """
        Read events received in since <= received_at < until, oldest id first from behind `after` on, for a replay.

        Of one tenant, or of all with None.
        """

    async def purge(self, *, keep: timedelta, limit: int) -> int:
        """
        Remove up to `limit` events received longer ago, and keys of flow control that say nothing any more.

        Events that a gathering holds stay. Answers how many events went.
        """


GATHERED_BYTES = 16 * 1024 * 1024
"""How much data of events one look at due gatherings reads, in bytes of JSON."""


class HandlersChanged(Exception):
    """Event handlers were added, changed or removed since they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Every enabled event handler of every tenant, at one revision, which rises with each change of any."""

    revision: int
    handlers: Sequence[EventHandler]


HandlerChange: TypeAlias = Callable[[EventHandler, datetime], EventHandler]
JobDecision: TypeAlias = Callable[[ScheduledJob, datetime], Plan]


class EventHandlerStore(Protocol):
    """
    Event handlers at rest, each call scoped to one tenant and one transaction, but for `registry`.

    The action `call` has a job of its own, whose id is in the action as stored.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline; nothing was changed.
        EventHandlerNotFound: where one is named that this tenant does not have.
    """

    async def add(self, handler: EventHandler, job: ScheduledJob | None) -> EventHandler:
        """
        Insert a handler, and the job of its own if it has one.

        Raises:
            Conflict: another handler of this tenant has the key; `existing_id` names it.
        """

    async def get(self, tenant_id: str, handler_id: UUID) -> EventHandler:
        """Read one with its counters."""

    async def list(self, tenant_id: str, query: EventHandlerFilter) -> Page[EventHandler]:
        """Read the handlers of this tenant that match, by (priority descending, id)."""

    async def change(
        self,
        tenant_id: str,
        handler_id: UUID,
        change: HandlerChange,
        *,
        job: JobDecision | None = None,
        added: ScheduledJob | None = None,
        expected_version: int | None = None,
    ) -> EventHandler:
        """
        Lock a handler and write what `change` makes of it; `job` then decides about the job of its own that it had.

        `added` is the job of its own that it has from now on, where it had none.

        Raises:
            VersionConflict: the handler is not at `expected_version`.
            Conflict: the new key is another handler's.
            whatever `change` and `job` raise; nothing was changed.
        """

    async def remove(self, tenant_id: str, handler_id: UUID, *, job: JobDecision) -> None:
        """Remove a handler with its gatherings and keys; `job` decides about the job of its own, if it has one."""

    async def registry(self, known: int | None) -> Registry | None:
        """Read every enabled handler, unless the registry is at revision `known`: then None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """
    Events of the outbox in the order in which they were committed, up to what is certain to be complete.

    `positions` are where to go on behind each of them, and `position` behind all, also if there are none; text that
    only the store reads.
    """

    events: Sequence[Event]
    positions: Sequence[str]
    position: str


class Outbox(Protocol):
    """
    Events that Tocsin itself lets out: its own facts, and what handlers publish.

    The stores append in the transactions that make a fact, and only what somebody listens to: an event handler whose
    pattern could match, or a listener.

    A row that cannot be read is passed over, so that it holds up nothing behind it.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline; nothing was changed.
    """

    async def append(self, events: Sequence[Event]) -> None:
        """Add facts, those that somebody listens to."""

    async def read(self, *, after: str | None, limit: int, tenant_id: str | None = None) -> Outgoing:
        """
        Read from behind a position on, of one tenant or of all; from the oldest that is kept if None.

        Raises:
            InvalidEvent: on field `position`, if no store wrote it, or what stood there is gone already.
        """

    async def listen(
        self, name: str, *, tenant_id: str | None, pattern: str, lease: timedelta, after: str | None = None
    ) -> str:
        """
        Register a listener, or keep one, for a pattern of facts of one tenant or of all; answer the position now.

        Without renewal it lapses after `lease`. Every fact committed after this call, and before the lapse, is kept.
        A listener that is kept before it lapsed goes on listening since it began; any number of callers may share one.

        Raises:
            InvalidEvent: on field `position`, if nobody listened under this name at `after`, or has since without a
                gap, or no store wrote it. The listener is registered, or kept, all the same.
        """

    async def progress(self, consumer: str) -> str | None:
        """Tell up to which position a named consumer has come; None if it never said."""

    async def advance(self, consumer: str, position: str) -> None:
        """Note up to which position a named consumer has come; one that has come further stays there."""

    async def trim(self, *, keep: timedelta, limit: int, consumers: Collection[str]) -> int:
        """
        Remove up to `limit` that are older and that each of these consumers has passed.

        One that never said how far it has come has passed nothing; consumers of other names do not count.
        """
