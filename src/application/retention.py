"""Retention: how long the ledger remembers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ..domain.json import Json
from ..ports.ledger import Ledger, Purged
from ..ports.telemetry import Telemetry

KEEP: Final = timedelta(days=30)
NEWEST: Final = 100
BATCH: Final = 500
INTERVAL_SECONDS: Final = 3600.0
LEASE: Final = timedelta(hours=3)
"""Of the lock that has one node do it for all: two rounds may fail before another node takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """
    Removes ended executions that are older than `keep` and not among the `newest` of their job.

    Each batch is a transaction of its own, so that no fire waits for long. As a loop it removes a batch
    each hour, and goes on at once while there is more.
    """

    ledger: Ledger
    telemetry: Telemetry
    keep: timedelta = KEEP
    newest: int = NEWEST

    async def run_once(self) -> float | None:
        """Remove one batch; answer in how many seconds the next is due."""
        removed = await self.ledger.purge(keep=self.keep, newest=self.newest, limit=BATCH)
        if removed.executions or removed.jobs:
            self.telemetry.info("retention.removed", executions=removed.executions, jobs=removed.jobs)
        return INTERVAL_SECONDS if _is_last(removed) else 0.0

    async def run(self) -> dict[str, Json]:
        """Remove everything that may go; answer how much went."""
        executions = jobs = 0
        while True:
            removed = await self.ledger.purge(keep=self.keep, newest=self.newest, limit=BATCH)
            executions += removed.executions
            jobs += removed.jobs
            if _is_last(removed):
                return {"executions": executions, "jobs": jobs}


def _is_last(removed: Purged) -> bool:
    return max(removed.executions, removed.jobs) < BATCH
