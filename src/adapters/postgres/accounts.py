"""
The jobs that one transaction moves, as they are locked, read and written.

Locks are taken in one order, whatever a transaction does: keys of flow control, then jobs, then counters, then
executions, then counters of event handlers, each by id. A timer waits for no job, and a claim for no execution. So no
two transactions can wait for each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.job import JobDefinition, JobType, ScheduledJob
from ...domain.plan import is_at_stake
from ...domain.stored import own_definition, shared_definition
from ...ports.dispatcher import Dispatch
from .execution_rows import dispatch_of
from .job_rows import change_row, counters_columns, job_of, state_columns
from .statements import statements
from .transaction import Row, Transaction

_JOBS: Final = statements("jobs")
_EXECUTIONS: Final = statements("executions")
_LEDGER: Final = statements("ledger")
TYPES_AT_STAKE: Final = [each.value for each in JobType if is_at_stake(exhausted=False, job_type=each.value)]


class UnlockedJobs(Exception):
    """Jobs whose own rows may change with this transaction, which has not locked them."""

    def __init__(self, job_ids: Collection[UUID]) -> None:
        super().__init__(job_ids)
        self.job_ids = job_ids


async def read_jobs(transaction: Transaction, ids: Sequence[UUID]) -> list[ScheduledJob]:
    """Read jobs, for whoever asked, in the order of the ids; deleted ones too."""
    rows = await transaction.rows(_JOBS["jobs_by_ids"], ids=ids)
    return [job_of(row, row, own_definition(row["definition"])) for row in rows]


async def read_dispatches(transaction: Transaction, ids: Sequence[UUID]) -> list[Dispatch]:
    """Word what an executor needs in order to claim these, in their order."""
    return [dispatch_of(row) for row in await transaction.rows(_EXECUTIONS["dispatches"], ids=ids)] if ids else []


async def lock_jobs(transaction: Transaction, job_ids: Collection[UUID]) -> None:
    """Lock the rows of jobs, as the first thing that a transaction locks."""
    if job_ids:
        await transaction.run(_JOBS["lock_jobs"], ids=list(job_ids))


async def load(transaction: Transaction, accounts: Accounts, rows: Sequence[Row]) -> Sequence[ScheduledJob]:
    """Lock the counters of jobs whose own locked rows these are, and enter them in the order of the rows."""
    return _entered(accounts, rows, await _locked_counters(transaction, [row["id"] for row in rows]))


async def load_own(transaction: Transaction, accounts: Accounts, rows: Sequence[Row]) -> Sequence[ScheduledJob]:
    """Do as `load` does, for whoever may do with the definitions' documents as they like."""
    return _entered(accounts, rows, await _locked_counters(transaction, [row["id"] for row in rows]), own_definition)


async def load_free(transaction: Transaction, accounts: Accounts, rows: Sequence[Row]) -> Sequence[ScheduledJob]:
    """Do as `load` does, but pass over jobs whose counters somebody else has locked."""
    if not rows:
        return []
    counters = await transaction.rows(_JOBS["lock_free_counters"], ids=[row["id"] for row in rows])
    free = {row["job_id"]: row for row in counters}
    return _entered(accounts, [row for row in rows if row["id"] in free], free)


def _entered(
    accounts: Accounts,
    rows: Sequence[Row],
    counters: Mapping[UUID, Row],
    read: Callable[[str], JobDefinition] = shared_definition,
) -> Sequence[ScheduledJob]:
    jobs = [job_of(row, counters[row["id"]], read(row["definition"])) for row in rows]
    accounts.enter(jobs)
    return jobs


async def load_of_executions(
    transaction: Transaction, accounts: Accounts, execution_ids: Sequence[UUID], *, locked: Collection[UUID]
) -> None:
    """
    Lock the counters of jobs whose executions these are, and the rows of those that may end with them; enter them.

    Raises:
        UnlockedJobs: as for `load_for_ends`; `locked` is what an earlier try was told by it.
    """
    if not execution_ids:
        return
    rows = await transaction.rows(
        _LEDGER["lock_accounts"], ids=execution_ids, types_at_stake=TYPES_AT_STAKE, locked=list(locked)
    )
    counters = {row["job_id"]: row for row in rows}
    await _enter_for_ends(transaction, accounts, counters, {row["job_id"] for row in rows if row["is_locked"]})


async def load_for_ends(
    transaction: Transaction, accounts: Accounts, job_ids: Iterable[UUID], *, locked: Collection[UUID]
) -> Sequence[ScheduledJob]:
    """
    Lock the counters of jobs whose executions end, or to which new ones are added, and enter them.

    Raises:
        UnlockedJobs: the own rows of some may change with that, and are not in `locked`.
    """
    counters = await _locked_counters(transaction, list(set(job_ids)))
    return await _enter_for_ends(transaction, accounts, counters, locked)


async def _enter_for_ends(
    transaction: Transaction, accounts: Accounts, counters: Mapping[UUID, Row], locked: Collection[UUID]
) -> Sequence[ScheduledJob]:
    if not counters:
        return []
    # Read after the locks on the counters: nobody plans for these jobs any more, so what they say is final for now.
    rows = await transaction.rows(_JOBS["jobs"], ids=list(counters))
    if unlocked := {row["id"] for row in rows if _is_at_stake(row)} - set(locked):
        raise UnlockedJobs(unlocked)
    return _entered(accounts, rows, counters)


async def settle(transaction: Transaction, accounts: Accounts) -> list[Dispatch]:
    """Admit waiting work where there are slots, end the jobs that are over, and write what moved: the last step."""
    dispatches = await _admit(transaction, accounts)
    accounts.conclude()
    await _save(transaction, accounts)
    await transaction.run_for(_JOBS["insert_versions"], [change_row(change) for change in accounts.changes])
    for change in accounts.changes:
        transaction.news.changed(change, accounts.job(change.job_id))
    return dispatches


async def _save(transaction: Transaction, accounts: Accounts) -> None:
    """Write what moved of jobs, each column as one list."""
    if states := accounts.states:
        stored = [accounts.stored(job.id) for job in states]
        await transaction.run(_JOBS["save_states"], **state_columns(states, stored))
    if counted := accounts.counters:
        stored = [accounts.stored(job.id) for job in counted]
        await transaction.run(_JOBS["save_counters"], **counters_columns(counted, stored))


def _is_at_stake(row: Row) -> bool:
    return is_at_stake(exhausted=row["exhausted"], job_type=row["type"])


async def _locked_counters(transaction: Transaction, job_ids: Sequence[UUID]) -> Mapping[UUID, Row]:
    rows = await transaction.rows(_JOBS["lock_counters"], ids=job_ids) if job_ids else []
    return {row["job_id"]: row for row in rows}


async def _admit(transaction: Transaction, accounts: Accounts) -> list[Dispatch]:
    vacancies = accounts.vacancies
    if not vacancies:
        return []
    rows = await transaction.rows(
        _EXECUTIONS["oldest_waiting"], job_ids=list(vacancies), slots=list(vacancies.values())
    )
    ids = [row["id"] for row in rows]
    await transaction.run(_EXECUTIONS["admit_executions"], ids=ids, now=transaction.now)
    for job_id, admitted in Counter(row["job_id"] for row in rows).items():
        accounts.admit(job_id, admitted)
    return await read_dispatches(transaction, ids)
