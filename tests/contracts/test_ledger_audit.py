"""What the proof is made from: a job, its rows and its versions, as one moment has them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from tests.contracts.steps import TENANT, claim, executions_of, trigger, versions_of
from tests.makers import START, a_failure, a_job, a_success, an_event_job, decided, new_id, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import hand_back
from tocsin.domain.errors import JobNotFound
from tocsin.domain.history import History, read_history
from tocsin.domain.job import JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.ledger import Entry, JobLedger, Window
from tocsin.domain.lifecycle import cancel, delete, pause, resume, update
from tocsin.domain.plan import recorded
from tocsin.ports.storage import Storage

MINUTE = timedelta(minutes=1)
EVER = datetime.fromisoformat("2199-01-01T00:00:00Z")


def minutely(**fields: object) -> ScheduledJob:
    return a_job(**{"overlap_policy": OverlapPolicy.ALLOW_ALL, **fields})


async def fire(storage: Storage, clock: ManualClock, times: int = 1) -> None:
    for _ in range(times):
        clock.advance(MINUTE)
        await storage.ledger.fire(planner, limit=100)


async def recent(storage: Storage, since: datetime) -> dict[UUID, JobLedger]:
    found = await storage.ledger.recent_ledgers(since=since, limit=100)
    assert found.next_after is None
    return {ledger.job.id: ledger for ledger in found.ledgers}


def minutes(ledger: JobLedger) -> list[float]:
    return [(entry.scheduled_at - START) / MINUTE for entry in ledger.entries]


async def test_entries_are_the_rows_of_the_schedule_from_the_one_before_the_window_on(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(minutely())
    await fire(storage, clock, 4)
    await trigger(storage, job, 2)

    ledgers = [
        (await recent(storage, START + 2.5 * MINUTE))[job.id],
        (
            await storage.jobs.ledger(TENANT, job.id, window=Window(after=START + 2.5 * MINUTE, until=EVER), limit=9)
        ).ledger,
    ]

    rows = [row for row in await executions_of(storage, job) if row.origin == "schedule"]
    for ledger in ledgers:
        assert list(ledger.entries) == [Entry.of(row) for row in rows[1:]]
        assert ledger.job == await storage.jobs.get(TENANT, job.id)
        assert (ledger.made_before, ledger.made_after) == (None, 0)


async def test_an_entry_tells_of_its_first_start(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(minutely(retry_delay_ms=0))
    await fire(storage, clock)
    [row] = await executions_of(storage, job)
    clock.advance(1)
    [attempt] = await claim(storage, row)
    first = clock.now()
    await storage.ledger.finish([a_failure(attempt)])
    clock.advance(1)
    await storage.ledger.ready(limit=1)
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([a_success(attempt)])

    [entry] = (await recent(storage, START))[job.id].entries

    assert (entry.status, entry.first_start) == ("success", first)


async def test_an_entry_of_what_was_handed_back_unbegun_tells_of_the_start_that_was(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(minutely())
    await fire(storage, clock)
    [row] = await executions_of(storage, job)
    [attempt] = await claim(storage, row)
    clock.advance(30)
    await storage.ledger.finish([hand_back(attempt, clock.now(), begun=False)])
    [unbegun] = (await recent(storage, START))[job.id].entries
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([a_success(attempt)])

    [entry] = (await recent(storage, START))[job.id].entries

    assert (unbegun.status, unbegun.first_start) == ("pending", None)
    assert (entry.status, entry.first_start) == ("success", clock.now())


async def test_a_row_of_skips_that_reaches_into_the_window_is_an_entry(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(minutely(misfire_policy=MisfirePolicy.SKIP, misfire_grace_seconds=0))
    clock.advance(10.5 * MINUTE)
    await storage.ledger.fire(planner, limit=1)

    [entry] = (await recent(storage, START + 5 * MINUTE))[job.id].entries

    assert (entry.scheduled_at, entry.covers_until, entry.count) == (START + MINUTE, START + 10 * MINUTE, 10)
    assert (entry.is_made, entry.skip_reason) == (False, "misfire")


async def test_versions_are_those_from_the_first_entry_on(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(minutely())
    await fire(storage, clock)
    for priority in (1, 2, 3):
        clock.advance(1)
        await storage.jobs.change(TENANT, job.id, decided(update, replace(job.definition, priority=priority)))
    await fire(storage, clock, 2)

    early, late = [(await recent(storage, since))[job.id] for since in (START, START + 2.5 * MINUTE)]

    assert [change.version for change in early.versions] == [1, 2, 3, 4]
    assert [change.version for change in late.versions] == [4]
    recorded = (await versions_of(storage, TENANT, job.id))[3]
    assert replace(late.versions[0], before=None, after=None) == replace(recorded, before=None, after=None)


async def test_without_an_entry_versions_are_those_from_the_one_in_force_on(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(an_event_job())
    for priority in (1, 2, 3):
        clock.advance(MINUTE)
        await storage.jobs.change(TENANT, job.id, decided(update, replace(job.definition, priority=priority)))

    for minute, versions in ((0.5, [1, 2, 3, 4]), (2, [3, 4]), (2.5, [3, 4]), (9, [4])):
        ledger = (await recent(storage, START + minute * MINUTE))[job.id]
        assert [change.version for change in ledger.versions] == versions
    before = (await recent(storage, START - MINUTE))[job.id]
    assert [change.version for change in before.versions] == [1, 2, 3, 4]


async def test_a_definition_keeps_all_that_says_when_it_fires(storage: Storage) -> None:
    bounds = {"start_date": START, "end_date": EVER, "max_executions": 7, "type": JobType.RECURRING}
    job = await storage.jobs.add(minutely(payload={"a": 1}, metadata={"b": 2}, timezone="Europe/Berlin", **bounds))
    await storage.jobs.change(TENANT, job.id, decided(pause))

    change, _ = (await recent(storage, START - MINUTE))[job.id].versions

    assert isinstance(change.after, dict)
    definition = change.after["definition"]
    assert isinstance(definition, dict)
    names = ("type", "schedule", "timezone", "max_executions", "end_date", "start_date")
    first, _ = await versions_of(storage, TENANT, job.id)
    assert isinstance(first.after, dict)
    whole = first.after["definition"]
    assert isinstance(whole, dict)
    assert [definition[name] for name in names] == [whole[name] for name in names]


async def test_what_a_job_stands_by_reads_the_same_whether_or_not_the_store_has_read_it(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(minutely(payload={"ä": '"'}, metadata={"b": "\\"}))
    rarer = replace(job.definition, schedule="PT5M")

    for change in (None, decided(update, rarer), decided(pause), decided(delete)):
        if change is not None:
            clock.advance(1)
            await storage.jobs.change(TENANT, job.id, change)
        ledger = (await recent(storage, START - MINUTE))[job.id]
        *earlier, latest = ledger.versions
        whole = [*earlier, replace(latest, after=recorded(ledger.job))]
        assert _owing(read_history(ledger.job, ledger.versions)) == _owing(read_history(ledger.job, whole))
        assert not read_history(ledger.job, ledger.versions).breaks


def _owing(history: History) -> list[tuple[object, ...]]:
    return [
        (version.number, version.job.definition.schedule, version.begins_at, version.ends_at, version.fires)
        for version in history.versions
    ]


async def test_only_jobs_that_may_have_fired_are_recent(storage: Storage, clock: ManualClock) -> None:
    active, paused, deleted, cancelled = [await storage.jobs.add(minutely()) for _ in range(4)]
    foreign = await storage.jobs.add(minutely(tenant_id="other"))
    await storage.jobs.change(TENANT, paused.id, decided(pause))
    clock.advance(MINUTE)
    await storage.jobs.change(TENANT, deleted.id, decided(delete))
    clock.advance(MINUTE)
    await storage.jobs.change(TENANT, cancelled.id, decided(cancel))

    ever = set(await recent(storage, START - MINUTE))
    since = set(await recent(storage, START))
    lately = set(await recent(storage, START + MINUTE))

    assert set(await storage.ledger.recent_jobs(since=START + MINUTE, limit=9)) == lately
    assert ever == {active.id, paused.id, deleted.id, cancelled.id, foreign.id}
    assert since == ever - {paused.id}
    assert lately == {active.id, cancelled.id, foreign.id}


async def test_pages_of_recent_jobs_come_by_id_and_leave_none_out(storage: Storage, clock: ManualClock) -> None:
    jobs = sorted([await storage.jobs.add(minutely()) for _ in range(5)], key=lambda job: job.id)
    clock.advance(1)
    await storage.jobs.change(TENANT, jobs[1].id, decided(pause))

    seen: list[UUID] = []
    after: UUID | None = None
    while True:
        page = await storage.ledger.recent_ledgers(since=START, limit=2, after=after)
        seen += [ledger.job.id for ledger in page.ledgers]
        after = page.next_after
        assert (page.now, len(page.ledgers) <= 2) == (clock.now(), True)
        if after is None:
            break

    assert seen == [job.id for job in jobs]
    assert list(await storage.ledger.recent_jobs(since=START, limit=3, after=seen[0])) == seen[1:4]


async def test_an_empty_store_has_no_recent_jobs(storage: Storage, clock: ManualClock) -> None:
    found = await storage.ledger.recent_ledgers(since=START, limit=2)

    assert (list(found.ledgers), found.next_after, found.now) == ([], None, clock.now())


async def test_a_window_is_given_with_the_first_entry_behind_it(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(minutely())
    await fire(storage, clock, 6)
    window = Window(after=START + 2 * MINUTE, until=START + 4 * MINUTE)

    found = await storage.jobs.ledger(TENANT, job.id, window=window, limit=2)

    assert (minutes(found.ledger), found.until, found.now) == ([2, 3, 4, 5], window.until, clock.now())


async def test_a_long_window_is_given_in_stretches(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(minutely())
    await fire(storage, clock, 6)
    window = Window(after=START, until=START + 5 * MINUTE)

    found = await storage.jobs.ledger(TENANT, job.id, window=window, limit=2)
    assert (minutes(found.ledger), found.until) == ([1, 2], START + 2 * MINUTE)

    found = await storage.jobs.ledger(TENANT, job.id, window=replace(window, after=found.until), limit=2)
    assert (minutes(found.ledger), found.until) == ([2, 3, 4], START + 4 * MINUTE)

    found = await storage.jobs.ledger(TENANT, job.id, window=replace(window, after=found.until), limit=2)
    assert (minutes(found.ledger), found.until) == ([4, 5, 6], window.until)


async def test_executions_around_a_window_are_counted_for_a_job_that_may_only_make_so_many(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(
        minutely(
            max_executions=9,
            type=JobType.RECURRING,
            overlap_policy=OverlapPolicy.SKIP,
            concurrency=6,
        )
    )
    await fire(storage, clock, 8)
    window = Window(after=START + 2 * MINUTE, until=START + 3 * MINUTE)

    found = await storage.jobs.ledger(TENANT, job.id, window=window, limit=9)
    cut = await storage.jobs.ledger(TENANT, job.id, window=replace(window, until=EVER), limit=1)
    none = await storage.jobs.ledger(TENANT, job.id, window=Window(after=EVER, until=EVER), limit=1)

    assert (minutes(found.ledger), found.ledger.made_before, found.ledger.made_after) == ([2, 3, 4], 1, 2)
    assert (minutes(cut.ledger), cut.ledger.made_before, cut.ledger.made_after) == ([2, 3], 1, 3)
    assert (minutes(none.ledger), none.ledger.made_before, none.ledger.made_after) == ([8], 6, 0)


async def test_a_job_that_never_fired_has_made_nothing(storage: Storage) -> None:
    job = await storage.jobs.add(minutely(max_executions=9, type=JobType.RECURRING))

    found = await storage.jobs.ledger(TENANT, job.id, window=Window(after=START, until=EVER), limit=1)

    assert (list(found.ledger.entries), found.ledger.made_before, found.ledger.made_after) == ([], 0, 0)


async def test_the_ledger_of_a_foreign_deleted_or_unknown_job_is_not_given(storage: Storage) -> None:
    foreign, deleted = await storage.jobs.add(minutely(tenant_id="other")), await storage.jobs.add(minutely())
    await storage.jobs.change(TENANT, deleted.id, decided(delete))

    for job_id in (foreign.id, deleted.id, new_id(START)):
        with pytest.raises(JobNotFound):
            await storage.jobs.ledger(TENANT, job_id, window=Window(after=START, until=EVER), limit=1)


async def test_recorded_versions_come_newest_first_and_in_pages(storage: Storage, clock: ManualClock) -> None:
    job = await storage.jobs.add(minutely())
    for step in (pause, resume, pause):
        clock.advance(1)
        await storage.jobs.change(TENANT, job.id, decided(step))

    first = await storage.jobs.versions(TENANT, job.id, limit=3)
    rest = await storage.jobs.versions(TENANT, job.id, limit=3, before_version=int(first.next_cursor or 0))
    beyond = await storage.jobs.versions(TENANT, job.id, limit=3, before_version=1)

    assert [change.version for change in first.items] == [4, 3, 2]
    assert [change.reason for change in rest.items] == ["created"]
    assert (list(beyond.items), beyond.next_cursor) == ([], None)
    assert [(page.total, page.limit, page.offset) for page in (first, rest, beyond)] == [(4, 3, None)] * 3
    assert [page.next_cursor for page in (first, rest)] == ["2", None]
