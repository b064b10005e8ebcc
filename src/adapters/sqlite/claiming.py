"""Claims: rows that wait for nothing but an executor, given to one worker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from ...domain.attempt import STORED_FIELDS, Attempt
from ...domain.facts import EXECUTION_STARTED
from ...domain.firing import LOOK_AHEAD
from ...domain.job import JobDefinition
from ...domain.json import document_of
from .dispatches import read_definitions
from .facts import News, tell_of
from .instants import from_micros, span_micros
from .readable import UNREADABLE
from .statements import statements
from .transaction import Transaction, object_of

_LEDGER: Final = statements("ledger")
CLAIMABLE: Final = ("number", "dispatched_at", *STORED_FIELDS, "had_begun")
"""Of `claimable`, in this order."""

_FIRST: Final = CLAIMABLE.index(STORED_FIELDS[0])
_ID, _JOB_ID, _ATTEMPT, _PAYLOAD, _AVAILABLE_AT, _STARTED_AT, _EVENT_ID = (
    CLAIMABLE.index(each) for each in ("id", "job_id", "attempt", "payload", "available_at", "started_at", "event_id")
)
_INSTANTS: Final = [CLAIMABLE.index(each) for each in ("scheduled_at", "created_at", "available_at", "started_at")]
_SECOND: Final = 1_000_000
_LOOK_AHEAD: Final = span_micros(LOOK_AHEAD)


def claim(transaction: Transaction, ids: Sequence[UUID], worker_id: str) -> Sequence[Attempt]:
    """Take pending, dispatched executions for one worker."""
    wanted = {str(each): each for each in ids}
    rows = {row[_ID]: row for row in transaction.batch(_LEDGER["claimable"], list(wanted))}
    definitions = read_definitions(transaction, (row[_JOB_ID] for row in rows.values()))
    job_ids = {text: UUID(text) for text in definitions}
    now, now_micros = transaction.now, transaction.now_micros
    attempts: list[Attempt] = []
    taken: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for text, execution_id in wanted.items():
        if (row := rows.get(text)) is None or (definition := definitions.get(row[_JOB_ID])) is None:
            continue
        number, dispatched_at = row[:_FIRST]
        row[_ID], row[_JOB_ID] = execution_id, job_ids[row[_JOB_ID]]
        try:
            row[_STARTED_AT] = begins_at = _begins_at(row[_AVAILABLE_AT], dispatched_at, now_micros)
            attempts.append(_attempt(definition, row, now))
        except UNREADABLE:
            continue
        taken[definition.lock_timeout_seconds].append((number, begins_at))
    for seconds, begun in taken.items():
        transaction.run(_LEDGER["claim"], taken=object_of(begun), lease=seconds * _SECOND, worker_id=worker_id)
    tell_of(transaction, map(_started, attempts))
    return attempts


def _begins_at(available_at: int | None, dispatched_at: int, now: int) -> int:
    """Word `domain.firing.begins_at` in microseconds."""
    if available_at is None or max(now, dispatched_at) >= available_at:
        return now
    return min(available_at, now + _LOOK_AHEAD)


def _attempt(definition: JobDefinition, row: list[Any], now: datetime) -> Attempt:
    """Word a claimed row as its worker needs it, changing the row on the way."""
    for place in _INSTANTS:
        row[place] = from_micros(row[place])
    row[_ATTEMPT] += 1
    row[_PAYLOAD] = document_of(row[_PAYLOAD])
    if row[_EVENT_ID] is not None:
        row[_EVENT_ID] = UUID(row[_EVENT_ID])
    return Attempt.of_fields(definition, row[_FIRST:-1], claimed_at=now, had_begun=bool(row[-1]))


def _started(attempt: Attempt) -> News:
    return News(execution_id=attempt.execution_id, tenant_id=attempt.tenant_id, name=EXECUTION_STARTED)
