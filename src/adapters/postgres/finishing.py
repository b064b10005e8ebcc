"""How attempts end: a batch of finishes in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

import asyncpg

from ...domain.accounts import Accounts
from ...domain.attempt import Finish, Wait, refuse
from ...domain.errors import InvalidInput
from ...domain.event import HandlerCounters
from ...domain.execution import ExecutionStatus, Origin
from ...domain.facts import EXECUTION_FACTS, EXECUTION_RETRYING
from ...domain.json import document_text
from ...ports.ledger import Finished, Hold
from .accounts import load_of_executions, read_dispatches, settle
from .event_handler_rows import counts_rows
from .execution_rows import with_past_attempt
from .statements import statements
from .transaction import Parameters, Row, Transaction

_LEDGER: Final = statements("ledger")
_HANDLERS: Final = statements("event_handlers")

REFUSALS: Final = (
    InvalidInput,
    ValueError,
    TypeError,
    OverflowError,
    RecursionError,
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
)
"""What says that a value cannot be kept: JSON, the driver, which words it as a ValueError, or the server; in our words
once the transaction is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A finish that still holds its row; `is_refused` once its own content was given up."""

    finish: Finish
    before: Row
    is_refused: bool = False

    @property
    def hold(self) -> Hold:
        """What the finish is for."""
        return self.finish.execution_id, self.finish.attempt

    def wait(self, now: datetime) -> Wait:
        """Say what its row waits for, if another attempt follows."""
        return self.finish.wait(self.before["failures"], now)


Writer: TypeAlias = Callable[[Transaction, Sequence[Entry]], Awaitable[Sequence[Entry]]]
"""Writes entries and answers them as they were written."""


async def finish(
    transaction: Transaction, finishes: Sequence[Finish], *, write: Writer, locked: Collection[UUID]
) -> Finished:
    """
    Write how attempts ended.

    Raises:
        UnlockedJobs: as for `load_of_executions`.
        Any of REFUSALS: as for `write`.
    """
    accounts = Accounts(transaction.now)
    # What is to be tried again may end all the same, if its content is refused.
    ending = [each for each in finishes if each.status.terminal or write is written_apart]
    await load_of_executions(transaction, accounts, [each.execution_id for each in ending], locked=locked)
    entries, rejected = await _told_apart(transaction, finishes)
    written = await write(transaction, entries)
    for entry in written:
        if entry.finish.status.terminal:
            _end(accounts, entry)
    returned = [
        entry.finish.execution_id
        for entry in written
        if not entry.finish.status.terminal and entry.wait(transaction.now).dispatched_at is not None
    ]
    dispatches = [*await read_dispatches(transaction, returned), *await settle(transaction, accounts)]
    await _count_for_handlers(transaction, written)
    _note(transaction, written)
    return Finished(
        rejected=rejected,
        dispatches=dispatches,
        set_aside=[entry.hold for entry in written if entry.is_refused],
    )


async def written_together(transaction: Transaction, entries: Sequence[Entry]) -> Sequence[Entry]:
    """
    Write entries; if one of them is refused the transaction is lost.

    A savepoint for the rare refusal would cost every finish two round trips, and two lockers of each row.

    Raises:
        Any of REFUSALS: something cannot be kept.
    """
    ended = [_ended_row(entry) for entry in entries if entry.finish.status.terminal]
    returned = [_returned_row(entry, transaction.now) for entry in entries if not entry.finish.status.terminal]
    await transaction.run_for(_LEDGER["finish"], ended)
    await transaction.run_for(_LEDGER["hand_back"], returned)
    return entries


async def written_apart(transaction: Transaction, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Write entries; where something is refused, halve them until the culprits stand alone, and give those up."""
    try:
        async with transaction.savepoint():
            return await written_together(transaction, entries)
    except REFUSALS:
        if len(entries) > 1:
            middle = len(entries) // 2
            first = await written_apart(transaction, entries[:middle])
            return [*first, *await written_apart(transaction, entries[middle:])]
        refused = [replace(entry, finish=refuse(entry.finish), is_refused=True) for entry in entries]
        return await written_together(transaction, refused)


async def _told_apart(transaction: Transaction, finishes: Sequence[Finish]) -> tuple[list[Entry], list[Hold]]:
    """Separate the finishes that hold their row from those that lost it; the first for a row takes it."""
    rows = await transaction.rows(_LEDGER["lock_held"], ids=[each.execution_id for each in finishes])
    held = {row["id"]: row for row in rows}
    entries: list[Entry] = []
    rejected: list[Hold] = []
    for each in finishes:
        row = held.get(each.execution_id)
        if row is not None and each.is_of(row["attempt"], row["lease_expires_at"]):
            entries.append(Entry(finish=each, before=held.pop(each.execution_id)))
        else:
            rejected.append((each.execution_id, each.attempt))
    return entries, rejected


def _row(entry: Entry) -> Parameters:
    """Write what an end and a return have in common."""
    finish = entry.finish
    past = finish.past_attempt
    return {
        "id": finish.execution_id,
        "failures": finish.failures,
        "error": finish.error,
        "error_type": finish.error_type,
        "error_stack": finish.error_stack,
        "past_attempts": with_past_attempt(
            entry.before["past_attempts"], past and replace(past, worker_id=entry.before["worker_id"])
        ),
    }


def _ended_row(entry: Entry) -> Parameters:
    finish = entry.finish
    return {
        **_row(entry),
        "status": finish.status.value,
        "result": document_text(finish.result),
        "completed_at": finish.completed_at,
        "duration_ms": finish.duration_ms,
        "releases_slot": finish.releases_slot,
    }


def _returned_row(entry: Entry, now: datetime) -> Parameters:
    wait = entry.wait(now)
    return {
        **_row(entry),
        "available_at": wait.available_at,
        "next_retry_at": wait.next_retry_at,
        "dispatched_at": wait.dispatched_at,
    }


def _end(accounts: Accounts, entry: Entry) -> None:
    accounts.end(
        entry.before["job_id"],
        entry.finish,
        slots=entry.before["holds_slot"],
        origin=Origin(entry.before["origin"]),
        scheduled_at=entry.before["scheduled_at"],
    )


async def _count_for_handlers(transaction: Transaction, written: Sequence[Entry]) -> None:
    """Count, for the event handlers of which executions came, how these ended: the last lock."""
    counts: dict[UUID, HandlerCounters] = {}
    for entry in written:
        handler_id = entry.before["event_handler_id"]
        if handler_id is not None and entry.finish.status.terminal:
            before = counts.get(handler_id, HandlerCounters())
            succeeded = entry.finish.status is ExecutionStatus.SUCCESS
            counts[handler_id] = replace(
                before, succeeded=before.succeeded + succeeded, failed=before.failed + (not succeeded)
            )
    await transaction.run_for(_HANDLERS["count_handlers"], counts_rows(counts))


def _note(transaction: Transaction, written: Sequence[Entry]) -> None:
    """Take down as news how executions ended, and which are tried again because they failed."""
    for entry in written:
        finish = entry.finish
        if finish.status.terminal:
            transaction.news.happened(EXECUTION_FACTS[finish.status], [finish.execution_id])
        elif entry.wait(transaction.now).next_retry_at is not None:
            transaction.news.happened(EXECUTION_RETRYING, [finish.execution_id])
