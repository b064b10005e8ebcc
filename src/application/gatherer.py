"""The gatherer: the loop that acts upon events which event handlers held, once their time has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..domain.resolution import Resolved
from ..ports.events import DueGathering, EventStore
from .events import Events
from .resolver import Resolver

BATCH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatherer:
    """Acts upon what is due. Any number of gatherers may run at once: the store decides who closes what."""

    store: EventStore
    resolver: Resolver
    events: Events
    batch: int = BATCH

    async def run_once(self) -> float | None:
        """Act upon one batch of gatherings; answer in how many seconds the next is due."""
        due = await self.store.due_gatherings(limit=self.batch)
        if due.items:
            resolved = [await self._resolved(item) for item in due.items]
            await self.events.revisit(resolved, closes=[item.gathering for item in due.items])
        return None if due.next_due is None else (due.next_due - due.now).total_seconds()

    async def _resolved(self, item: DueGathering) -> Resolved:
        return await self.resolver.gathered(item.handler, item.gathering, item.events)
