from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import pytest

from tests.contracts.steps import TENANT, an_idle_job, trigger
from tests.makers import START, new_id
from tests.postgres.nodes import a_connection
from tocsin.adapters.postgres import executions, jobs
from tocsin.adapters.postgres.statements import Statement, statements
from tocsin.adapters.postgres.transaction import Parameters
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus, OverlapPolicy
from tocsin.ports.queries import ExecutionFilter, JobFilter, SortOrder
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

# What is left of a plan without them walks an index in its order, or sorts because it must.
ONLY_IN_ORDER = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off"
BY_ANY_INDEX = "SET enable_seqscan = off"
MANY_MORE = """
INSERT INTO jobs (id, tenant_id, status, exhausted, created_at, updated_at, version, definition)
SELECT gen_random_uuid(), tenant_id, other.status, exhausted, created_at, updated_at, version, definition
FROM jobs, unnest(ARRAY['active', 'completed']) AS other (status), generate_series(1, 1000)"""


async def plan(url: str, statement: Statement, parameters: Parameters, settings: str = ONLY_IN_ORDER) -> str:
    async with a_connection(url) as connection:
        await connection.execute(settings)
        arguments = statement.arguments({"tenant_id": TENANT, **parameters})
        lines = await connection.fetch(f"EXPLAIN (COSTS off) {statement.text}", *arguments)
    return "\n".join(line[0] for line in lines)


@pytest.mark.parametrize("order", list(SortOrder))
async def test_a_list_of_jobs_by_age_walks_the_index_of_the_tenant(
    storage: Storage, postgres_url: str, order: SortOrder
) -> None:
    for _ in range(3):
        await an_idle_job(storage)
    first = JobFilter(limit=2, sort_order=order)
    cursor = (await storage.jobs.list(TENANT, first)).next_cursor

    for query in (first, replace(first, cursor=cursor), replace(first, status=(JobStatus.ACTIVE,))):
        shown = await plan(postgres_url, statements("jobs")["matching_jobs"], jobs._conditions(query))  # noqa: SLF001 - the words of one list

        assert "jobs_of_tenant" in shown
        assert "Sort" not in shown
        assert "CASE" not in shown


async def test_a_list_of_the_jobs_that_failed_looks_at_no_others(storage: Storage, postgres_url: str) -> None:
    await an_idle_job(storage)
    async with a_connection(postgres_url) as connection:
        await connection.execute(MANY_MORE)
        await connection.execute("ANALYZE jobs")
    query = JobFilter(status=(JobStatus.FAILED,))

    conditions = jobs._conditions(query)  # noqa: SLF001 - as above
    shown = await plan(postgres_url, statements("jobs")["matching_jobs"], conditions, settings=BY_ANY_INDEX)

    assert shown.count("jobs_inactive") == 2


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (ExecutionFilter(limit=2), "executions_of_tenant"),
        (ExecutionFilter(limit=2, job_id=new_id(START)), "executions_of_job"),
        (ExecutionFilter(limit=2, status=(ExecutionStatus.FAILED,)), "executions_failed"),
    ],
)
async def test_a_list_of_executions_walks_the_index_that_has_its_order(
    storage: Storage, postgres_url: str, query: ExecutionFilter, index: str
) -> None:
    await trigger(storage, await an_idle_job(storage, overlap_policy=OverlapPolicy.ALLOW_ALL), 3)
    cursor = (await storage.executions.list(TENANT, ExecutionFilter(limit=2))).next_cursor
    assert cursor is not None

    shown = await plan(postgres_url, statements("executions")["matching_executions"], executions._conditions(query))  # noqa: SLF001 - as above

    assert index in shown
    assert "Sort" not in shown
