"""The transactions of the protocol, over PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

import asyncpg

from ...domain.attempt import Attempt, Finish
from ...domain.errors import StoreUnavailable
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
from . import attempts, audit, finishing, firing, good_ends, last_ends, log_rows, recovery
from .claims import Claims
from .database import Database
from .entries import hold_of
from .frontier import NOTED_MARGIN, Frontier
from .plans import write_plans
from .races import with_jobs_locked
from .statements import statements
from .transaction import Transaction

T = TypeVar("T")

_LEDGER: Final = statements("ledger")


class PostgresLedger:
    """Executions and jobs as the loops use them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._due = Frontier("due")
        self._dispatched = Frontier("dispatched", NOTED_MARGIN)
        self._claimed = Frontier("claimed", NOTED_MARGIN)
        self._claims = Claims()
        self._ended_well: set[Hold] = set()

    async def fire(self, planner: Planner, *, limit: int, ahead: timedelta = NOT_AHEAD) -> Fired:
        """Write the plans of jobs that are due, or about to be."""
        begins: list[datetime] = []

        async def look_and_write(write: firing.Writer, transaction: Transaction) -> tuple[firing.Look, datetime]:
            if not begins:
                begins.append(await self._due.since(transaction))
            [since] = begins
            look = await firing.fire(transaction, planner, since=since, ahead=ahead, limit=limit, write=write)
            await self._due.tell(transaction, look.fired.next_due)
            return look, since

        try:
            look, since = await self._database.write(partial(look_and_write, firing.written_unseen))
        except asyncpg.UniqueViolationError:
            look, since = await self._database.write(partial(look_and_write, write_plans))
        self._due.move(look.fired.next_due, look.fired.now)
        if look.passed_over is None:
            return look.fired
        one = partial(firing.fire_one, planner=planner, job_id=look.passed_over, since=since)
        try:
            return firing.joined(look.fired, await self._database.write(one))
        except StoreUnavailable:
            # What was fired is committed and must be handed on; the job stays due.
            return look.fired

    async def claim(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        """Take pending, available executions for one worker."""
        return await attempts.claim(self._database, self._claims, ids, worker_id)

    async def claimed(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        """Tell which executions run under a worker."""
        return await attempts.claimed(self._database, ids, worker_id)

    async def renew(self, leases: Mapping[Hold, timedelta], *, worker_id: str) -> Sequence[Hold]:
        """Extend the leases of a worker."""
        gone = await attempts.renew(self._database, leases, worker_id)
        self._claims.forget(gone)
        return gone

    async def stopped(self, holds: Sequence[Hold]) -> Sequence[Hold]:
        """Tell which attempts no longer run."""
        return await attempts.stopped(self._database, holds)

    async def finish(self, finishes: Sequence[Finish]) -> Finished:
        """Write how attempts ended: first those that end well and quietly, in one round trip, then the others."""
        well = await self._finished_well(self._unwritten(finishes))
        if len(well) == len(finishes):
            return Finished(rejected=[], dispatches=[])
        # If the others fail, the caller repeats the call.
        self._ended_well |= well
        others = self._unwritten(finishes)
        finished = await self._finished(others) if others else Finished(rejected=[], dispatches=[])
        self._ended_well.difference_update(map(hold_of, finishes))
        self._claims.let_go(finishing.let_go(others, finished))
        self._claims.forget(finished.rejected)
        return finished

    def _unwritten(self, finishes: Sequence[Finish]) -> Sequence[Finish]:
        if not self._ended_well:
            return finishes
        return [each for each in finishes if hold_of(each) not in self._ended_well]

    async def _finished_well(self, finishes: Sequence[Finish]) -> AbstractSet[Hold]:
        last = [each for each in finishes if each.is_of_one_time]
        if not last:
            return await self._written(good_ends.finish(self._database, finishes))
        completing = await self._written(last_ends.finish(self._database, last))
        if len(last) == len(finishes):
            return completing
        # If the others fail, the caller repeats the call.
        self._ended_well |= completing
        others = [each for each in finishes if not each.is_of_one_time]
        well = completing | await self._written(good_ends.finish(self._database, others))
        self._ended_well -= completing
        return well

    async def _written(self, ends: Awaitable[AbstractSet[Hold]]) -> AbstractSet[Hold]:
        try:
            written = await ends
        except finishing.REFUSALS:
            # Whose content it is that cannot be kept is for the others' way to find out.
            return frozenset()
        self._claims.let_go(written)
        return written

    async def _finished(self, finishes: Sequence[Finish]) -> Finished:
        """Write ends whatever follows from them; what is refused costs the others a second try."""
        work = partial(finishing.finish, finishes=finishes)
        try:
            return await self._ended(partial(work, write=finishing.written_together))
        except finishing.REFUSALS:
            return await self._ended(partial(work, write=finishing.written_apart))

    async def release(self, holds: Sequence[Hold]) -> Sequence[Dispatch]:
        """Free the slots of ended executions."""
        if not holds:
            return []
        released, dispatches = await self._ended(partial(attempts.release, holds=holds))
        self._claims.let_go(released)
        return dispatches

    async def lapsed(self, *, limit: int) -> Sequence[Lapse]:
        """List leases that the clock calls expired."""
        return await self._database.write(partial(attempts.lapsed, frontier=self._claimed, limit=limit))

    async def expired(self, holds: Sequence[Hold]) -> Sequence[Lease]:
        """Tell which of these holds the clock calls expired."""
        return await attempts.expired(self._database, holds)

    async def ready(self, *, limit: int) -> Ready:
        """Mark work that became available as dispatched."""
        return await self._database.write(lambda transaction: recovery.ready(transaction, limit))

    async def undelivered(
        self, *, capabilities: Collection[str] | None, grace: timedelta, limit: int, after: Sighting | None = None
    ) -> Sequence[tuple[Dispatch, datetime]]:
        """List dispatches that nobody has claimed for too long."""
        undelivered = partial(recovery.undelivered, capabilities=capabilities, grace=grace, limit=limit, after=after)
        return await self._database.write(partial(undelivered, frontier=self._dispatched))

    async def redispatch(self, seen: Sequence[Sighting]) -> Sequence[Dispatch]:
        """Take the right to repeat dispatches that nobody else has repeated."""
        return await self._database.write(lambda transaction: recovery.redispatch(transaction, seen)) if seen else []

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        """Keep log lines."""
        rows = [log_rows.log_line_row(line) for line in lines]
        await self._database.write(lambda transaction: transaction.run_for(_LEDGER["append_logs"], rows))

    async def report(self, reports: Sequence[Progress]) -> None:
        """Show progress."""
        await self._database.write(lambda transaction: log_rows.report(transaction, reports))

    async def recent_ledgers(self, *, since: datetime, limit: int, after: UUID | None = None) -> RecentLedgers:
        """Read the ledgers of jobs that may have fired since."""
        return await self._database.read(lambda transaction: audit.recent_ledgers(transaction, since, limit, after))

    async def recent_jobs(self, *, since: datetime, limit: int, after: UUID | None = None) -> Sequence[UUID]:
        """Tell whose ledgers those are."""
        return await self._database.read(lambda transaction: audit.recent_jobs(transaction, since, limit, after))

    async def purge(self, *, keep: timedelta, newest: int, limit: int, after: UUID | None = None) -> Purged:
        """Remove what is old; looking for it, which may take long, locks nothing."""
        found = await self._database.read(lambda transaction: recovery.past(transaction, keep, newest, limit, after))
        return await self._database.write(lambda transaction: recovery.remove(transaction, found, keep, limit))

    async def _ended(self, work: Callable[..., Awaitable[T]]) -> T:
        """Run what ends executions, again with a job locked if that turns out to be needed."""
        return await with_jobs_locked(lambda locked: self._database.write(partial(work, locked=locked)))
