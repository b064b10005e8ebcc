"""Retention: how long the ledger remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from ..domain.json import Json
from ..ports.ledger import Ledger, Purged
from ..ports.telemetry import Telemetry

KEEP: Final = timedelta(days=30)
NEWEST: Final = 100
BATCH: Final = 500
INTERVAL_SECONDS: Final = 3600.0
LEASE: Final = timedelta(hours=3)
"""Of the lock that has one node do it for all: two rounds may fail before another node takes over."""


@dataclass(slots=True, kw_only=True)
class Retention:
    """
    Removes ended executions that are older than `keep` and not among the `newest` of their job.

    Each batch is a transaction of its own, so that no fire waits for long. As a loop it goes through the whole past
    each hour, batch after batch.
    """

    ledger: Ledger
    telemetry: Telemetry
    keep: timedelta = KEEP
    newest: int = NEWEST
    _next: UUID | None = field(default=None, init=False)

    async def run_once(self) -> float | None:
        """Go through one batch; answer in how many seconds the next is due."""
        removed = await self.ledger.purge(keep=self.keep, newest=self.newest, limit=BATCH, after=self._next)
        self._next = removed.next
        if removed.executions or removed.jobs:
            self.telemetry.info("retention.removed", executions=removed.executions, jobs=removed.jobs)
        return INTERVAL_SECONDS if _is_last(removed) else 0.0

    async def run(self) -> dict[str, Json]:
        """Remove everything that may go; answer how much went."""
        executions = jobs = 0
        removed = Purged(executions=0, jobs=BATCH)
        while not _is_last(removed):
            removed = await self.ledger.purge(keep=self.keep, newest=self.newest, limit=BATCH, after=removed.next)
            executions += removed.executions
            jobs += removed.jobs
        return {"executions": executions, "jobs": jobs}


def _is_last(removed: Purged) -> bool:
    return removed.next is None and removed.jobs < BATCH
