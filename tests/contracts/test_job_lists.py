from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.contracts.steps import TENANT
from tests.makers import START, a_job, an_event_job
from tocsin.domain.errors import InvalidJob
from tocsin.domain.job import JobStatus, JobType, ScheduledJob
from tocsin.ports.queries import ExecutionFilter, JobFilter, SortBy, SortOrder
from tocsin.ports.storage import Storage

MINUTE = timedelta(minutes=1)


async def names(storage: Storage, **conditions: Any) -> list[str]:  # noqa: ANN401 - the fields of a JobFilter
    query = JobFilter(**{"sort_by": SortBy.NAME, "sort_order": SortOrder.ASC, **conditions})
    page = await storage.jobs.list(TENANT, query)
    assert page.total == len(page.items)
    return [job.definition.name for job in page.items]


async def test_lists_are_narrowed_by_each_condition(storage: Storage) -> None:
    hour = timedelta(hours=1)
    await storage.jobs.add(a_job(name="a", tags=("x", "y"), created_by="ann", created_at=START))
    await storage.jobs.add(an_event_job(name="b", tags=("y",), key="k", created_at=START + hour))
    paused = a_job(name="c", handler_name="other", status=JobStatus.PAUSED, created_at=START + 2 * hour)
    await storage.jobs.add(paused)

    assert await names(storage) == ["a", "b", "c"]
    assert await names(storage, type=(JobType.EVENT,)) == ["b"]
    assert await names(storage, type=(JobType.EVENT, JobType.INTERVAL)) == ["a", "b", "c"]
    assert await names(storage, status=(JobStatus.PAUSED,)) == ["c"]
    assert await names(storage, tags=("x", "z")) == ["a"]
    assert await names(storage, tags=("x", "y")) == ["a", "b"]
    assert await names(storage, tags_all=("x", "y")) == ["a"]
    assert await names(storage, tags=("y",), tags_all=("x",)) == ["a"]
    assert await names(storage, handler_name=("other", "none")) == ["c"]
    assert await names(storage, key=("k",)) == ["b"]
    assert await names(storage, created_by=("ann",)) == ["a"]
    assert await names(storage, created_after=START + hour) == ["b", "c"]
    assert await names(storage, created_before=START + hour) == ["a", "b"]
    assert await names(storage, next_run_after=START + MINUTE) == ["a"]
    assert await names(storage, next_run_before=START + MINUTE) == ["a"]
    assert await names(storage, next_run_before=START) == []
    assert await names(storage, tags=("y",), type=(JobType.INTERVAL,)) == ["a"]


async def test_a_name_is_looked_for_as_it_stands_but_for_ascii_case(storage: Storage) -> None:
    for name in ("Back_up 100%", "backup 1000", "ÜBER"):
        await storage.jobs.add(a_job(name=name))

    assert await names(storage, name_contains="BACK") == ["Back_up 100%", "backup 1000"]
    assert await names(storage, name_contains="k_u") == ["Back_up 100%"]
    assert await names(storage, name_contains="0%") == ["Back_up 100%"]
    assert await names(storage, name_contains="\\") == []
    assert await names(storage, name_contains="über") == []
    assert await names(storage, name_contains="Üb") == ["ÜBER"]


@pytest.mark.parametrize("order", list(SortOrder))
@pytest.mark.parametrize("sort_by", list(SortBy))
async def test_pages_in_every_order_are_complete_and_deterministic(
    storage: Storage, sort_by: SortBy, order: SortOrder
) -> None:
    for number in range(12):
        await storage.jobs.add(
            a_job(
                name="bAcÄ"[number % 4],
                priority=number % 3,
                created_at=START + number % 5 * MINUTE,
                next_run=None if number % 4 == 0 else START + number % 3 * MINUTE,
            )
        )
    query = JobFilter(sort_by=sort_by, sort_order=order, limit=250)
    everything = list((await storage.jobs.list(TENANT, query)).items)

    paged: list[ScheduledJob] = []
    query = replace(query, limit=5)
    page = await storage.jobs.list(TENANT, query)
    paged += page.items
    while page.next_cursor is not None:
        page = await storage.jobs.list(TENANT, replace(query, cursor=page.next_cursor))
        assert (page.total, page.limit, page.offset) == (12, 5, None)
        paged += page.items

    assert paged == everything
    assert everything == in_order(everything, sort_by, order)
    by_offset = await storage.jobs.list(TENANT, replace(query, offset=4))
    assert (list(by_offset.items), by_offset.offset) == (everything[4:9], 4)


def in_order(jobs: list[ScheduledJob], sort_by: SortBy, order: SortOrder) -> list[ScheduledJob]:
    """Sort as the port says: ids break ties the same way, absent values come last either way."""

    def value(job: ScheduledJob) -> Any:  # noqa: ANN401 - what is sorted by has one of three types
        return (
            getattr(job, sort_by, None) if sort_by in {"created_at", "next_run"} else getattr(job.definition, sort_by)
        )

    present = [job for job in jobs if value(job) is not None]
    absent = [job for job in jobs if value(job) is None]
    descending = order is SortOrder.DESC
    return [
        *sorted(present, key=lambda job: (value(job), job.id), reverse=descending),
        *sorted(absent, key=lambda job: job.id, reverse=descending),
    ]


@pytest.mark.parametrize("order", list(SortOrder))
async def test_a_cursor_goes_on_where_it_was_whatever_is_added_meanwhile(storage: Storage, order: SortOrder) -> None:
    for name in ("b", "d", "f", "h"):
        await storage.jobs.add(a_job(name=name))
    query = JobFilter(sort_by=SortBy.NAME, sort_order=order, limit=2)
    first = await storage.jobs.list(TENANT, query)
    for name in ("a", "c", "g", "z"):
        await storage.jobs.add(a_job(name=name))

    second = await storage.jobs.list(TENANT, replace(query, cursor=first.next_cursor, limit=10))

    assert [job.definition.name for job in first.items] == (["b", "d"] if order is SortOrder.ASC else ["h", "f"])
    expected = ["f", "g", "h", "z"] if order is SortOrder.ASC else ["d", "c", "b", "a"]
    assert [job.definition.name for job in second.items] == expected
    assert second.next_cursor is None


async def test_the_last_full_page_has_nothing_after_it(storage: Storage) -> None:
    for _ in range(4):
        await storage.jobs.add(a_job())

    first = await storage.jobs.list(TENANT, JobFilter(limit=2))
    second = await storage.jobs.list(TENANT, JobFilter(limit=2, cursor=first.next_cursor))

    assert first.next_cursor is not None
    assert second.next_cursor is None
    assert (await storage.jobs.list(TENANT, JobFilter(limit=2, offset=9))).items == []


@pytest.mark.parametrize("cursor", ["", "x", "!!!", "e30", "WzFd", "bnVsbA", "\u00e9", "W" * 9000])
async def test_a_malformed_cursor_is_refused_by_name(storage: Storage, cursor: str) -> None:
    with pytest.raises(InvalidJob) as jobs:
        await storage.jobs.list(TENANT, JobFilter(cursor=cursor))
    with pytest.raises(InvalidJob) as executions:
        await storage.executions.list(TENANT, ExecutionFilter(cursor=cursor))

    assert [error.field for error in (*jobs.value.errors, *executions.value.errors)] == ["cursor", "cursor"]


async def test_a_cursor_fits_no_other_list(storage: Storage) -> None:
    for _ in range(2):
        await storage.jobs.add(a_job())
    cursor = (await storage.jobs.list(TENANT, JobFilter(limit=1))).next_cursor

    for query in (JobFilter(sort_by=SortBy.NAME), JobFilter(sort_order=SortOrder.ASC), JobFilter(tags=("x",))):
        with pytest.raises(InvalidJob):
            await storage.jobs.list(TENANT, replace(query, cursor=cursor))
    with pytest.raises(InvalidJob):
        await storage.executions.list(TENANT, ExecutionFilter(cursor=cursor))
