"""What every store counts for pages, whichever way it looks."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.steps import TENANT, an_idle_job, claim, trigger
from tests.makers import START, a_success
from tocsin.adapters.system import ManualClock
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
    sample = await storage.overviews.tally(TENANT, buckets, at_most=100)

    assert (exact.share, [point.started for point in exact.points[-10:]]) == (1, [30] * 10)
    assert [point.completed for point in exact.points[-10:]] == [30] * 10
    assert 0 < sample.share <= 1
    assert 100 < sum(point.started for point in sample.points) < 900
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
