"""How attempts end: a batch of finishes in one transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.attempt import Finish, refuse
from ...domain.event import HandlerCounters
from ...domain.facts import EXECUTION_FACTS, EXECUTION_RETRYING
from ...domain.json import Json, encoded
from ...ports.ledger import Finished, Hold
from . import last_ends
from .accounts import load, settle
from .dispatches import read_dispatches
from .event_handler_rows import counts_row
from .facts import News, tell_of
from .held_finishes import Held, HeldFinish, ended_row, ends_of, good_row, past_row, returned_row
from .instants import from_micros
from .statements import statements
from .transaction import Transaction

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


def finish(transaction: Transaction, finishes: Sequence[Finish]) -> Finished:
    """Write how attempts ended: first those with which jobs of one time are completed, then the others."""
    entries, rejected = _told_apart(transaction, finishes)
    if others := _not_last(transaction, entries):
        return _settled(transaction, others, rejected)
    return Finished(rejected=rejected, dispatches=[])


def _told_apart(transaction: Transaction, finishes: Sequence[Finish]) -> tuple[list[HeldFinish], list[Hold]]:
    """Separate the finishes that hold their row from those that lost it; the first for a row takes it."""
    ids = [str(each.execution_id) for each in finishes]
    held = {row[1]: Held._make(row) for row in transaction.batch(_LEDGER["held"], list(dict.fromkeys(ids)))}
    entries: list[HeldFinish] = []
    rejected: list[Hold] = []
    for text, each in zip(ids, finishes, strict=True):
        row = held.get(text)
        if row is not None and each.is_of(row.attempt, from_micros(row.lease_expires_at)):
            entries.append(HeldFinish(each, held.pop(text)))
        else:
            rejected.append((each.execution_id, each.attempt))
    return entries, rejected


def _not_last(transaction: Transaction, entries: Sequence[HeldFinish]) -> Sequence[HeldFinish]:
    """Write the ends that complete their jobs, and answer the others: all, if something of those is refused."""
    try:
        with transaction.savepoint():
            return last_ends.others_than_written(transaction, entries)
    except _REFUSALS:
        return entries


def _settled(transaction: Transaction, entries: Sequence[HeldFinish], rejected: Sequence[Hold]) -> Finished:
    """Write ends whatever follows from them."""
    written = _stored(transaction, entries)
    ended = [entry for entry in written if entry.has_ended]
    accounts = Accounts(transaction.now)
    load(transaction, accounts, (entry.before.job_id for entry in ended))
    accounts.end(ends_of(ended))
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


def _stored(transaction: Transaction, entries: Sequence[HeldFinish]) -> list[HeldFinish]:
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


def _write(transaction: Transaction, entries: Sequence[HeldFinish]) -> None:
    good: list[Json] = []
    others: list[HeldFinish] = []
    for entry in entries:
        if entry.is_good:
            good.append(good_row(entry))
        else:
            others.append(entry)
    past = [past_row(entry) for entry in entries if entry.finish.past_attempt is not None]
    transaction.run_many(_LEDGER["remember_attempt"], past)
    if good:
        transaction.run(_LEDGER["finish_well"], ended=encoded(good))
    ended = [ended_row(entry) for entry in others if entry.has_ended]
    transaction.run_many(_LEDGER["finish"], ended)
    returned = [returned_row(entry, transaction.now) for entry in others if not entry.has_ended]
    transaction.run_many(_LEDGER["hand_back"], returned)


def _count(transaction: Transaction, ended: Sequence[HeldFinish]) -> None:
    """Move the counters of the event handlers that these executions came from."""
    of_handlers = [(each.before.event_handler_id, each) for each in ended if each.before.event_handler_id is not None]
    succeeded = Counter(id_ for id_, entry in of_handlers if entry.has_succeeded)
    failed = Counter(id_ for id_, entry in of_handlers if not entry.has_succeeded)
    more = {id_: HandlerCounters(succeeded=succeeded[id_], failed=failed[id_]) for id_ in succeeded | failed}
    transaction.run_many(_HANDLERS["count"], (counts_row(UUID(id_), counts) for id_, counts in more.items()))


def _news(entry: HeldFinish, now: datetime) -> News:
    finish = entry.finish
    name = EXECUTION_FACTS.get(finish.status)
    if name is None and entry.wait(now).next_retry_at is not None:
        name = EXECUTION_RETRYING
    return News(execution_id=finish.execution_id, tenant_id=entry.before.tenant_id, name=name)
