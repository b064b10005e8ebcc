"""Many jobs at once, over SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.job import ScheduledJob
from ...domain.plan import Decision, Plan
from ...domain.unreadable import decided, decided_each
from ...ports.batches import Added, ChangedJobs, Meeting
from .accounts import insert, read_jobs
from .database import Database
from .job_rows import definition_row
from .plans import write_plans
from .statements import statements
from .transaction import Transaction, array

_BATCHES: Final = statements("batches")
_JOBS: Final = statements("jobs")


class SqliteBatches:
    """Many jobs of one tenant in one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, jobs: Sequence[ScheduledJob], meet: Meeting) -> Added:
        """Insert jobs; where another one has a key, decide about that."""
        return await self._database.write(partial(_added, jobs=jobs, meet=meet))

    async def read(self, tenant_id: str, job_ids: Sequence[UUID]) -> Sequence[ScheduledJob]:
        """Read those of the jobs that are there."""
        return await self._database.read(
            lambda transaction: read_jobs(transaction, array(_existing(transaction, tenant_id, job_ids)))
        )

    async def change(self, tenant_id: str, job_ids: Sequence[UUID], decide: Decision) -> ChangedJobs:
        """Decide about each of the jobs that are there."""

        def work(transaction: Transaction) -> ChangedJobs:
            accounts = Accounts(transaction.now)
            jobs = _entered(transaction, accounts, _existing(transaction, tenant_id, job_ids))
            plans, refused = decided_each(jobs.values(), transaction.now, decide)
            written = write_plans(transaction, accounts, plans)
            _save_definitions(transaction, jobs, plans)
            stand = [accounts.job(plan.job.id) for plan in plans]
            return ChangedJobs(jobs=stand, refused=refused, dispatches=written.dispatches, stopped=written.stopped)

        return await self._database.write(work)


def _existing(transaction: Transaction, tenant_id: str, job_ids: Sequence[UUID]) -> list[str]:
    return transaction.column(_BATCHES["jobs_of_tenant"], tenant_id=tenant_id, ids=array(job_ids))


def _added(transaction: Transaction, *, jobs: Sequence[ScheduledJob], meet: Meeting) -> Added:
    holders = _holders(transaction, jobs)
    accounts = Accounts(transaction.now)
    met = _entered(transaction, accounts, holders.values()) if holders else {}
    plans = [decided(met[holders[job.id]], transaction.now, meet(job)) for job in jobs if job.id in holders]
    written = write_plans(transaction, accounts, plans) if plans else None
    _save_definitions(transaction, met, plans)
    insert(transaction, [job for job in jobs if job.id not in holders])
    stand = [accounts.job(holders[job.id]) if job.id in holders else job for job in jobs]
    return Added(jobs=stand, dispatches=written.dispatches, stopped=written.stopped) if written else Added(jobs=stand)


def _entered(transaction: Transaction, accounts: Accounts, job_ids: Iterable[object]) -> Mapping[UUID, ScheduledJob]:
    """Enter jobs for whoever may do with their definitions' documents as they like, and give them by their ids."""
    jobs = read_jobs(transaction, array(dict.fromkeys(job_ids)))
    accounts.enter(jobs)
    return {job.id: job for job in jobs}


def _save_definitions(transaction: Transaction, jobs: Mapping[UUID, ScheduledJob], plans: Sequence[Plan]) -> None:
    """Write the definitions that are another now: what only stops or ends a job leaves it the very same."""
    changed = [plan.job for plan in plans if plan.change and plan.job.definition is not jobs[plan.job.id].definition]
    transaction.run_many(_JOBS["save_definition"], map(definition_row, changed))


def _holders(transaction: Transaction, jobs: Sequence[ScheduledJob]) -> Mapping[UUID, UUID]:
    """Find who has the keys of new jobs, by those."""
    keyed = [job for job in jobs if job.definition.key is not None]
    if not keyed:
        return {}
    keys = array((job.tenant_id, job.definition.handler_name, job.definition.key) for job in keyed)
    return {keyed[row["place"]].id: UUID(row["id"]) for row in transaction.rows(_BATCHES["jobs_with_keys"], keys=keys)}
