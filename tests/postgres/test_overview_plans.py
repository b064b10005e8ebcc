"""By which indexes pages are read."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from tests.contracts.steps import an_idle_job, trigger
from tests.makers import START
from tests.postgres.nodes import a_connection
from tests.postgres.test_plans import BY_ANY_INDEX, ONLY_IN_ORDER, plan
from tocsin.adapters.postgres.statements import statements
from tocsin.ports.storage import Storage

LONG_PAST = """
INSERT INTO executions (
    id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, attempt, failures,
    max_retries, holds_slot, past_attempts, metadata
)
SELECT
    gen_random_uuid(), e.job_id, 1, e.tenant_id, 'success', 'schedule', e.scheduled_at - n * interval '1 hour',
    e.created_at - n * interval '1 hour', 50, 1, 0, 0, false, '[]', '{}'
FROM executions AS e, generate_series(1, 5000) AS n"""
OVERVIEWS = statements("overviews")
SERIES = {"since": START, "first": START, "width": timedelta(minutes=1)}
DAY = {"starts": [START], "since": START, "until": START + timedelta(days=1), "percent": None}


@pytest.fixture
async def job_id(storage: Storage, postgres_url: str) -> UUID:
    """One with a past that is longer than any page shows."""
    job = await an_idle_job(storage)
    await trigger(storage, job, 1)
    async with a_connection(postgres_url) as connection:
        await connection.execute(LONG_PAST)
        await connection.execute("ANALYZE executions")
    return job.id


async def test_outcomes_walk_the_index_of_each_job(job_id: UUID, postgres_url: str) -> None:
    asked = {"job_ids": [job_id], "limit": 50}

    shown = await plan(postgres_url, OVERVIEWS["outcomes"], asked, settings=BY_ANY_INDEX)

    assert "Index Scan Backward using executions_of_job" in shown


async def test_fires_to_come_walk_the_index_of_the_timer(job_id: UUID, postgres_url: str) -> None:
    shown = await plan(postgres_url, OVERVIEWS["due_before"], {"until": START, "limit": 5}, settings=ONLY_IN_ORDER)

    assert "Index Scan using jobs_due" in shown
    assert "Sort" not in shown
    assert job_id


@pytest.mark.parametrize("name", ["series", "series_lateness"])
async def test_a_series_walks_the_index_of_when_executions_were_made(
    job_id: UUID, postgres_url: str, name: str
) -> None:
    shown = await plan(postgres_url, OVERVIEWS[name], {**SERIES, "percent": None}, settings=BY_ANY_INDEX)

    assert "executions_created" in shown
    assert "Sample Scan" not in shown
    assert job_id


@pytest.mark.parametrize("name", ["series", "series_lateness"])
async def test_a_sample_is_all_that_a_series_of_too_much_looks_at(job_id: UUID, postgres_url: str, name: str) -> None:
    shown = await plan(postgres_url, OVERVIEWS[name], {**SERIES, "percent": 5.0}, settings=BY_ANY_INDEX)

    assert "Index" not in shown
    assert "Sample Scan on executions" in shown
    assert job_id


async def test_how_much_was_made_is_counted_in_an_index_alone(job_id: UUID, postgres_url: str) -> None:
    asked = {"since": START, "at_most": 10}

    shown = await plan(postgres_url, OVERVIEWS["series_size"], asked, settings=BY_ANY_INDEX)

    assert "Index Only Scan using executions_created" in shown
    assert job_id


async def test_a_month_is_counted_along_the_index_of_the_job(job_id: UUID, postgres_url: str) -> None:
    shown = await plan(postgres_url, OVERVIEWS["daily"], {**DAY, "job_id": job_id}, settings=BY_ANY_INDEX)

    assert "executions_of_job" in shown
    assert "Sample Scan" not in shown


async def test_a_sample_is_all_that_a_month_of_too_much_looks_at(job_id: UUID, postgres_url: str) -> None:
    asked = {**DAY, "job_id": job_id, "percent": 5.0}

    shown = await plan(postgres_url, OVERVIEWS["daily"], asked, settings=BY_ANY_INDEX)

    assert "executions_of_job" not in shown
    assert "Sample Scan on executions" in shown
