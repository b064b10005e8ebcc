"""Counting nominal times against walking through them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tests.domain.nominal_times import MICROSECOND, between, source_of
from tocsin.domain.occurrences import nth_after

SCHEDULES = st.sampled_from(
    [
        "* * * * *",
        "*/7 * * * *",
        "30 2 * * *",
        "0,30 1-3 * * *",
        "15 */2 * * MON-FRI",
        "*/10 30 2 * * *",
        "0 0 1 * *",
        "5 2,3 * * *",
        "every 17m",
    ]
)
ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "America/Havana",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Europe/Dublin",
        "Pacific/Apia",
        "Asia/Kathmandu",
    ]
)
NIGHTS = st.sampled_from(
    [datetime(2026, month, day, tzinfo=UTC) for month, day in [(2, 14), (3, 8), (3, 28), (4, 4), (10, 24), (11, 1)]]
    + [datetime(2011, 12, 29, tzinfo=UTC)]
)
SPANS = st.timedeltas(timedelta(), timedelta(days=3))


@given(SCHEDULES, ZONES, NIGHTS, SPANS, SPANS)
def test_counting_gives_what_walking_gives_over_every_clock_change(
    schedule: str, zone: str, night: datetime, lead: timedelta, span: timedelta
) -> None:
    source, after = source_of(schedule, zone), night + lead

    walked = [each.at for each in between(source, after + MICROSECOND, after + span + MICROSECOND)]

    assert source.count(after, after + span) == len(walked)


@given(SCHEDULES, ZONES, NIGHTS, st.integers(1, 40))
def test_seeking_gives_the_nominal_time_that_walking_reaches(
    schedule: str, zone: str, night: datetime, number: int
) -> None:
    source, until = source_of(schedule, zone), datetime(2040, 1, 1, tzinfo=UTC)

    walked = [each.at for each in islice(between(source, night + MICROSECOND, until), number)]

    assert nth_after(source, night, len(walked), until) == walked[-1]


def test_nothing_is_counted_backwards() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for schedule in ("* * * * *", "30 2 * * *", "every 1s"):
        assert source_of(schedule).count(now, now - timedelta(days=1)) == 0
