"""The transactions of the protocol, over SQLite."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from ...domain.attempt import Attempt, Finish
from ...domain.json import encoded
from ...ports.dispatcher import Dispatch
from ...ports.ledger import (
    NOT_AHEAD,
    Finished,
    Fired,
    Hold,
    Lapse,
    Lease,
    LogLine,
    Planner,
    Progress,
    Purged,
    Ready,
    RecentLedgers,
    Sighting,
)
from . import attempts, audit, claiming, finishing, firing, recovery
from .database import Database
from .log_rows import log_line_row
from .statements import statements
from .transaction import Parameters, Transaction

_LEDGER: Final = statements("ledger")


class SqliteLedger:
    """Executions and jobs as the loops use them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._roll = audit.Roll()

    async def fire(self, planner: Planner, *, limit: int, ahead: timedelta = NOT_AHEAD) -> Fired:
        """Write the plans of jobs that are due, or about to be."""
        return await self._database.write(lambda transaction: firing.fire(transaction, planner, limit, ahead))

    async def claim(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        """Take pending, available executions for one worker."""
        return await self._database.write(lambda transaction: claiming.claim(transaction, ids, worker_id))

    async def claimed(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        """Tell which executions run under a worker."""
        return await self._database.watch(lambda transaction: attempts.claimed(transaction, ids, worker_id))

    async def renew(self, leases: Mapping[Hold, timedelta], *, worker_id: str) -> Sequence[Hold]:
        """Extend the leases of a worker."""
        return await self._database.write(lambda transaction: attempts.renew(transaction, leases, worker_id))

    async def stopped(self, holds: Sequence[Hold]) -> Sequence[Hold]:
        """Tell which attempts no longer run."""
        return await self._database.watch(lambda transaction: attempts.stopped(transaction, holds))

    async def finish(self, finishes: Sequence[Finish]) -> Finished:
        """Write how attempts ended."""
        return await self._database.write(lambda transaction: finishing.finish(transaction, finishes))

    async def release(self, holds: Sequence[Hold]) -> Sequence[Dispatch]:
        """Free the slots of ended executions."""
        return await self._database.write(lambda transaction: attempts.release(transaction, holds))

    async def lapsed(self, *, limit: int) -> Sequence[Lapse]:
        """List leases that the clock calls expired."""
        return await self._database.watch(lambda transaction: attempts.lapsed(transaction, limit))

    async def expired(self, holds: Sequence[Hold]) -> Sequence[Lease]:
        """Tell which of these holds the clock calls expired."""
        return await self._database.watch(lambda transaction: attempts.expired(transaction, holds))

    async def ready(self, *, limit: int) -> Ready:
        """Mark work that became available as dispatched."""
        return await self._database.write(lambda transaction: recovery.ready(transaction, limit))

    async def undelivered(
        self, *, capabilities: Collection[str] | None, grace: timedelta, limit: int, after: Sighting | None = None
    ) -> Sequence[tuple[Dispatch, datetime]]:
        """List dispatches that nobody has claimed for too long."""
        work = partial(recovery.undelivered, capabilities=capabilities, grace=grace, limit=limit, after=after)
        return await self._database.watch(work)

    async def redispatch(self, seen: Sequence[Sighting]) -> Sequence[Dispatch]:
        """Take the right to repeat dispatches that nobody else has repeated."""
        return await self._database.write(lambda transaction: recovery.redispatch(transaction, seen))

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        """Keep log lines."""
        rows = [log_line_row(line) for line in lines]
        await self._database.write(lambda transaction: transaction.run_many(_LEDGER["append_log"], rows))

    async def report(self, reports: Sequence[Progress]) -> None:
        """Show progress."""
        rows = [_progress_row(report) for report in reports]
        await self._database.write(lambda transaction: transaction.run_many(_LEDGER["report"], rows))

    async def recent_ledgers(self, *, since: datetime, limit: int, after: UUID | None = None) -> RecentLedgers:
        """Read the ledgers of jobs that may have fired since, which keeps nobody from writing."""
        return await self._database.search(
            lambda transaction: audit.recent_ledgers(transaction, self._roll, since=since, limit=limit, after=after),
        )

    async def recent_jobs(self, *, since: datetime, limit: int, after: UUID | None = None) -> Sequence[UUID]:
        """Tell whose ledgers those are."""
        return await self._database.search(
            lambda transaction: audit.recent_jobs(transaction, since, limit, after),
        )

    async def purge(self, *, keep: timedelta, newest: int, limit: int, after: UUID | None = None) -> Purged:
        """Remove what is old; looking for it, which may take long, keeps nobody from writing."""

        def remove(transaction: Transaction) -> Purged:
            return recovery.remove(transaction, found, keep, limit)

        found = await self._database.search(lambda transaction: recovery.past(transaction, keep, newest, limit, after))
        return await self._database.write(remove)


def _progress_row(report: Progress) -> Parameters:
    return {
        "id": str(report.execution_id),
        "attempt": report.attempt,
        "progress": encoded({"percent": report.percent, "message": report.message}),
    }
