"""The table of the outbox, with who listens to facts and how far its consumers have come."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, takewhile
from uuid import UUID

from ...domain.errors import InvalidEvent
from ...domain.event import Event, EventHandler
from ...domain.facts import Interest, may_be_fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """
    Who listens to the facts of a tenant, or of all with None, without a gap from the position `since` on.

    `expires_at` is None for an event handler.
    """

    tenant_id: str | None
    pattern: str
    expires_at: datetime | None = None
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """An event with its number, and when it came."""

    number: int
    at: datetime
    event: Event


class OutboxRows:
    """
    Events in the order in which they came, with rising numbers.

    A position is the number of the event that it lies behind, or one at which somebody began to listen; 0 lies before
    everything.
    """

    def __init__(self) -> None:
        self._rows: list[OutboxRow] = []
        self._removed = 0
        self.last = 0
        self._listeners: dict[str | UUID, Listener] = {}
        self.consumers: dict[str, int] = {}

    def interest(self, now: datetime) -> Interest:
        """Tell who listens; listeners whose lease is over are forgotten."""
        self._forget(now)
        return Interest(tuple((each.tenant_id, each.pattern) for each in self._listeners.values()))

    def listen(self, name: str, listener: Listener, now: datetime) -> int:
        """Let somebody listen, or go on; answer since which position without a gap."""
        self._forget(now)
        known = self._listeners.get(name)
        if known is None or (known.tenant_id, known.pattern) != (listener.tenant_id, listener.pattern):
            # A position of its own: before it there may have been what nobody kept.
            self.last += 1
            since = self.last
        else:
            since = known.since
        self._listeners[name] = replace(listener, since=since)
        return since

    def follow(self, handler: EventHandler) -> None:
        """Let an event handler listen as it is now, if it may hear of any fact."""
        self.unfollow(handler.id)
        definition = handler.definition
        if definition.enabled and may_be_fact(definition.event):
            tenant_id = None if definition.every_tenant else handler.tenant_id
            self._listeners[handler.id] = Listener(tenant_id=tenant_id, pattern=definition.event)

    def unfollow(self, handler_id: UUID) -> None:
        """Let an event handler listen no more."""
        self._listeners.pop(handler_id, None)

    def append(self, event: Event, now: datetime) -> None:
        """Add an event."""
        self.last += 1
        self._rows.append(OutboxRow(number=self.last, at=now, event=event))

    def after(self, position: str | None) -> Iterator[tuple[int, Event]]:
        """
        Go through the events behind a position, each with its own.

        Raises:
            InvalidEvent: on field `position`.
        """
        start = self._removed if position is None else self.read_position(position)
        if start < self._removed:
            raise InvalidEvent.of("position", "what followed it is not kept any more")
        first = bisect_right(self._rows, start, key=lambda row: row.number)
        return ((row.number, row.event) for row in islice(self._rows, first, None))

    def read_position(self, position: str) -> int:
        """
        Read a position.

        Raises:
            InvalidEvent: on field `position`, if it is none.
        """
        # As long as the longest that could ever be written; more digits are no number to Python.
        if not position.isascii() or not position.isdecimal() or len(position) > len(str(2**63)):
            raise InvalidEvent.of("position", "is not a position of the outbox")
        if int(position) > self.last:
            raise InvalidEvent.of("position", "lies behind the end of the outbox")
        return int(position)

    def advance(self, consumer: str, position: int) -> None:
        """Note how far a consumer has come; it never goes back."""
        self.consumers[consumer] = max(position, self.consumers.get(consumer, 0))

    def trim(self, *, before: datetime, limit: int, consumers: Collection[str]) -> int:
        """Remove up to `limit` of the oldest that each of these consumers has passed."""
        passed = min((self.consumers.get(consumer, 0) for consumer in consumers), default=self.last)
        gone = list(takewhile(lambda row: row.at < before and row.number <= passed, islice(self._rows, limit)))
        if gone:
            del self._rows[: len(gone)]
            self._removed = gone[-1].number
        return len(gone)

    def _forget(self, now: datetime) -> None:
        """Forget listeners whose lease is over."""
        over = [name for name, each in self._listeners.items() if each.expires_at and each.expires_at <= now]
        for name in over:
            del self._listeners[name]
