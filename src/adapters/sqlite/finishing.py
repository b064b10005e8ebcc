"""How attempts end: a batch of finishes in one transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from ...domain.accounts import Accounts, Ended
from ...domain.attempt import Finish, Wait, refuse
from ...domain.event import HandlerCounters
from ...domain.execution import ExecutionStatus, Origin
from ...domain.facts import EXECUTION_FACTS, EXECUTION_RETRYING
from ...domain.json import Json, document_text, encoded
from ...ports.ledger import Finished, Hold
from .accounts import load, settle
from .dispatches import read_dispatches
from .event_handler_rows import counts_row
from .execution_rows import past_attempt_text
from .facts import News, tell_of
from .instants import from_micros, to_micros
from .statements import statements
from .transaction import Transaction

_LEDGER: Final = statements("ledger")
_HANDLERS: Final = statements("event_handlers")
_ORIGINS: Final = {origin.value: origin for origin in Origin}
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


class Held(NamedTuple):
    """What a finish is held against, a row of `held`."""

    number: int
    id: str
    job_id: str
    tenant_id: str
    origin: str
    scheduled_at: int
    attempt: int
    failures: int
    holds_slot: int
    worker_id: str | None
    lease_expires_at: int | None
    event_handler_id: str | None


class _Entry(NamedTuple):
    """A finish that still holds its row; `is_refused` once its own content was given up."""

    finish: Finish
    before: Held
    is_refused: bool = False

    @property
    def hold(self) -> Hold:
        return self.finish.execution_id, self.finish.attempt

    @property
    def has_ended(self) -> bool:
        return self.finish.status is not ExecutionStatus.PENDING

    @property
    def has_succeeded(self) -> bool:
        return self.finish.status is ExecutionStatus.SUCCESS

    def wait(self, now: datetime) -> Wait:
        return self.finish.wait(self.before.failures, now)


def finish(transaction: Transaction, finishes: Sequence[Finish]) -> Finished:
    """Write how attempts ended."""
    entries, rejected = _told_apart(transaction, finishes)
    written = _stored(transaction, entries) if entries else []
    ended = [entry for entry in written if entry.has_ended]
    accounts = Accounts(transaction.now)
    load(transaction, accounts, (entry.before.job_id for entry in ended))
    accounts.end(_ends(ended))
    _count(transaction, ended)
    tell_of(transaction, (_news(entry, transaction.now) for entry in written))
    returned = [
        entry.finish.execution_id
        for entry in written
        if not entry.has_ended and entry.wait(transaction.now).dispatched_at is not None
    ]
    return Finished(
        rejected=rejected,
        dispatches=[*read_dispatches(transaction, returned), *settle(transaction, accounts)],
        set_aside=[entry.hold for entry in written if entry.is_refused],
    )


def _told_apart(transaction: Transaction, finishes: Sequence[Finish]) -> tuple[list[_Entry], list[Hold]]:
    """Separate the finishes that hold their row from those that lost it; the first for a row takes it."""
    ids = [str(each.execution_id) for each in finishes]
    held = {row[1]: Held._make(row) for row in transaction.batch(_LEDGER["held"], list(dict.fromkeys(ids)))}
    entries: list[_Entry] = []
    rejected: list[Hold] = []
    for text, each in zip(ids, finishes, strict=True):
        row = held.get(text)
        if row is not None and each.is_of(row.attempt, from_micros(row.lease_expires_at)):
            entries.append(_Entry(each, held.pop(text)))
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
        refused = [entry._replace(finish=refuse(entry.finish), is_refused=True) for entry in entries]
        _write(transaction, refused)
        return refused
    return list(entries)


def _write(transaction: Transaction, entries: Sequence[_Entry]) -> None:
    transaction.run_many(
        _LEDGER["remember_attempt"], [_past_row(entry) for entry in entries if entry.finish.past_attempt]
    )
    good = [_good_row(entry) for entry in entries if entry.finish.is_good]
    if good:
        transaction.run(_LEDGER["finish_well"], ended=encoded(good))
    others = [_ended_row(entry) for entry in entries if entry.has_ended and not entry.finish.is_good]
    transaction.run_many(_LEDGER["finish"], others)
    returned = [_returned_row(entry, transaction.now) for entry in entries if not entry.has_ended]
    transaction.run_many(_LEDGER["hand_back"], returned)


def _past_row(entry: _Entry) -> tuple[object, ...]:
    past = entry.finish.past_attempt
    text = None if past is None else past_attempt_text(replace(past, worker_id=entry.before.worker_id))
    return text, entry.before.number


def _good_row(entry: _Entry) -> list[Json]:
    finish = entry.finish
    return [
        entry.before.number,
        finish.attempt,
        finish.failures,
        to_micros(finish.started_at),
        to_micros(finish.completed_at),
        finish.duration_ms,
        document_text(finish.result),
    ]


def _ended_row(entry: _Entry) -> tuple[object, ...]:
    finish = entry.finish
    return (
        finish.status.value,
        finish.failures,
        finish.error,
        finish.error_type,
        finish.error_stack,
        to_micros(finish.started_at),
        document_text(finish.result),
        to_micros(finish.completed_at),
        finish.duration_ms,
        finish.releases_slot,
        entry.before.number,
        finish.attempt,
    )


def _returned_row(entry: _Entry, now: datetime) -> tuple[object, ...]:
    finish, wait = entry.finish, entry.wait(now)
    return (
        finish.failures,
        finish.error,
        finish.error_type,
        finish.error_stack,
        to_micros(finish.started_at),
        to_micros(wait.available_at),
        to_micros(wait.next_retry_at),
        to_micros(wait.dispatched_at),
        entry.before.number,
        finish.attempt,
    )


def _ends(ended: Sequence[_Entry]) -> Iterator[Ended]:
    job_ids = {text: UUID(text) for text in {entry.before.job_id for entry in ended}}
    for entry in ended:
        before = entry.before
        origin, scheduled_at = _ORIGINS[before.origin], from_micros(before.scheduled_at)
        yield Ended(job_ids[before.job_id], entry.finish, before.holds_slot, origin, scheduled_at)


def _count(transaction: Transaction, ended: Sequence[_Entry]) -> None:
    """Move the counters of the event handlers that these executions came from."""
    of_handlers = [(each.before.event_handler_id, each) for each in ended if each.before.event_handler_id is not None]
    succeeded = Counter(id_ for id_, entry in of_handlers if entry.has_succeeded)
    failed = Counter(id_ for id_, entry in of_handlers if not entry.has_succeeded)
    more = {id_: HandlerCounters(succeeded=succeeded[id_], failed=failed[id_]) for id_ in succeeded | failed}
    transaction.run_many(_HANDLERS["count"], (counts_row(UUID(id_), counts) for id_, counts in more.items()))


def _news(entry: _Entry, now: datetime) -> News:
    finish = entry.finish
    name = EXECUTION_FACTS.get(finish.status)
    if name is None and entry.wait(now).next_retry_at is not None:
        name = EXECUTION_RETRYING
    return News(execution_id=finish.execution_id, tenant_id=entry.before.tenant_id, name=name)
