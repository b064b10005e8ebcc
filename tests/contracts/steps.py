"""What tests of a store do again and again, and how they recount what it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from tests.makers import an_event_job, triggered
from tocsin.domain.attempt import Attempt
from tocsin.domain.counters import JobCounters
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin
from tocsin.domain.job import DEFAULT_TENANT, ScheduledJob
from tocsin.domain.plan import JobChange
from tocsin.ports.ledger import Lease
from tocsin.ports.queries import ExecutionFilter
from tocsin.ports.storage import Storage

TENANT: Final = DEFAULT_TENANT
WORKER: Final = "node-1/boot-1"


async def an_idle_job(storage: Storage, **fields: object) -> ScheduledJob:
    """Store a job that has no timer."""
    return await storage.jobs.add(an_event_job(**fields))


async def trigger(storage: Storage, job: ScheduledJob, times: int) -> list[JobExecution]:
    """Run a job by hand, several times; the answers in order."""
    answers = [await storage.jobs.change(job.tenant_id, job.id, triggered()) for _ in range(times)]
    return [answer.execution for answer in answers if answer.execution is not None]


async def claim(storage: Storage, *rows: JobExecution) -> Sequence[Attempt]:
    """Claim executions for the one worker."""
    return await storage.ledger.claim([row.id for row in rows], worker_id=WORKER)


async def a_running_attempt(storage: Storage, **fields: object) -> Attempt:
    """Store an idle job, run it by hand and claim that execution."""
    job = await an_idle_job(storage, **fields)
    [attempt] = await claim(storage, *await trigger(storage, job, 1))
    return attempt


async def expired(storage: Storage, *, limit: int) -> Sequence[Lease]:
    """Read the leases that have lapsed, as a sweeper does."""
    return await storage.ledger.expired([lapse.hold for lapse in await storage.ledger.lapsed(limit=limit)])


async def executions_of(storage: Storage, job: ScheduledJob) -> list[JobExecution]:
    """Read every execution of a job, oldest id first, page by page."""
    query = ExecutionFilter(job_id=job.id, limit=250)
    page = await storage.executions.list(job.tenant_id, query)
    rows = [*page.items]
    while page.next_cursor is not None:
        page = await storage.executions.list(job.tenant_id, replace(query, cursor=page.next_cursor))
        rows += page.items
    return sorted(rows, key=lambda row: row.id)


async def execution(storage: Storage, execution_id: UUID) -> JobExecution:
    """Read one execution of the default tenant."""
    return await storage.executions.get(TENANT, execution_id)


async def counters(storage: Storage, job: ScheduledJob) -> JobCounters:
    """Read what the store has counted for a job."""
    return (await storage.jobs.get(job.tenant_id, job.id)).counters


def recount(rows: Sequence[JobExecution]) -> JobCounters:
    """Count from all rows of a job what the store should have, but for the run of failures, which rows do not tell."""
    statuses = [row.status for row in rows]
    failures = statuses.count(ExecutionStatus.FAILED) + statuses.count(ExecutionStatus.TIMEOUT)
    successes = [row for row in rows if row.status is ExecutionStatus.SUCCESS]
    return JobCounters(
        executions_count=len(successes) + failures,
        success_count=len(successes),
        failure_count=failures,
        duration_total_ms=sum(row.duration_ms or 0 for row in successes),
        scheduled_count=sum(
            row.origin is Origin.SCHEDULE and row.status is not ExecutionStatus.SKIPPED for row in rows
        ),
        slots_taken=sum(row.holds_slot for row in rows),
        waiting=sum(row.status is ExecutionStatus.PENDING and row.available_at is None for row in rows),
        live=sum(not row.status.terminal for row in rows),
    )


async def versions_of(storage: Storage, tenant_id: str, job_id: UUID) -> list[JobChange]:
    """Read every recorded version of a job, oldest first, page by page."""
    page = await storage.jobs.versions(tenant_id, job_id, limit=2)
    found = [*page.items]
    while page.next_cursor is not None:
        page = await storage.jobs.versions(tenant_id, job_id, limit=2, before_version=found[-1].version)
        found += page.items
    return found[::-1]
