"""What the sweeper finds and repeats: due retries, lost dispatches, what retention removes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final
from uuid import UUID

from ...ports.dispatcher import Dispatch
from ...ports.ledger import Purged, Ready, Sighting
from .accounts import read_dispatches
from .execution_rows import dispatch_of
from .frontier import Frontier
from .statements import statements
from .transaction import Transaction

_LEDGER: Final = statements("ledger")
_FIRST: Final = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A stretch of the past: what of it may go, and where the next one begins, if there is one."""

    removable: Sequence[UUID]
    next: UUID | None


async def ready(transaction: Transaction, limit: int) -> Ready:
    """Mark work that became available as dispatched."""
    marked = await transaction.rows(_LEDGER["mark_ready"], now=transaction.now, limit=limit)
    [following] = await transaction.column(_LEDGER["next_available"])
    ids = [row["id"] for row in sorted(marked, key=itemgetter("available_at", "id"))]
    return Ready(dispatches=await read_dispatches(transaction, ids), next_available_at=following, now=transaction.now)


async def undelivered(
    transaction: Transaction,
    *,
    frontier: Frontier,
    capabilities: Collection[str] | None,
    grace: timedelta,
    limit: int,
    after: Sighting | None,
) -> Sequence[tuple[Dispatch, datetime]]:
    """List dispatches that nobody has claimed for too long."""
    since = await frontier.since(transaction) if after is None else frontier.follows(transaction.now)
    # Where both begin: an index is entered at a pair, and not at a second bound beside it.
    after_id, after_at = after if after is not None and after[1] >= since else (_FIRST, since)
    rows = await transaction.rows(
        _LEDGER["undelivered"],
        capabilities=None if capabilities is None else list(capabilities),
        now=transaction.now,
        grace=grace,
        limit=limit,
        after_at=after_at,
        after_id=after_id,
    )
    if after is None:
        # Once for all pages of a look through: it reads what ended since as well, as far as nobody could remove that.
        [first] = await transaction.column(_LEDGER["first_dispatched"], since=since)
        await frontier.tell(transaction, first)
        frontier.move(first, transaction.now)
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


async def past(transaction: Transaction, keep: timedelta, newest: int, limit: int, after: UUID | None) -> Past:
    """Look at a stretch of the past; what may go then, nothing can make worth keeping again."""
    before = transaction.now - keep
    rows = await transaction.rows(
        _LEDGER["past"],
        before=before,
        after=after or _FIRST,
        newest=newest,
        limit=limit,
    )
    return Past(
        removable=[row["id"] for row in rows if row["may_go"]],
        next=rows[-1]["id"] if len(rows) == limit and any(row["is_old"] for row in rows) else None,
    )


async def remove(transaction: Transaction, found: Past, keep: timedelta, limit: int) -> Purged:
    """Remove the executions that may go, then the deleted jobs that are left empty."""
    removed = await transaction.column(_LEDGER["remove_executions"], ids=found.removable)
    jobs = await transaction.column(_LEDGER["remove_jobs"], before=transaction.now - keep, limit=limit)
    return Purged(executions=len(removed), jobs=len(jobs), next=found.next)
