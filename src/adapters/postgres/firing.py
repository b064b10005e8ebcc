"""Fire: due jobs, planned and written in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.plan import Plan, at_once, is_plain_fire, is_postponed
from ...domain.unreadable import planned
from ...ports.ledger import Fired, Planner
from .accounts import load, load_free
from .plain_fires import write_plain_fires
from .plans import Written, write_plans
from .statements import statements
from .transaction import Transaction

_JOBS: Final = statements("jobs")

_PATIENCE: Final = timedelta(seconds=1)
"""How late a job may become before its locked counters are waited for."""

Writer: TypeAlias = Callable[[Transaction, Accounts, Sequence[Plan]], Awaitable[Written]]
"""Writes the plans of jobs that are loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look at due jobs came to, and a job that it passed over and that is worth waiting for, if any."""

    fired: Fired
    passed_over: UUID | None


async def fire(
    transaction: Transaction, planner: Planner, *, since: datetime, ahead: timedelta, limit: int, write: Writer
) -> Look:
    """
    Write the plans of jobs that are due, or will be within `ahead`, of those not due before `since`.

    A job whose counters are locked, by a finish that is under way or by a process that froze in one, is passed over:
    to wait for it would hold up all the others that are locked here.

    Raises:
        UniqueViolationError: as for `write`.
    """
    accounts, now = Accounts(transaction.now), transaction.now
    due = await transaction.rows(_JOBS["lock_due_jobs"], since=since, until=now + ahead, limit=limit)
    jobs = await load_free(transaction, accounts, due)
    plans = at_once(planned(job, now, planner) for job in jobs)
    given = [plan for job, plan in zip(jobs, plans, strict=False) if not is_postponed(job, plan, now)]
    fired = await _fired(transaction, await write(transaction, accounts, given), since)
    free = {job.id for job in jobs}
    passed_over = next((row for row in due if row["id"] not in free), None)
    latest = now if not jobs else now - _PATIENCE
    is_overdue = passed_over is not None and passed_over["next_run"] <= latest
    return Look(
        fired=replace(fired, jobs=len(given), postponed=len(plans) - len(given)),
        passed_over=passed_over["id"] if passed_over is not None and is_overdue else None,
    )


async def fire_one(transaction: Transaction, planner: Planner, job_id: UUID, since: datetime) -> Fired:
    """
    Write the plan of one job, waiting for its counters, while other timers see to the others.

    Raises:
        StoreUnavailable: somebody holds them for too long.
    """
    accounts = Accounts(transaction.now)
    await transaction.run(_JOBS["wait_briefly"])
    due = await transaction.rows(_JOBS["lock_due_job"], id=job_id, now=transaction.now)
    plans = [planned(job, transaction.now, planner) for job in await load(transaction, accounts, due)]
    fired = await _fired(transaction, await write_plans(transaction, accounts, plans), since)
    return replace(fired, jobs=len(plans))


async def written_unseen(transaction: Transaction, accounts: Accounts, plans: Sequence[Plan]) -> Written:
    """
    Write plans, plain fires without a look whether the ledger has their nominal times, which it hardly ever does.

    Raises:
        UniqueViolationError: it does; the transaction is lost, and `write_plans` is for the next.
    """
    plain = [plan for plan in plans if is_plain_fire(plan)]
    dispatches = await write_plain_fires(transaction, plain)
    others = [plan for plan in plans if not is_plain_fire(plan)] if len(plain) < len(plans) else []
    written = await write_plans(transaction, accounts, others)
    return replace(
        written,
        executions=[*(plan.executions[0] for plan in plain), *written.executions],
        dispatches=[*dispatches, *written.dispatches],
    )


def joined(first: Fired, second: Fired) -> Fired:
    """Sum two looks up, of which the second came later."""
    return replace(
        second,
        dispatches=[*first.dispatches, *second.dispatches],
        jobs=first.jobs + second.jobs,
        executions=first.executions + second.executions,
        skips=first.skips + second.skips,
    )


async def _fired(transaction: Transaction, written: Written, since: datetime) -> Fired:
    """Say what was written, but for of how many jobs, and what is due next."""
    skips = sum(row.skip_reason is not None for row in written.executions)
    [next_due] = await transaction.column(_JOBS["next_due"], since=since)
    return Fired(
        dispatches=written.dispatches,
        jobs=0,
        executions=len(written.executions) - skips,
        skips=skips,
        next_due=next_due,
        now=transaction.now,
    )
