"""The outbox, in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from itertools import islice

from ...domain.errors import InvalidEvent
from ...domain.event import Event
from ...ports.events import Outgoing
from .database import MemoryDatabase
from .documents import detached_event
from .outbox_rows import Listener


class MemoryOutbox:
    """Events that Tocsin itself lets out."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self._rows = database.outbox

    async def append(self, events: Sequence[Event]) -> None:
        """Add facts that somebody listens to."""
        now = self._database.now()
        interest = self._rows.interest(now)
        for event in events:
            if interest.wants(event.tenant_id, event.name):
                self._rows.append(detached_event(event), now)

    async def read(self, *, after: str | None, limit: int, tenant_id: str | None = None) -> Outgoing:
        """Read from behind a position on."""
        matching = ((number, each) for number, each in self._rows.after(after) if tenant_id in {None, each.tenant_id})
        found = list(islice(matching, limit))
        positions = [str(number) for number, _ in found]
        return Outgoing(
            events=[detached_event(event) for _, event in found],
            positions=positions,
            position=positions[-1] if len(found) == limit else str(self._rows.last),
        )

    async def listen(
        self, name: str, *, tenant_id: str | None, pattern: str, lease: timedelta, after: str | None = None
    ) -> str:
        """Register a listener, or keep one."""
        now = self._database.now()
        listener = Listener(tenant_id=tenant_id, pattern=pattern, expires_at=now + lease)
        since = self._rows.listen(name, listener, now)
        if after is not None and self._rows.read_position(after) < since:
            raise InvalidEvent.of("position", "nobody listened there, or not all the time since")
        return str(self._rows.last)

    async def progress(self, consumer: str) -> str | None:
        """Tell how far a consumer has come."""
        position = self._rows.consumers.get(consumer)
        return None if position is None else str(position)

    async def advance(self, consumer: str, position: str) -> None:
        """Note how far a consumer has come."""
        self._rows.advance(consumer, self._rows.read_position(position))

    async def trim(self, *, keep: timedelta, limit: int, consumers: Collection[str]) -> int:
        """Remove what is old and was read by each of these consumers."""
        return self._rows.trim(before=self._database.now() - keep, limit=limit, consumers=consumers)
