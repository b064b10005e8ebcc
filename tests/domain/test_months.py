from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.domain.errors import InvalidInput
from tocsin.domain.months import days_of, month_of

DAY = timedelta(days=1)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"])


@given(ZONES.map(ZoneInfo), st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - Hypothesis wants them so
def test_every_instant_lies_in_the_one_day_of_its_date(zone: ZoneInfo, instant: datetime) -> None:
    days = days_of(month_of(instant, zone), zone)

    assert [day.date for day in days if day.start <= instant < day.end] == [instant.astimezone(zone).date()]
    assert all(day.end == following.start for day, following in itertools.pairwise(days))


def test_a_day_on_which_clocks_change_is_longer_or_shorter() -> None:
    zone = ZoneInfo("Europe/Berlin")

    assert days_of("2026-03", zone)[28].end - days_of("2026-03", zone)[28].start == timedelta(hours=23)
    assert days_of("2026-10", zone)[24].end - days_of("2026-10", zone)[24].start == timedelta(hours=25)


def test_a_day_that_a_zone_left_out_has_no_instant() -> None:
    days = days_of("2011-12", ZoneInfo("Pacific/Apia"))

    assert (days[29].date, days[29].start) == (date(2011, 12, 30), days[29].end)
    assert {day.end - day.start for day in days if day.date.day != 30} == {DAY}


def test_a_day_whose_midnight_does_not_exist_begins_where_the_clock_goes_on() -> None:
    days = days_of("2017-10", ZoneInfo("America/Sao_Paulo"))

    assert days[14].start == datetime(2017, 10, 15, 3, tzinfo=UTC)
    assert days[14].end - days[14].start == timedelta(hours=23)


@pytest.mark.parametrize("month", ["", "2026", "2026-1", "2026-00", "2026-13", "2026-11-01", "1969-12", "9999-01"])
def test_what_is_no_month_is_refused(month: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        days_of(month, ZoneInfo("UTC"))

    assert [error.field for error in refused.value.errors] == ["month"]
