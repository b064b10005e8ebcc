"""What a batch of events concerns, as it is locked and read before anybody decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.flow import FlowState
from ...domain.job import JobStatus, ScheduledJob
from ...domain.json import encoded
from ...domain.lifecycle import ENDED
from ...domain.resolution import Cancel, FlowKey, JobKey, Situation, Wanted, is_meant
from .accounts import load_for_ends, lock_jobs
from .event_rows import flow_of, gathering_of
from .statements import statements
from .transaction import Parameters, Transaction

_JOBS: Final = statements("jobs")
_EVENTS: Final = statements("events")


async def situation(
    transaction: Transaction, accounts: Accounts, wanted: Wanted, *, locked: Collection[UUID]
) -> Situation:
    """
    Lock and read what is wanted: keys of flow control, rows of jobs that may be cancelled, counters of jobs.

    Raises:
        UnlockedJobs: as for `load_for_ends`.
    """
    flows = await _flows(transaction, list(wanted.flows))
    holders = await _holders(transaction, list(wanted.keys))
    meant = await _meant(transaction, list(wanted.cancels))
    own = {*locked, *holders.values(), *(job_id for ids in meant.values() for job_id in ids)}
    await lock_jobs(transaction, own)
    found = await load_for_ends(transaction, accounts, own.union(wanted.jobs), locked=own)
    jobs = {job.id: job for job in found if job.deleted_at is None}
    return Situation(
        now=transaction.now,
        jobs=jobs,
        keyed={key: job_id for key, job_id in holders.items() if job_id in jobs and _has(jobs[job_id], key)},
        cancellable={
            cancel: [job_id for job_id in ids if job_id in jobs and _is_cancellable(jobs[job_id], cancel)]
            for cancel, ids in meant.items()
        },
        flows=flows,
    )


async def _flows(transaction: Transaction, keys: Sequence[FlowKey]) -> Mapping[FlowKey, FlowState]:
    if not keys:
        return {}
    rows = await transaction.rows(
        _EVENTS["lock_flows"],
        handler_ids=[handler_id for handler_id, _ in keys],
        flow_keys=[flow_key for _, flow_key in keys],
        now=transaction.now,
    )
    open_ids = [row["gathering_id"] for row in rows if row["gathering_id"] is not None]
    found = await transaction.rows(_EVENTS["gatherings"], ids=open_ids) if open_ids else []
    gatherings = {row["id"]: gathering_of(row) for row in found}
    return {(row["handler_id"], row["flow_key"]): flow_of(row, gatherings) for row in rows}


async def _holders(transaction: Transaction, keys: Sequence[JobKey]) -> Mapping[JobKey, UUID]:
    """Find who has which key, before their rows are locked."""
    if not keys:
        return {}
    parameters: Parameters = {
        "tenant_ids": [tenant_id for tenant_id, _, _ in keys],
        "handler_names": [handler_name for _, handler_name, _ in keys],
        "keys": [key for _, _, key in keys],
    }
    await transaction.run(_JOBS["wait_for_keys"], **parameters)
    rows = await transaction.rows(_JOBS["jobs_with_keys"], **parameters)
    return {(row["tenant_id"], row["handler_name"], row["key"]): row["id"] for row in rows}


async def _meant(transaction: Transaction, cancels: Sequence[Cancel]) -> Mapping[Cancel, Sequence[UUID]]:
    """Find which jobs are to be cancelled, before their rows are locked."""
    if not cancels:
        return {}
    rows = await transaction.rows(
        _JOBS["cancellable_jobs"],
        tenant_ids=[cancel.tenant_id for cancel in cancels],
        keys=[cancel.key for cancel in cancels],
        tags=[encoded(cancel.tags) for cancel in cancels],
    )
    found: dict[Cancel, list[UUID]] = defaultdict(list)
    for row in rows:
        found[cancels[row["place"] - 1]].append(row["id"])
    return found


def _has(job: ScheduledJob, key: JobKey) -> bool:
    """Tell whether a job still has the key by which it was found."""
    definition = job.definition
    return job.status is not JobStatus.CANCELLED and (job.tenant_id, definition.handler_name, definition.key) == key


def _is_cancellable(job: ScheduledJob, cancel: Cancel) -> bool:
    """Tell whether a job still is what it was found for."""
    return job.status not in ENDED and is_meant(job, cancel)
