"""What the sweeper finds and repeats: due retries, lost dispatches, what retention removes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from ...ports.dispatcher import Dispatch
from ...ports.ledger import Purged, Ready, Sighting
from .dispatches import dispatches_of, read_dispatches
from .instants import from_micros, span_micros, to_micros
from .statements import statements
from .transaction import LARGEST, Parameters, Transaction, array, object_of

_LEDGER: Final = statements("ledger")


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A stretch of the past: what of it may go, and where the next one begins, if there is one."""

    removable: Sequence[str]
    next: UUID | None


def ready(transaction: Transaction, limit: int) -> Ready:
    """Mark work that became available as dispatched."""
    now = transaction.now_micros
    ids = transaction.column(_LEDGER["ready"], now=now, limit=limit)
    transaction.run(_LEDGER["mark_dispatched"], ids=array(ids), now=now)
    [following] = transaction.column(_LEDGER["next_available"])
    return Ready(
        dispatches=read_dispatches(transaction, ids),
        next_available_at=from_micros(following),
        now=transaction.now,
    )


def undelivered(
    transaction: Transaction,
    *,
    capabilities: Collection[str] | None,
    grace: timedelta,
    limit: int,
    after: Sighting | None,
) -> Sequence[tuple[Dispatch, datetime]]:
    """List dispatches that nobody has claimed for too long."""
    now, patience = transaction.now_micros, span_micros(grace)
    parameters: Parameters = {
        "capabilities": None if capabilities is None else array(capabilities),
        "now": now,
        "grace": patience,
        "after_at": -LARGEST if after is None else to_micros(after[1]),
        "after_id": "" if after is None else str(after[0]),
    }
    rows: list[list[Any]] = []
    # What was dispatched between the two is waited for, and may be a great deal.
    for later_than, until in ((-LARGEST, now - patience), (now, LARGEST)):
        bounds = {"later_than": later_than, "until": until, "limit": limit - len(rows)}
        rows += transaction.listed(_LEDGER["undelivered"], **parameters, **bounds)
    dispatches = dispatches_of(transaction, [(id_, job_id, priority) for id_, job_id, priority, _ in rows])
    return list(zip(dispatches, (from_micros(row[3]) for row in rows), strict=True))


def redispatch(transaction: Transaction, seen: Sequence[Sighting]) -> Sequence[Dispatch]:
    """Take the right to repeat dispatches that nobody else has repeated."""
    pairs = [(str(execution_id), to_micros(dispatched_at)) for execution_id, dispatched_at in seen]
    unmoved = transaction.listed(_LEDGER["unmoved"], seen=object_of(pairs))
    transaction.run(_LEDGER["redispatch"], taken=array(row[0] for row in unmoved), now=transaction.now_micros)
    rows = {id_: (id_, job_id, priority) for _, id_, job_id, priority in unmoved}
    return dispatches_of(transaction, [rows[each] for each in dict(pairs) if each in rows])


def past(transaction: Transaction, keep: timedelta, newest: int, limit: int, after: UUID | None) -> Past:
    """Look at a stretch of the past; what may go then, nothing can make worth keeping again."""
    before = transaction.now - keep
    rows = transaction.rows(
        _LEDGER["past"],
        before=to_micros(before),
        after="" if after is None else str(after),
        newest=newest,
        limit=limit,
    )
    return Past(
        removable=[row["id"] for row in rows if row["may_go"]],
        next=UUID(rows[-1]["id"]) if len(rows) == limit and any(row["is_old"] for row in rows) else None,
    )


def remove(transaction: Transaction, found: Past, keep: timedelta, limit: int) -> Purged:
    """Remove the executions that may go, then the deleted jobs that are left empty."""
    removed = transaction.column(_LEDGER["remove_executions"], ids=array(found.removable))
    jobs = transaction.column(_LEDGER["remove_jobs"], before=to_micros(transaction.now - keep), limit=limit)
    return Purged(executions=len(removed), jobs=len(jobs), next=found.next)
