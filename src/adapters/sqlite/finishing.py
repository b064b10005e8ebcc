"""How attempts end: a batch of finishes in one transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.attempt import Finish, Wait, refuse
from ...domain.event import HandlerCounters
from ...domain.execution import ExecutionStatus, Origin
from ...domain.facts import EXECUTION_FACTS, EXECUTION_RETRYING
from ...domain.json import document_text
from ...ports.ledger import Finished, Hold
from .accounts import load, read_dispatches, settle
from .event_handler_rows import counts_row
from .execution_rows import past_attempt_text
from .facts import News, tell_of
from .instants import from_micros, to_micros
from .statements import statements
from .transaction import Parameters, Row, Transaction, array

_LEDGER: Final = statements("ledger")
_HANDLERS: Final = statements("event_handlers")
_REFUSALS: Final = (
    ValueError,
    TypeError,
    OverflowError,
    RecursionError,
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)
"""What says that a value cannot be kept: JSON, UTF-8, Python's binding, or SQLite itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A finish that still holds its row; `is_refused` once its own content was given up."""

    finish: Finish
    before: Row
    is_refused: bool = False

    @property
    def hold(self) -> Hold:
        return self.finish.execution_id, self.finish.attempt

    @property
    def job_id(self) -> UUID:
        return UUID(self.before["job_id"])

    @property
    def has_succeeded(self) -> bool:
        return self.finish.status is ExecutionStatus.SUCCESS

    def wait(self, now: datetime) -> Wait:
        return self.finish.wait(self.before["failures"], now)


def finish(transaction: Transaction, finishes: Sequence[Finish]) -> Finished:
    """Write how attempts ended."""
    entries, rejected = _told_apart(transaction, finishes)
    written = _stored(transaction, entries) if entries else []
    ended = [entry for entry in written if entry.finish.status.terminal]
    accounts = Accounts(transaction.now)
    load(transaction, accounts, (entry.job_id for entry in ended))
    for entry in ended:
        _end(accounts, entry)
    _count(transaction, ended)
    tell_of(transaction, (_news(entry, transaction.now) for entry in written))
    returned = [
        entry.finish.execution_id
        for entry in written
        if not entry.finish.status.terminal and entry.wait(transaction.now).dispatched_at is not None
    ]
    return Finished(
        rejected=rejected,
        dispatches=[*read_dispatches(transaction, returned), *settle(transaction, accounts)],
        set_aside=[entry.hold for entry in written if entry.is_refused],
    )


def _told_apart(transaction: Transaction, finishes: Sequence[Finish]) -> tuple[list[_Entry], list[Hold]]:
    """Separate the finishes that hold their row from those that lost it; the first for a row takes it."""
    ids = array(each.execution_id for each in finishes)
    held = {row["id"]: row for row in transaction.rows(_LEDGER["held"], ids=ids)}
    entries: list[_Entry] = []
    rejected: list[Hold] = []
    for each in finishes:
        row = held.get(str(each.execution_id))
        if row is not None and each.is_of(row["attempt"], from_micros(row["lease_expires_at"])):
            entries.append(_Entry(finish=each, before=held.pop(row["id"])))
        else:
            rejected.append((each.execution_id, each.attempt))
    return entries, rejected


def _stored(transaction: Transaction, entries: Sequence[_Entry]) -> list[_Entry]:
    """Write entries; where something is refused, halve them until the culprits stand alone, and give those up."""
    try:
        with transaction.savepoint():
            _write(transaction, entries)
    except _REFUSALS:
        if len(entries) > 1:
            middle = len(entries) // 2
            return [*_stored(transaction, entries[:middle]), *_stored(transaction, entries[middle:])]
        refused = [replace(entry, finish=refuse(entry.finish), is_refused=True) for entry in entries]
        _write(transaction, refused)
        return refused
    return list(entries)


def _write(transaction: Transaction, entries: Sequence[_Entry]) -> None:
    ended = [_ended_row(entry) for entry in entries if entry.finish.status.terminal]
    returned = [_returned_row(entry, transaction.now) for entry in entries if not entry.finish.status.terminal]
    transaction.run_many(_LEDGER["finish"], ended)
    transaction.run_many(_LEDGER["hand_back"], returned)


def _row(entry: _Entry) -> Parameters:
    """Write what an end and a return have in common."""
    finish = entry.finish
    past = finish.past_attempt
    return {
        "id": str(finish.execution_id),
        "attempt": finish.attempt,
        "failures": finish.failures,
        "error": finish.error,
        "error_type": finish.error_type,
        "error_stack": finish.error_stack,
        "past_attempt": past_attempt_text(replace(past, worker_id=entry.before["worker_id"])) if past else None,
    }


def _ended_row(entry: _Entry) -> Parameters:
    finish = entry.finish
    return {
        **_row(entry),
        "status": finish.status.value,
        "result": document_text(finish.result),
        "completed_at": to_micros(finish.completed_at),
        "duration_ms": finish.duration_ms,
        "releases_slot": finish.releases_slot,
    }


def _returned_row(entry: _Entry, now: datetime) -> Parameters:
    wait = entry.wait(now)
    return {
        **_row(entry),
        "available_at": to_micros(wait.available_at),
        "next_retry_at": to_micros(wait.next_retry_at),
        "dispatched_at": to_micros(wait.dispatched_at),
    }


def _end(accounts: Accounts, entry: _Entry) -> None:
    accounts.end(
        entry.job_id,
        entry.finish,
        slots=entry.before["holds_slot"],
        origin=Origin(entry.before["origin"]),
        scheduled_at=from_micros(entry.before["scheduled_at"]),
    )


def _count(transaction: Transaction, ended: Sequence[_Entry]) -> None:
    """Move the counters of the event handlers that these executions came from."""
    of_handlers = [entry for entry in ended if entry.before["event_handler_id"] is not None]
    succeeded = Counter(entry.before["event_handler_id"] for entry in of_handlers if entry.has_succeeded)
    failed = Counter(entry.before["event_handler_id"] for entry in of_handlers if not entry.has_succeeded)
    more = {id_: HandlerCounters(succeeded=succeeded[id_], failed=failed[id_]) for id_ in succeeded | failed}
    transaction.run_many(_HANDLERS["count"], (counts_row(UUID(id_), counts) for id_, counts in more.items()))


def _news(entry: _Entry, now: datetime) -> News:
    finish = entry.finish
    name = EXECUTION_FACTS.get(finish.status)
    if name is None and entry.wait(now).next_retry_at is not None:
        name = EXECUTION_RETRYING
    return News(execution_id=finish.execution_id, tenant_id=entry.before["tenant_id"], name=name)
