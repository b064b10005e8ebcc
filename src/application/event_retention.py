"""How long events, and what went through the outbox, are remembered."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ..ports.events import EventStore, Outbox
from ..ports.telemetry import Telemetry

INTERVAL_SECONDS: Final = 60.0
LEASE: Final = timedelta(minutes=5)
"""Of the lock that has one node do it for all."""

BATCH: Final = 500
OUTBOX_KEEP: Final = timedelta(hours=1)
"""How long what went out can be read again, by a follower that was away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRetention:
    """Removes events older than `keep`, and what all `consumers` have read from the outbox; a batch, a transaction."""

    events: EventStore
    outbox: Outbox
    telemetry: Telemetry
    keep: timedelta
    consumers: Collection[str]

    async def run_once(self) -> float | None:
        """Remove one batch of each; answer 0 if there may be more."""
        events = await self.events.purge(keep=self.keep, limit=BATCH)
        sent = await self.outbox.trim(keep=OUTBOX_KEEP, limit=BATCH, consumers=self.consumers)
        if events or sent:
            self.telemetry.debug("events.removed", events=events, sent=sent)
        return 0.0 if BATCH in {events, sent} else INTERVAL_SECONDS
