"""Many jobs at once, over PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.errors import TocsinError
from ...domain.job import JobStatus, ScheduledJob
from ...domain.plan import Decision, Plan
from ...domain.unreadable import decided, decided_each
from ...ports.batches import Added, ChangedJobs, Meeting
from .accounts import load_own, read_jobs
from .database import Database
from .job_rows import definition_row
from .new_jobs import insert_jobs
from .plans import write_plans
from .races import again_if_raced
from .statements import statements
from .transaction import Parameters, Transaction

_JOBS: Final = statements("jobs")
_BATCHES: Final = statements("batches")

_BREATH: Final = 10
"""Jobs after which whoever else is due on this event loop has a turn: to plan one takes up to some milliseconds."""


class PostgresBatches:
    """Many jobs of one tenant in one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, jobs: Sequence[ScheduledJob], meet: Meeting) -> Added:
        """Insert jobs; where another one has a key, decide about that."""
        work = partial(_added, jobs=jobs, meet=meet)
        return await again_if_raced(partial(self._database.change, work))

    async def read(self, tenant_id: str, job_ids: Sequence[UUID]) -> Sequence[ScheduledJob]:
        """Read those of the jobs that are there."""
        found = await self._database.read(lambda transaction: read_jobs(transaction, list(job_ids)))
        return [job for job in found if job.tenant_id == tenant_id and job.deleted_at is None]

    async def change(self, tenant_id: str, job_ids: Sequence[UUID], decide: Decision) -> ChangedJobs:
        """Decide about each of the jobs that are there."""

        async def work(transaction: Transaction) -> ChangedJobs:
            rows = await transaction.rows(_BATCHES["lock_jobs_of_tenant"], tenant_id=tenant_id, ids=list(job_ids))
            accounts = Accounts(transaction.now)
            jobs = await load_own(transaction, accounts, rows)
            plans, refused = await _plans_of(transaction, jobs, decide)
            written = await write_plans(transaction, accounts, plans)
            await _save_definitions(transaction, jobs, plans)
            stand = [accounts.job(plan.job.id) for plan in plans]
            return ChangedJobs(jobs=stand, refused=refused, dispatches=written.dispatches, stopped=written.stopped)

        return await again_if_raced(partial(self._database.change, work))


async def _plans_of(
    transaction: Transaction, jobs: Sequence[ScheduledJob], decide: Decision
) -> tuple[list[Plan], list[tuple[ScheduledJob, TocsinError]]]:
    plans: list[Plan] = []
    refused: list[tuple[ScheduledJob, TocsinError]] = []
    for first in range(0, len(jobs), _BREATH):
        made, others = decided_each(jobs[first : first + _BREATH], transaction.now, decide)
        plans += made
        refused += others
        await asyncio.sleep(0)
    return plans, refused


async def _plans_about(
    transaction: Transaction, met: Mapping[UUID, ScheduledJob], jobs: Sequence[ScheduledJob], meet: Meeting
) -> list[Plan]:
    plans: list[Plan] = []
    for job in jobs:
        if job.id in met:
            plans.append(decided(met[job.id], transaction.now, meet(job)))
            if len(plans) % _BREATH == 0:
                await asyncio.sleep(0)
    return plans


async def _added(transaction: Transaction, *, jobs: Sequence[ScheduledJob], meet: Meeting) -> Added:
    accounts = Accounts(transaction.now)
    met = await _holders(transaction, accounts, jobs)
    plans = await _plans_about(transaction, met, jobs, meet)
    written = await write_plans(transaction, accounts, plans) if plans else None
    await _save_definitions(transaction, met.values(), plans)
    await insert_jobs(transaction, [job for job in jobs if job.id not in met])
    stand = [accounts.job(met[job.id].id) if job.id in met else job for job in jobs]
    return Added(jobs=stand, dispatches=written.dispatches, stopped=written.stopped) if written else Added(jobs=stand)


async def _holders(
    transaction: Transaction, accounts: Accounts, jobs: Sequence[ScheduledJob]
) -> Mapping[UUID, ScheduledJob]:
    """Lock and enter who has the keys of new jobs, by the ids of those."""
    keyed = {(job.definition.handler_name, job.definition.key): job for job in jobs if job.definition.key is not None}
    if not keyed:
        return {}
    tenant_id = jobs[0].tenant_id
    parameters: Parameters = {
        "tenant_ids": [tenant_id] * len(keyed),
        "handler_names": [handler_name for handler_name, _ in keyed],
        "keys": [key for _, key in keyed],
    }
    await transaction.run(_JOBS["wait_for_keys"], **parameters)
    ids = [row["id"] for row in await transaction.rows(_JOBS["jobs_with_keys"], **parameters)]
    if not ids:
        return {}
    locked = await transaction.rows(_BATCHES["lock_jobs_of_tenant"], tenant_id=tenant_id, ids=ids)
    # Until it was locked a job may have given its key up.
    named = [(row, keyed.get((row["handler_name"], row["key"]))) for row in locked]
    held = [(row, new.id) for row, new in named if new is not None and row["status"] != JobStatus.CANCELLED]
    loaded = await load_own(transaction, accounts, [row for row, _ in held])
    return {new_id: job for (_, new_id), job in zip(held, loaded, strict=True)}


async def _save_definitions(transaction: Transaction, jobs: Iterable[ScheduledJob], plans: Sequence[Plan]) -> None:
    """Write the definitions that are another now: what only stops or ends a job leaves it the very same."""
    stored = {job.id: job.definition for job in jobs}
    changed = [plan.job for plan in plans if plan.change and plan.job.definition is not stored[plan.job.id]]
    await transaction.run_for(_BATCHES["save_definitions"], [definition_row(job) for job in changed])
