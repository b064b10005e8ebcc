"""Claims and leases: who runs what, until when."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID, uuid4

from ...domain.accounts import Accounts
from ...domain.attempt import Attempt
from ...domain.execution import ExecutionStatus
from ...domain.facts import EXECUTION_STARTED
from ...domain.firing import LOOK_AHEAD
from ...domain.job import LOCK_TIMEOUT_SECONDS
from ...domain.stored import shared_definition
from ...ports.dispatcher import Dispatch
from ...ports.ledger import Hold, Lapse, Lease
from .accounts import load_of_executions, settle
from .claims import Claims
from .database import Database
from .execution_rows import attempt_of
from .filters import EVER
from .frontier import Frontier
from .statements import statements
from .transaction import Parameters, Row, Transaction

_LEDGER: Final = statements("ledger")


async def claim(database: Database, claims: Claims, ids: Sequence[UUID], worker_id: str) -> Sequence[Attempt]:
    """Take pending, available executions for one worker, in one round trip unless somebody listens to starts."""
    if not ids:
        return []
    claim_id = uuid4()
    parameters = {
        "claim_id": claim_id,
        "ids": ids,
        "worker_id": worker_id,
        "lock_timeout_seconds": LOCK_TIMEOUT_SECONDS,
        "look_ahead": LOOK_AHEAD,
        "settled": claims.settled(),
    }
    rows = await database.rows(_LEDGER["claim"], now=database.now, is_told=False, **parameters)
    if not rows:
        # There was nothing to take, or else it must be told.
        rows = await database.write(partial(_claim, parameters=parameters))
    taken = _attempts(rows)
    claims.took(claim_id, [(each.execution_id, each.attempt) for each in taken.values()])
    return _in_order(taken, ids)


async def _claim(transaction: Transaction, parameters: Parameters) -> list[Row]:
    rows = await transaction.rows(_LEDGER["claim"], now=transaction.now, is_told=True, **parameters)
    transaction.news.happened(EXECUTION_STARTED, [row["id"] for row in rows])
    return rows


async def claimed(database: Database, ids: Sequence[UUID], worker_id: str) -> Sequence[Attempt]:
    """Tell which executions run under a worker."""
    rows = await database.rows(_LEDGER["claimed"], ids=ids, worker_id=worker_id, now=database.now)
    return _in_order(_attempts(rows), ids)


def _attempts(rows: Sequence[Row]) -> dict[UUID, Attempt]:
    """Read attempts by their executions; the definition of a job comes with one of its rows at least."""
    if not rows:
        return {}
    definitions = {row["job_id"]: shared_definition(text) for row in rows if (text := row["definition"]) is not None}
    claimed_at = rows[0]["claimed_at"]
    return {
        row["id"]: attempt_of(row, definitions[row["job_id"]], claimed_at=claimed_at, had_begun=row["had_begun"])
        for row in rows
    }


def _in_order(taken: Mapping[UUID, Attempt], ids: Sequence[UUID]) -> Sequence[Attempt]:
    return [taken[each] for each in dict.fromkeys(ids) if each in taken]


async def renew(database: Database, leases: Mapping[Hold, timedelta], worker_id: str) -> Sequence[Hold]:
    """Extend the leases of a worker, in one round trip."""
    if not leases:
        return []
    renewed = await database.rows(
        _LEDGER["renew"],
        ids=[execution_id for execution_id, _ in leases],
        attempts=[attempt for _, attempt in leases],
        leases=list(leases.values()),
        now=database.now,
        worker_id=worker_id,
    )
    running = {(row["id"], row["attempt"]) for row in renewed if row["status"] == ExecutionStatus.RUNNING.value}
    return [hold for hold in leases if hold not in running]


async def stopped(database: Database, holds: Sequence[Hold]) -> Sequence[Hold]:
    """Tell which attempts no longer run."""
    if not holds:
        return []
    rows = await database.rows(_LEDGER["still_running"], ids=[execution_id for execution_id, _ in holds])
    running = {(row["id"], row["attempt"]) for row in rows}
    return [hold for hold in holds if hold not in running]


async def release(
    transaction: Transaction, holds: Sequence[Hold], *, locked: Collection[UUID]
) -> tuple[Sequence[Hold], Sequence[Dispatch]]:
    """
    Free the slots of ended executions; answer which, and the waiting work that is admitted.

    Raises:
        UnlockedJobs: as for `load_of_executions`.
    """
    ids = [execution_id for execution_id, _ in holds]
    accounts = Accounts(transaction.now)
    await load_of_executions(transaction, accounts, ids, locked=locked)
    unreleased = await transaction.rows(_LEDGER["lock_unreleased"], ids=ids)
    wanted = set(holds)
    rows = [row for row in unreleased if (row["id"], row["attempt"]) in wanted]
    for row in rows:
        accounts.release(row["job_id"], row["holds_slot"])
    await transaction.run(_LEDGER["release"], ids=[row["id"] for row in rows])
    return [(row["id"], row["attempt"]) for row in rows], await settle(transaction, accounts)


async def lapsed(transaction: Transaction, *, frontier: Frontier, limit: int) -> Sequence[Lapse]:
    """List leases that the clock calls expired; now and then, remove the claims that are settled."""
    now = transaction.now
    since = await frontier.since(transaction)
    rows = await transaction.rows(
        _LEDGER["lapsed"],
        since=since,
        now=now,
        look_ahead=LOOK_AHEAD,
        limit=limit,
        lock_timeout_seconds=LOCK_TIMEOUT_SECONDS,
    )
    if since == EVER:
        await transaction.run(_LEDGER["settle_claims"])
    [first] = await transaction.column(_LEDGER["first_claimed"], since=since)
    await frontier.tell(transaction, first)
    frontier.move(first, now)
    return [
        Lapse(
            hold=(row["id"], row["attempt"]),
            lease_expires_at=row["lease_expires_at"],
            lock_timeout_seconds=row["lock_timeout_seconds"],
        )
        for row in rows
    ]


async def expired(database: Database, holds: Sequence[Hold]) -> Sequence[Lease]:
    """Tell which holds the clock calls expired."""
    if not holds:
        return []
    ids = [execution_id for execution_id, _ in holds]
    rows = await database.rows(_LEDGER["expired"], ids=ids, now=database.now, look_ahead=LOOK_AHEAD)
    wanted = set(holds)
    return [
        Lease(
            attempt=attempt_of(row, shared_definition(row["definition"])),
            status=ExecutionStatus(row["status"]),
            lease_expires_at=row["lease_expires_at"],
        )
        for row in rows
        if (row["id"], row["attempt"]) in wanted
    ]
