"""The table of the outbox, with who listens to facts and how far its consumers have come."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from ...domain.errors import InvalidEvent
from ...domain.event import Event, EventHandler
from ...domain.facts import Interest, may_be_fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who listens to the facts of a tenant, or of all with None; `expires_at` is None for an event handler."""

    tenant_id: str | None
    pattern: str
    expires_at: datetime | None = None


class OutboxRows:
    """
    Events in the order in which they came, the first being number 1.

    A position is the number of the event that it lies behind, so 0 lies before everything.
    """

    def __init__(self) -> None:
        self._rows: deque[tuple[datetime, Event]] = deque()
        self._removed = 0
        self._listeners: dict[str | UUID, Listener] = {}
        self.consumers: dict[str, int] = {}

    @property
    def last(self) -> int:
        """Where the outbox ends."""
        return self._removed + len(self._rows)

    def interest(self, now: datetime) -> Interest:
        """Tell who listens; listeners whose lease is over are forgotten."""
        over = [name for name, each in self._listeners.items() if each.expires_at and each.expires_at <= now]
        for name in over:
            del self._listeners[name]
        return Interest(tuple((each.tenant_id, each.pattern) for each in self._listeners.values()))

    def listen(self, name: str, listener: Listener) -> None:
        """Let somebody listen."""
        self._listeners[name] = listener

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
        self._rows.append((now, event))

    def after(self, position: str | None) -> Iterator[tuple[int, Event]]:
        """
        Go through the events behind a position, each with its own.

        Raises:
            InvalidEvent: on field `position`.
        """
        start = self._removed if position is None else self.read_position(position)
        if start < self._removed:
            raise InvalidEvent.of("position", "what followed it is not kept any more")
        kept = islice(self._rows, start - self._removed, None)
        return ((number, event) for number, (_, event) in enumerate(kept, start + 1))

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

    def trim(self, *, before: datetime, limit: int) -> int:
        """Remove up to `limit` of the oldest that every consumer has passed."""
        passed = min(self.consumers.values(), default=self.last)
        most = min(limit, passed - self._removed)
        removed = 0
        while removed < most and self._rows[0][0] < before:
            self._rows.popleft()
            removed += 1
        self._removed += removed
        return removed
