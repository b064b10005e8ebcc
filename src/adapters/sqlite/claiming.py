"""Claims: rows that wait for nothing but an executor, given to one worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from ...domain.attempt import Attempt
from ...domain.facts import EXECUTION_STARTED
from ...domain.firing import LOOK_AHEAD
from ...domain.job import JobDefinition
from ...domain.json import document_of
from .dispatches import read_definitions
from .facts import News, tell_of
from .instants import from_micros, span_micros
from .readable import UNREADABLE
from .statements import statements
from .transaction import Transaction, array

_LEDGER: Final = statements("ledger")
CLAIMABLE: Final = (
    "number",
    "id",
    "job_id",
    "tenant_id",
    "attempt",
    "failures",
    "max_retries",
    "scheduled_at",
    "created_at",
    "available_at",
    "dispatched_at",
    "origin",
    "depth",
    "idempotency_key",
    "correlation_id",
    "event_id",
    "trace_id",
    "span_id",
    "trace_flags",
    "tracestate",
    "payload",
    "had_begun",
)
"""Of `claimable`, in this order."""
_SECOND: Final = 1_000_000
_LOOK_AHEAD: Final = span_micros(LOOK_AHEAD)


def claim(transaction: Transaction, ids: Sequence[UUID], worker_id: str) -> Sequence[Attempt]:
    """Take pending, dispatched executions for one worker."""
    wanted = {str(each): each for each in ids}
    rows = {row[1]: row for row in transaction.batch(_LEDGER["claimable"], list(wanted))}
    definitions = read_definitions(transaction, (row[2] for row in rows.values()))
    job_ids = {text: UUID(text) for text in definitions}
    now = transaction.now_micros
    attempts: list[Attempt] = []
    taken: list[tuple[int, int, int]] = []
    for text, execution_id in wanted.items():
        if (row := rows.get(text)) is None or (definition := definitions.get(row[2])) is None:
            continue
        held = dict(zip(CLAIMABLE, row, strict=True))
        held |= {"id": execution_id, "job_id": job_ids[row[2]], "claimed_at": transaction.now}
        try:
            held["started_at"] = begins_at = _begins_at(held["available_at"], held["dispatched_at"], now)
            attempts.append(_attempt(definition, held))
        except UNREADABLE:
            continue
        taken.append((held["number"], begins_at, begins_at + definition.lock_timeout_seconds * _SECOND))
    transaction.run(_LEDGER["claim"], taken=array(taken), worker_id=worker_id)
    tell_of(transaction, map(_started, attempts))
    return attempts


def _begins_at(available_at: int | None, dispatched_at: int, now: int) -> int:
    """Word `domain.firing.begins_at` in microseconds."""
    if available_at is None or max(now, dispatched_at) >= available_at:
        return now
    return min(available_at, now + _LOOK_AHEAD)


def _attempt(definition: JobDefinition, row: dict[str, Any]) -> Attempt:
    """Word a claimed row as its worker needs it, changing the row on the way."""
    for name in ("scheduled_at", "created_at", "available_at", "started_at"):
        row[name] = from_micros(row[name])
    row["attempt"] += 1
    row["payload"] = document_of(row["payload"])
    if row["event_id"] is not None:
        row["event_id"] = UUID(row["event_id"])
    return Attempt.of(definition, row, claimed_at=row["claimed_at"], had_begun=bool(row["had_begun"]))


def _started(attempt: Attempt) -> News:
    return News(execution_id=attempt.execution_id, tenant_id=attempt.tenant_id, name=EXECUTION_STARTED)
