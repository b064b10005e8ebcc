"""What every store counts for pages, whichever way it looks."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.steps import TENANT, an_idle_job, claim, executions_of, trigger
from tests.makers import START, a_job, a_success, planner
from tocsin.adapters.system import ManualClock
from tocsin.domain.attempt import hand_back
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.months import days_of
from tocsin.domain.series import Buckets
from tocsin.ports.storage import Storage

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


async def test_a_series_of_too_much_is_told_from_a_sample_and_says_so(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=1000)
    await an_idle_job(storage, tenant_id="acme")
    for _ in range(10):
        clock.advance(MINUTE)
        for attempt in await claim(storage, *await trigger(storage, job, 30)):
            await storage.ledger.finish([a_success(attempt)])
    buckets = Buckets.until(clock.now(), width=MINUTE, count=60)

    exact = await storage.overviews.tally(TENANT, buckets, at_most=300)
    sample = await storage.overviews.tally(TENANT, buckets, at_most=200)

    assert (exact.share, [point.started for point in exact.points[-10:]]) == (1, [30] * 10)
    assert [point.completed for point in exact.points[-10:]] == [30] * 10
    assert 0 < sample.share <= 1
    # A sample is of whole pages, of which there are few here.
    assert 0 < sum(point.started for point in sample.points) < 900
    assert sum(point.started for point in sample.points) == sum(point.completed for point in sample.points)


async def test_a_series_leaves_out_what_began_before_it(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=10)
    [early, late] = await trigger(storage, job, 2)
    [attempt] = await claim(storage, early)
    clock.advance(3 * MINUTE)
    await storage.ledger.finish([a_success(attempt)])
    await claim(storage, late)

    for count, started in ((4, [1, 0, 0, 1]), (3, [0, 0, 1])):
        buckets = Buckets.until(clock.now(), width=MINUTE, count=count)
        tally = await storage.overviews.tally(TENANT, buckets, at_most=100)
        assert [point.started for point in tally.points] == started


@given(
    st.timedeltas(timedelta(), timedelta(days=400)), st.sampled_from([MINUTE, 3 * HOUR, 12 * HOUR]), st.integers(1, 60)
)
def test_every_instant_of_the_last_buckets_lies_in_one_of_them(ago: timedelta, width: timedelta, count: int) -> None:
    buckets = Buckets.until(START, width=width, count=count)

    place = buckets.place(START - ago)

    assert buckets.place(START) == count - 1
    assert buckets.place(None) is None
    if START - ago < buckets.first:
        assert place is None
    else:
        assert place is not None
        assert timedelta() <= START - ago - (buckets.first + place * width) < width


async def test_how_late_a_fire_is_that_was_handed_back_unbegun_is_told_by_its_first_start(
    storage: Storage, clock: ManualClock
) -> None:
    job = await storage.jobs.add(a_job())
    clock.advance(MINUTE)
    await storage.ledger.fire(planner, limit=1)
    [row] = await executions_of(storage, job)
    [attempt] = await claim(storage, row)
    clock.advance(2)
    await storage.ledger.finish([hand_back(attempt, clock.now(), begun=False)])
    [attempt] = await claim(storage, row)
    await storage.ledger.finish([a_success(attempt)])

    [of_job] = await storage.overviews.outcomes(TENANT, [job.id], limit=1)
    tally = await storage.overviews.tally(TENANT, Buckets.until(clock.now(), width=MINUTE, count=3), at_most=9)

    assert [each.lateness_ms for each in of_job.outcomes] == [2000]
    assert [(each.started, each.lateness_p50_ms) for each in tally.points[-1:]] == [(1, 2000)]


async def test_a_month_of_too_much_is_told_from_a_sample_and_says_so(storage: Storage, clock: ManualClock) -> None:
    job = await an_idle_job(storage, concurrency=1000)
    await trigger(storage, await an_idle_job(storage), 30)
    for _ in range(10):
        for attempt in await claim(storage, *await trigger(storage, job, 30)):
            await storage.ledger.finish([a_success(attempt)])
        clock.advance(HOUR)
    days = days_of("2026-01", ZoneInfo("UTC"))

    exact = await storage.overviews.daily(TENANT, job.id, days, at_most=300)
    sample = await storage.overviews.daily(TENANT, job.id, days, at_most=100)
    nobodys = await storage.overviews.daily("acme", job.id, days, at_most=100)

    assert (exact.share, exact.outcomes[0], exact.outcomes[1:]) == (1, {"success": 300}, [{}] * 30)
    assert 0 < sample.share <= 1
    # No more than if the sample had happened to hold all of them.
    assert 100 < sample.outcomes[0][ExecutionStatus.SUCCESS] <= 300 / sample.share + 1
    assert (nobodys.share, nobodys.outcomes) == (1, [{}] * 31)
