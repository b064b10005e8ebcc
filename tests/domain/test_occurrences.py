from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.nominal_times import ANCHOR, MICROSECOND, source_of
from tocsin.domain.occurrences import EARLIEST, LATEST, Occurrence
from tocsin.domain.schedule import Interval, Once

zones = st.sampled_from(
    [
        *("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"),
        *("Africa/Casablanca", "Asia/Kolkata", "Pacific/Apia", "Antarctica/Troll"),
    ]
)
schedules = st.sampled_from(
    [
        *("* * * * * *", "*/5 * * * *", "30 2 * * *", "15,45 1-3 * * *", "10-50/20 * 2 * * *", "0 0 L * *"),
        *("0 12 * * MON-FRI", "0 0 29 2 *", "*/30 0-23 * * * *", "every 7m", "every 36h", "PT1S"),
    ]
)
instants = st.datetimes(
    datetime.fromisoformat("2005-01-01"), datetime.fromisoformat("2040-01-01"), timezones=st.just(UTC)
)


@given(schedule=schedules, zone=zones, start=instants)
def test_nominal_times_strictly_increase(schedule: str, zone: str, start: datetime) -> None:
    source = source_of(schedule, zone)
    walk = [start]
    while len(walk) < 8 and (following := source.after(walk[-1])):
        walk.append(following.at)

    assert all(early < late for early, late in pairwise(walk))
    assert all(at.tzinfo is UTC and at.microsecond == 0 for at in walk[1:])


@given(schedule=schedules, zone=zones, start=instants, share=st.floats(0, 1, exclude_max=True))
def test_the_next_nominal_time_is_the_same_from_everywhere_before_it(
    schedule: str, zone: str, start: datetime, share: float
) -> None:
    source = source_of(schedule, zone)
    following = source.after(start)

    assert following is not None
    earlier = start + int((following.at - start) / MICROSECOND * share) * MICROSECOND
    assert source.after(min(earlier, following.at - MICROSECOND)) == following
    assert source.after(following.at - MICROSECOND) == following


def test_the_anchor_of_an_interval_is_its_first_time() -> None:
    source = source_of("every 90 minutes")

    assert source.after(ANCHOR - timedelta(days=400)) == Occurrence(at=ANCHOR)
    assert source.after(ANCHOR - MICROSECOND) == Occurrence(at=ANCHOR)
    assert source.after(ANCHOR) == Occurrence(at=ANCHOR + timedelta(minutes=90))


@given(every=st.integers(1, 366 * 86_400).map(lambda seconds: timedelta(seconds=seconds)), start=instants)
def test_an_interval_never_drifts_from_its_anchor(every: timedelta, start: datetime) -> None:
    following = source_of(Interval(every), "Europe/Berlin").after(start)

    assert following is not None
    assert following.at == ANCHOR or (start < following.at <= start + every and following.at > ANCHOR)
    assert (following.at - ANCHOR) % every == timedelta(0)


def test_one_instant_comes_once() -> None:
    source = source_of(Once(ANCHOR))

    assert source.after(ANCHOR - MICROSECOND) == Occurrence(at=ANCHOR)
    assert source.after(ANCHOR) is None


@pytest.mark.parametrize("schedule", ["* * * * * *", "30 2 * * *", "PT1S"])
def test_time_has_two_ends_and_neither_breaks_anything(schedule: str) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        source = source_of(schedule, zone)
        beginning = source.after(datetime.min.replace(tzinfo=UTC))

        assert beginning is not None
        assert beginning.at >= EARLIEST
        assert source.after(LATEST - timedelta(days=1)) is not None
        assert source.after(LATEST) is source.after(datetime.max.replace(tzinfo=UTC)) is None
