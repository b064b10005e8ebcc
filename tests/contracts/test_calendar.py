from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.domain.naive_cron import NaiveCron
from tocsin.adapters.calendar import CroniterCalendar
from tocsin.domain.errors import InvalidSchedule
from tocsin.domain.schedule import Cron, parse_schedule
from tocsin.ports.calendar import Calendar, WallTimes

ADAPTERS: list[Calendar] = [CroniterCalendar()]


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def calendar(request: pytest.FixtureRequest) -> Calendar:
    adapter: Calendar = request.param
    return adapter


def the_cron(text: str) -> Cron:
    cron = parse_schedule(text)
    assert isinstance(cron, Cron)
    return cron


def walls_that_come(calendar: Calendar, text: str) -> WallTimes:
    try:
        return calendar.wall_times(the_cron(text))
    except InvalidSchedule:
        reject()


def walk(calendar: Calendar, text: str, start: str = "2026-01-01") -> Iterator[datetime]:
    walls = calendar.wall_times(the_cron(text))
    wall = walls.after(datetime.fromisoformat(start) - timedelta(seconds=1))
    while wall is not None:
        yield wall
        wall = walls.after(wall)


def first(count: int, walls: Iterator[datetime]) -> list[str]:
    return [f"{wall:%Y-%m-%d %H:%M:%S}".removesuffix(" 00:00:00") for wall in islice(walls, count)]


def is_answered(calendar: Calendar, text: str) -> bool:
    """Whether a text is read, and then comes at least once, or refused on its own field; anything else is raised."""
    try:
        schedule = parse_schedule(text)
        return (
            not isinstance(schedule, Cron)
            or calendar.wall_times(schedule).after(datetime.fromisoformat("1970-01-01")) is not None
        )
    except InvalidSchedule as refusal:
        return [error.field for error in refusal.errors] == ["schedule"]


def number(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(str)


def column(low: int, high: int) -> st.SearchStrategy[str]:
    bounds = st.tuples(st.integers(low, high), st.integers(low, high)).map(sorted)
    span = bounds.map(lambda ends: f"{ends[0]}-{ends[1]}")
    step = st.integers(1, high).map(lambda every: f"/{every}")
    item = st.one_of(number(low, high), span, st.builds(str.__add__, span, step))
    lists = st.lists(item, min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), step.map("*".__add__), lists)


crons = st.tuples(column(0, 59), column(0, 59), column(0, 23), column(1, 31), column(1, 12), column(0, 7)).map(" ".join)
instants = st.datetimes(datetime.fromisoformat("1970-01-01"), datetime.fromisoformat("2198-12-31"))


@given(text=crons, start=instants)
def test_every_answer_matches_by_the_naive_reading_and_is_later(text: str, start: datetime) -> None:
    for calendar in ADAPTERS:
        walls = walls_that_come(calendar, text)
        found = walls.after(start)
        again = walls.after(start)

        assert found == again
        assert found is None or (found > start and found.microsecond == 0 and NaiveCron(text).matches(found))


@given(text=crons, start=instants)
def test_nothing_that_matches_by_the_naive_reading_is_passed_over(text: str, start: datetime) -> None:
    naive = NaiveCron(text)
    for calendar in ADAPTERS:
        walls = walls_that_come(calendar, text)
        found = walls.after(start)
        start = start.replace(microsecond=0)
        span = min(3000, int((found - start).total_seconds()) - 1 if found else 3000)

        assert not any(naive.matches(start + timedelta(seconds=step)) for step in range(1, span + 1))


@given(text=crons, start=instants)
def test_no_day_that_matches_by_the_naive_reading_is_passed_over(text: str, start: datetime) -> None:
    days_only = "0 0 0 " + " ".join(text.split()[3:])
    naive = NaiveCron(days_only)
    for calendar in ADAPTERS:
        walls = walls_that_come(calendar, days_only)
        found = walls.after(start)
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
        span = min(1500, (found - midnight).days - 1 if found else 1500)

        assert not any(naive.matches(midnight + timedelta(days=step)) for step in range(1, span + 1))


@given(text=st.text(alphabet="0123456789*/-,#?LWHRlwhrMONFEBjansu() _.@", max_size=40))
def test_any_text_is_read_or_refused_and_never_breaks(text: str) -> None:
    for calendar in ADAPTERS:
        for padded in (text, f"0 0 {text} * *", f"{text} * * * *", f"0 0 * * {text}"):
            assert is_answered(calendar, padded)


def test_seconds_come_first(calendar: Calendar) -> None:
    assert first(3, walk(calendar, "15 30 2 * * *")) == [
        "2026-01-01 02:30:15",
        "2026-01-02 02:30:15",
        "2026-01-03 02:30:15",
    ]


def test_steps_go_on_over_the_end_of_hour_day_month_and_year(calendar: Calendar) -> None:
    assert first(3, walk(calendar, "*/30 * * * * *", "2026-12-31 23:59:30")) == [
        "2026-12-31 23:59:30",
        "2027-01-01",
        "2027-01-01 00:00:30",
    ]


def test_a_fraction_of_a_second_is_already_later(calendar: Calendar) -> None:
    walls = calendar.wall_times(the_cron("* * * * * *"))

    assert walls.after(datetime.fromisoformat("2026-01-01 00:00:00.000001")) == datetime.fromisoformat(
        "2026-01-01 00:00:01"
    )


@pytest.mark.parametrize("weekday", ["0", "7", "SUN", "sun", "7-7", "SUN-SUN"])
def test_sunday_has_many_names(calendar: Calendar, weekday: str) -> None:
    assert first(2, walk(calendar, f"0 0 * * {weekday}")) == ["2026-01-04", "2026-01-11"]


@pytest.mark.parametrize(
    ("weekdays", "expected"), [("5-7", "02 03 04 09"), ("FRI-MON", "02 03 04 05"), ("0-7", "01 02 03 04")]
)
def test_weekday_ranges_may_pass_sunday(calendar: Calendar, weekdays: str, expected: str) -> None:
    assert first(4, walk(calendar, f"0 0 * * {weekdays}")) == [f"2026-01-{day}" for day in expected.split()]


def test_ranges_wrap_around_months_and_hours(calendar: Calendar) -> None:
    assert first(4, walk(calendar, "0 0 1 NOV-FEB *")) == ["2026-01-01", "2026-02-01", "2026-11-01", "2026-12-01"]
    assert first(3, walk(calendar, "0 23-0 * * *")) == ["2026-01-01", "2026-01-01 23:00:00", "2026-01-02"]


@pytest.mark.parametrize("minute", ["5", "5-5", "5-5/10"])
def test_a_range_of_one_is_that_one(calendar: Calendar, minute: str) -> None:
    assert first(2, walk(calendar, f"{minute} * * * *")) == ["2026-01-01 00:05:00", "2026-01-01 01:05:00"]


def test_a_start_with_a_step_ends_at_the_end_of_its_field(calendar: Calendar) -> None:
    assert first(3, walk(calendar, "20/25 0 * * *")) == [
        "2026-01-01 00:20:00",
        "2026-01-01 00:45:00",
        "2026-01-02 00:20:00",
    ]
    assert first(2, walk(calendar, "59/15 0 * * *")) == ["2026-01-01 00:59:00", "2026-01-02 00:59:00"]


def test_either_day_suffices_when_both_are_restricted(calendar: Calendar) -> None:
    assert first(5, walk(calendar, "0 0 13 * FRI")) == [
        "2026-01-02",
        "2026-01-09",
        "2026-01-13",
        "2026-01-16",
        "2026-01-23",
    ]
    assert first(3, walk(calendar, "0 0 1-31 * MON")) == ["2026-01-01", "2026-01-02", "2026-01-03"]


def test_a_day_field_that_starts_with_a_star_must_match_as_well(calendar: Calendar) -> None:
    assert first(3, walk(calendar, "0 0 */2 * MON")) == ["2026-01-05", "2026-01-19", "2026-02-09"]
    assert first(3, walk(calendar, "0 0 13 * */2")) == ["2026-01-13", "2026-06-13", "2026-08-13"]
    assert first(2, walk(calendar, "0 0 ? * MON")) == ["2026-01-05", "2026-01-12"]


def test_the_last_day_of_the_month_knows_leap_years(calendar: Calendar) -> None:
    assert first(3, walk(calendar, "0 0 L 2 *", "2027-01-01")) == ["2027-02-28", "2028-02-29", "2029-02-28"]


def test_nth_and_last_weekdays(calendar: Calendar) -> None:
    assert first(3, walk(calendar, "0 0 * * FRI#2")) == ["2026-01-09", "2026-02-13", "2026-03-13"]
    assert first(3, walk(calendar, "0 0 * * 4#5")) == ["2026-01-29", "2026-04-30", "2026-07-30"]
    assert first(3, walk(calendar, "0 0 * * L5")) == ["2026-01-30", "2026-02-27", "2026-03-27"]
    assert first(3, walk(calendar, "0 0 * 7,12 L5")) == ["2026-07-31", "2026-12-25", "2027-07-30"]
    assert first(3, walk(calendar, "0 0 1 * MON#1")) == ["2026-01-01", "2026-01-05", "2026-02-01"]


def test_the_rarest_day_is_found_decades_away_and_the_end_is_none(calendar: Calendar) -> None:
    leap_sundays = list(walk(calendar, "0 0 29 2 */7", "2080-03-01"))

    assert [wall.year for wall in leap_sundays] == [2088, 2128, 2156, 2184]
    assert max(late.year - early.year for early, late in pairwise(leap_sundays)) == 40


@pytest.mark.parametrize("never", ["0 0 30 2 *", "0 0 31 4,6,9,11 *"])
def test_a_cron_that_never_comes_is_refused(calendar: Calendar, never: str) -> None:
    with pytest.raises(InvalidSchedule, match="never comes"):
        calendar.wall_times(the_cron(never))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("60 * * * * *", "second"),
        ("60 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day of month"),
        ("* * 32 * *", "day of month"),
        ("* * * 13 *", "month"),
        ("* * * MON *", "month"),
        ("* * * * 8", "day of week"),
        ("* * * * FRI#6", "day of week"),
        ("* * * * FRI#1,MON", "day of week"),
        ("-5 * * * *", "minute"),
        ("*/0 * * * *", "minute"),
        ("1,,2 * * * *", "minute"),
        ("? * * * *", "minute"),
        ("H * * * *", "minute"),
        ("H(0-5)/2 * * * *", "minute"),
        ("R * * * *", "minute"),
        ("* r/3 * * *", "hour"),
        ("0 0 15W * *", "day of month"),
        ("0 22-3/3 * * *", "hour"),
    ],
)
def test_an_unreadable_field_is_named(calendar: Calendar, text: str, field: str) -> None:
    with pytest.raises(InvalidSchedule, match=f"schedule: {field} .* cannot be read.* expected "):
        calendar.wall_times(the_cron(text))
