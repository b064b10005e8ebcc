"""How attempts end: a batch of finishes in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import Final, TypeAlias
from uuid import UUID

import asyncpg

from ...domain.accounts import Accounts, Ended
from ...domain.attempt import Finish, refuse
from ...domain.errors import InvalidInput
from ...domain.event import HandlerCounters
from ...domain.execution import ExecutionStatus, Origin
from ...domain.facts import EXECUTION_FACTS, EXECUTION_RETRYING
from ...ports.ledger import Finished, Hold
from .accounts import load_of_executions, read_dispatches, settle
from .entries import Entry, Written, ends_of, hold_of, returned_row
from .event_handler_rows import counts_rows
from .statements import statements
from .transaction import Row, Transaction

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


Writer: TypeAlias = Callable[[Transaction, Sequence[Entry]], Awaitable[Written]]
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
    plain = write is written_together and _is_plain(finishes)
    entries, rejected = _unseen(finishes) if plain else await _told_apart(transaction, finishes)
    written = await write(transaction, entries)
    accounts.end(_end(entry.finish, row) for entry, row in written.ended)
    returned = [
        entry.finish.execution_id for entry in written.returned if entry.wait(transaction.now).dispatched_at is not None
    ]
    dispatches = [*await read_dispatches(transaction, returned), *await settle(transaction, accounts)]
    await _count_for_handlers(transaction, written)
    _note(transaction, written)
    return Finished(
        rejected=[*rejected, *written.missing(entries)],
        dispatches=dispatches,
        set_aside=[entry.hold for entry, _ in written.ended if entry.is_refused],
    )


def let_go(finishes: Sequence[Finish], finished: Finished) -> Collection[Hold]:
    """Tell which leases are over with finishes that are committed."""
    over = {hold_of(each) for each in finishes if each.releases_slot or not each.status.terminal}
    return over.difference(finished.rejected)


async def written_together(transaction: Transaction, entries: Sequence[Entry]) -> Written:
    """
    Write entries; if one of them is refused the transaction is lost.

    A savepoint for the rare refusal would cost every finish two round trips, and two lockers of each row.

    Raises:
        Any of REFUSALS: something cannot be kept.
    """
    ending = {entry.finish.execution_id: entry for entry in entries if entry.finish.status.terminal}
    returned = [entry for entry in entries if not entry.finish.status.terminal]
    rows = await transaction.rows(_LEDGER["finish"], **ends_of(ending.values()), now=transaction.now) if ending else []
    await transaction.run_for(_LEDGER["hand_back"], [returned_row(entry, transaction.now) for entry in returned])
    return Written(ended=[(ending[row["id"]], row) for row in rows], returned=returned)


async def written_apart(transaction: Transaction, entries: Sequence[Entry]) -> Written:
    """Write entries; where something is refused, halve them until the culprits stand alone, and give those up."""
    try:
        async with transaction.savepoint():
            return await written_together(transaction, entries)
    except REFUSALS:
        if len(entries) > 1:
            middle = len(entries) // 2
            first = await written_apart(transaction, entries[:middle])
            return first + await written_apart(transaction, entries[middle:])
        refused = [replace(entry, finish=refuse(entry.finish), is_refused=True) for entry in entries]
        return await written_together(transaction, refused)


def _is_plain(finishes: Sequence[Finish]) -> bool:
    """Tell whether (id, attempt) is all that these are held against, and nothing of their rows goes into them."""
    return len({each.execution_id for each in finishes}) == len(finishes) and all(
        each.status.terminal and each.past_attempt is None and each.lease_expires_at is None for each in finishes
    )


def _unseen(finishes: Sequence[Finish]) -> tuple[list[Entry], list[Hold]]:
    return [Entry(finish=each) for each in finishes], []


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
            rejected.append(hold_of(each))
    return entries, rejected


def _end(finish: Finish, row: Row) -> Ended:
    return Ended(row["job_id"], finish, row["holds_slot"], Origin(row["origin"]), row["scheduled_at"])


async def _count_for_handlers(transaction: Transaction, written: Written) -> None:
    """Count, for the event handlers of which executions came, how these ended: the last lock."""
    counts: dict[UUID, HandlerCounters] = {}
    for entry, row in written.ended:
        handler_id = row["event_handler_id"]
        if handler_id is not None:
            before = counts.get(handler_id, HandlerCounters())
            succeeded = entry.finish.status is ExecutionStatus.SUCCESS
            counts[handler_id] = replace(
                before, succeeded=before.succeeded + succeeded, failed=before.failed + (not succeeded)
            )
    await transaction.run_for(_HANDLERS["count_handlers"], counts_rows(counts))


def _note(transaction: Transaction, written: Written) -> None:
    """Take down as news, if anybody listens, how executions ended, and which are tried again because they failed."""
    for entry, row in written.ended:
        if row["is_heard"]:
            transaction.news.happened(EXECUTION_FACTS[entry.finish.status], [entry.finish.execution_id])
    for entry in written.returned:
        if entry.wait(transaction.now).next_retry_at is not None:
            transaction.news.happened(EXECUTION_RETRYING, [entry.finish.execution_id])
