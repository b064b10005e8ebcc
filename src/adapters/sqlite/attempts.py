"""Leases: who runs what, until when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.attempt import Attempt
from ...domain.execution import ExecutionStatus
from ...domain.firing import LOOK_AHEAD
from ...domain.job import LOCK_TIMEOUT_SECONDS
from ...ports.dispatcher import Dispatch
from ...ports.ledger import Hold, Lapse, Lease
from .accounts import load, settle
from .execution_rows import attempt_of
from .instants import from_micros, span_micros
from .readable import readable
from .statements import statements
from .transaction import Transaction, array

_LEDGER: Final = statements("ledger")


def claimed(transaction: Transaction, ids: Sequence[UUID], worker_id: str) -> Sequence[Attempt]:
    """Tell which executions run under a worker."""
    rows = transaction.rows(_LEDGER["attempts"], ids=array(dict.fromkeys(ids)))
    own = (row for row in rows if row["status"] == ExecutionStatus.RUNNING.value and row["worker_id"] == worker_id)
    return [attempt for _, attempt in readable(own, partial(attempt_of, claimed_at=transaction.now))]


def renew(transaction: Transaction, leases: Mapping[Hold, timedelta], worker_id: str) -> Sequence[Hold]:
    """Extend the leases of a worker."""
    renewed = transaction.rows(
        _LEDGER["renew"],
        holds=array((str(each), attempt, span_micros(lease)) for (each, attempt), lease in leases.items()),
        now=transaction.now_micros,
        worker_id=worker_id,
    )
    running = {(UUID(row["id"]), row["attempt"]) for row in renewed if row["status"] == ExecutionStatus.RUNNING.value}
    return [hold for hold in leases if hold not in running]


def stopped(transaction: Transaction, holds: Sequence[Hold]) -> Sequence[Hold]:
    """Tell which attempts no longer run."""
    rows = transaction.rows(_LEDGER["still_running"], holds=_holds(holds))
    running = {(UUID(row["id"]), row["attempt"]) for row in rows}
    return [hold for hold in holds if hold not in running]


def release(transaction: Transaction, holds: Sequence[Hold]) -> Sequence[Dispatch]:
    """Free the slots of ended executions."""
    rows = transaction.rows(_LEDGER["unreleased"], holds=_holds(dict.fromkeys(holds)))
    accounts = Accounts(transaction.now)
    load(transaction, accounts, (row["job_id"] for row in rows))
    for row in rows:
        accounts.release(UUID(row["job_id"]), row["holds_slot"])
    transaction.run(_LEDGER["release"], ids=array(row["id"] for row in rows))
    return settle(transaction, accounts)


def lapsed(transaction: Transaction, limit: int) -> Sequence[Lapse]:
    """List leases that the clock calls expired."""
    rows = transaction.rows(
        _LEDGER["lapsed"],
        now=transaction.now_micros,
        ahead=span_micros(LOOK_AHEAD),
        limit=limit,
        lock_timeout_seconds=LOCK_TIMEOUT_SECONDS,
    )
    return [
        Lapse(
            hold=(UUID(row["id"]), row["attempt"]),
            lease_expires_at=from_micros(row["lease_expires_at"]),
            lock_timeout_seconds=row["lock_timeout_seconds"],
        )
        for row in rows
    ]


def expired(transaction: Transaction, holds: Sequence[Hold]) -> Sequence[Lease]:
    """Tell which holds the clock calls expired."""
    ids = transaction.column(
        _LEDGER["expired"], holds=_holds(holds), now=transaction.now_micros, ahead=span_micros(LOOK_AHEAD)
    )
    return [
        Lease(
            attempt=attempt,
            status=ExecutionStatus(row["status"]),
            lease_expires_at=from_micros(row["lease_expires_at"]),
        )
        for row, attempt in readable(transaction.rows(_LEDGER["attempts"], ids=array(ids)), attempt_of)
    ]


def _holds(holds: Iterable[Hold]) -> str:
    return array((str(execution_id), attempt) for execution_id, attempt in holds)
