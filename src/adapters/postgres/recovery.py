"""What the sweeper finds and repeats: due retries, lost dispatches, what retention removes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Final
from uuid import UUID

from ...ports.dispatcher import Dispatch
from ...ports.ledger import Purged, Ready, Sighting
from .accounts import read_dispatches
from .database import Database
from .execution_rows import dispatch_of
from .statements import statements
from .transaction import Transaction

_LEDGER: Final = statements("ledger")
_BEFORE_ALL: Final = (UUID(int=0), datetime.min.replace(tzinfo=UTC))


async def ready(transaction: Transaction, limit: int) -> Ready:
    """Mark work that became available as dispatched."""
    marked = await transaction.rows(_LEDGER["mark_ready"], now=transaction.now, limit=limit)
    [following] = await transaction.column(_LEDGER["next_available"])
    ids = [row["id"] for row in sorted(marked, key=itemgetter("available_at", "id"))]
    return Ready(dispatches=await read_dispatches(transaction, ids), next_available_at=following, now=transaction.now)


async def undelivered(
    database: Database, *, capabilities: Collection[str] | None, grace: timedelta, limit: int, after: Sighting | None
) -> Sequence[tuple[Dispatch, datetime]]:
    """List dispatches that nobody has claimed for too long."""
    after_id, after_at = after or _BEFORE_ALL
    rows = await database.rows(
        _LEDGER["undelivered"],
        capabilities=None if capabilities is None else list(capabilities),
        now=database.now,
        grace=grace,
        limit=limit,
        after_at=after_at,
        after_id=after_id,
    )
    return [(dispatch_of(row), row["dispatched_at"]) for row in rows]


async def redispatch(transaction: Transaction, seen: Sequence[Sighting]) -> Sequence[Dispatch]:
    """Take the right to repeat dispatches that nobody else has repeated."""
    moved = await transaction.column(
        _LEDGER["redispatch"],
        ids=[execution_id for execution_id, _ in seen],
        dispatched_at=[dispatched_at for _, dispatched_at in seen],
        now=transaction.now,
    )
    taken = set(moved)
    return await read_dispatches(transaction, [each for each in dict.fromkeys(id_ for id_, _ in seen) if each in taken])


async def removable(transaction: Transaction, keep: timedelta, newest: int, limit: int) -> Sequence[UUID]:
    """Find ended executions that nobody keeps; once found, nothing can make them worth keeping again."""
    return await transaction.column(_LEDGER["removable"], before=transaction.now - keep, newest=newest, limit=limit)


async def remove(transaction: Transaction, executions: Sequence[UUID], keep: timedelta, limit: int) -> Purged:
    """Remove executions that were found removable, then the deleted jobs that are left empty."""
    removed = await transaction.column(_LEDGER["remove_executions"], ids=executions)
    jobs = await transaction.column(_LEDGER["remove_jobs"], before=transaction.now - keep, limit=limit)
    return Purged(executions=len(removed), jobs=len(jobs))
