"""Following: what happens is told as it happens, by reading on from where the reader stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from ..domain.facts import EVERY_FACT
from ..domain.patterns import matches
from ..ports.clock import Clock
from ..ports.event_requests import FeedItem
from ..ports.events import Outbox
from ..ports.ledger import LogLine
from ..ports.stores import ExecutionStore

LEASE: Final = timedelta(seconds=120)
"""How long facts are kept for a follower that went away, so that it may come back and go on where it was."""

TELL_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 0.5
PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Reads on for one caller."""

    outbox: Outbox
    executions: ExecutionStore
    clock: Clock

    async def facts(self, tenant_id: str, *, after: str | None) -> AsyncIterator[FeedItem]:
        """Tell a tenant's own facts as they happen (`IScheduler.watch`)."""
        now_at, told_at = await self._listen(tenant_id, after), self.clock.monotonic()
        position = now_at if after is None else after
        # Read before anything is told, so that a position that is gone is the first thing that a caller hears of.
        outgoing = await self.outbox.read(after=position, limit=PAGE, tenant_id=tenant_id)
        yield FeedItem(position=position, fact=None)
        while True:
            for behind, event in zip(outgoing.positions, outgoing.events, strict=True):
                if matches(EVERY_FACT, event.name):
                    yield FeedItem(position=behind, fact=event)
            position = outgoing.position
            if self.clock.monotonic() - told_at >= TELL_SECONDS:
                await self._listen(tenant_id, position)
                told_at = self.clock.monotonic()
                yield FeedItem(position=position, fact=None)
            if not outgoing.events:
                await asyncio.sleep(LOOK_SECONDS)
            outgoing = await self.outbox.read(after=position, limit=PAGE, tenant_id=tenant_id)

    async def _listen(self, tenant_id: str, after: str | None) -> str:
        """
        Have facts kept from now on; answer the position now.

        All followers of a tenant are one listener, so that whoever comes back goes on where any of them kept on.

        Raises:
            InvalidEvent: on field `position`, if facts behind `after` may be missing.
        """
        name = f"watch {tenant_id}"
        return await self.outbox.listen(name, tenant_id=tenant_id, pattern=EVERY_FACT, lease=LEASE, after=after)

    async def log_lines(self, tenant_id: str, execution_id: UUID, *, after: int) -> AsyncIterator[LogLine]:
        """Tell what a handler logs as it comes, until its execution has ended (`IScheduler.follow_execution_logs`)."""
        while True:
            # Asked before the lines are read: what an ended execution has said is there.
            has_ended = (await self.executions.get(tenant_id, execution_id)).status.terminal
            page = await self.executions.logs(tenant_id, execution_id, after=after, limit=PAGE)
            for line in page.items:
                after += 1
                yield line
            if not page.items:
                if has_ended:
                    return
                await asyncio.sleep(LOOK_SECONDS)
