from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.domain.description import describe
from tocsin.domain.errors import InvalidSchedule
from tocsin.domain.schedule import Cron, Interval, Once, parse_schedule

lengths = st.integers(1, 366 * 86_400).map(lambda seconds: timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("*/5 * * * *", "0 */5 * * * *"),
        ("  30 2 * *\tmon-fri ", "0 30 2 * * MON-FRI"),
        ("15 30 2 * * *", "15 30 2 * * *"),
        ("@hourly", "0 0 * * * *"),
        ("@daily", "0 0 0 * * *"),
        ("@midnight", "0 0 0 * * *"),
        ("@Weekly", "0 0 0 * * 0"),
        ("@monthly", "0 0 0 1 * *"),
        ("@yearly", "0 0 0 1 1 *"),
        ("@annually", "0 0 0 1 1 *"),
    ],
)
def test_a_cron_is_six_fields_with_seconds_first(text: str, fields: str) -> None:
    assert parse_schedule(text) == Cron(fields)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("every 15m", timedelta(minutes=15)),
        ("every 6 hours", timedelta(hours=6)),
        ("Every 90 Seconds", timedelta(seconds=90)),
        ("every 1h30m", timedelta(minutes=90)),
        ("every 1 hour 30 minutes", timedelta(minutes=90)),
        ("every day", timedelta(days=1)),
        ("every 2 weeks", timedelta(weeks=2)),
        ("@every 5m", timedelta(minutes=5)),
        ("PT6H", timedelta(hours=6)),
        ("pt90s", timedelta(seconds=90)),
        ("P1D", timedelta(days=1)),
        ("P1W", timedelta(weeks=1)),
        ("P1DT12H30M5S", timedelta(days=1, hours=12, minutes=30, seconds=5)),
        ("every 1s", timedelta(seconds=1)),
        ("P366D", timedelta(days=366)),
    ],
)
def test_an_interval_is_read_from_words_and_from_iso_8601(text: str, length: timedelta) -> None:
    assert parse_schedule(text) == Interval(length)


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "* * * *", "* * * * * * *", "@reboot", "@fortnightly", "every", "every 500ms", "every 1h1h"),
        *("every 0s", "every -5m", "every 1.5h", "every 367d", "P366DT1S", "every 5 parsecs", "every 5", "P", "PT"),
        *("P1M", "P1Y", "PT1.5H", "PT0S", "P1DT", "PT99999999999999S", "* * * * \u0661", "*\u00a0* * * *", "x" * 256),
        "* * * * " + ",".join(["1"] * 130),
    ],
)
def test_anything_else_is_refused_on_its_field(text: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        parse_schedule(text)

    assert [error.field for error in refusal.value.errors] == ["schedule"]


def test_a_refusal_says_what_was_expected() -> None:
    with pytest.raises(InvalidSchedule, match="expected a cron of 5 fields"):
        parse_schedule("nonsense")
    with pytest.raises(InvalidSchedule, match="1 second to 366 days"):
        parse_schedule("every 367 days")
    with pytest.raises(InvalidSchedule, match="end_date"):
        parse_schedule("0 0 0 1 1 * 2030")


@given(lengths)
def test_an_interval_reads_back_from_its_own_words(length: timedelta) -> None:
    assert parse_schedule(str(Interval(length))) == Interval(length)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except InvalidSchedule:
        return
    assert parse_schedule(str(schedule)) == schedule


@pytest.mark.parametrize("length", [timedelta(0), timedelta(milliseconds=1500), timedelta(days=366, seconds=1)])
def test_an_interval_is_whole_seconds_within_its_bounds(length: timedelta) -> None:
    with pytest.raises(InvalidSchedule):
        Interval(length)


def test_an_instant_is_kept_in_utc() -> None:
    at = datetime(2026, 3, 29, 3, 30, tzinfo=timezone(timedelta(hours=2)))

    assert Once(at).at == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert Once(at).at.tzinfo is UTC
    assert str(Once(at)) == "2026-03-29T01:30:00Z"


@pytest.mark.parametrize(
    "at",
    [datetime.fromisoformat("2026-03-29 03:30"), datetime(1969, 12, 31, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)],
)
def test_an_instant_has_an_offset_and_a_sane_year(at: datetime) -> None:
    with pytest.raises(InvalidSchedule, match="execute_at"):
        Once(at)


@pytest.mark.parametrize(
    ("text", "steady"),
    [
        ("* * * * *", True),
        ("*/5 2 * * *", True),
        ("30 */2 * * *", True),
        ("30 2 * * *", False),
        ("* 0-59 2 * * *", False),
    ],
)
def test_a_star_in_the_minute_or_hour_follows_real_time(text: str, *, steady: bool) -> None:
    schedule = parse_schedule(text)

    assert isinstance(schedule, Cron)
    assert schedule.follows_real_time is steady


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("* * * * * *", "every second"),
        ("*/15 * * * *", "every 15 minutes"),
        ("*/7 * * * *", "at every 7th minute past every hour"),
        ("5 * * * *", "at minute 5 past every hour"),
        ("@hourly", "every hour"),
        ("0 */2 * * *", "every 2 hours, Europe/Berlin time"),
        ("0 2 * * *", "at 02:00 every day, Europe/Berlin time"),
        ("30 2,14 * * MON-FRI", "at 02:30 and 14:30 on Monday to Friday, Europe/Berlin time"),
        ("*/15 9-17 * * 1-5", "every 15 minutes in hours 9 to 17 on Monday to Friday, Europe/Berlin time"),
        ("0 0 1,15 * *", "at 00:00 on days 1 and 15 of the month, Europe/Berlin time"),
        ("0 0 L * *", "at 00:00 on the last day of the month, Europe/Berlin time"),
        ("0 0 13 * 5", "at 00:00 on day 13 of the month or on Friday, Europe/Berlin time"),
        ("0 0 */2 * MON", "at 00:00 on every 2nd day of the month and on Monday, Europe/Berlin time"),
        ("0 0 10-20/5 * *", "at 00:00 on every 5th day from 10 to 20 of the month, Europe/Berlin time"),
        ("0 0 * * FRI#2,L1", "at 00:00 on the second Friday and the last Monday of the month, Europe/Berlin time"),
        ("0 12 * JAN,7-9 7", "at 12:00 on Sunday in January and July to September, Europe/Berlin time"),
        ("1-3 1,2 * * *", "at minutes 1 to 3 past hours 1 and 2 every day, Europe/Berlin time"),
        ("*/10 30 2 * * *", "every 10 seconds at minute 30 past hour 2, Europe/Berlin time"),
        ("every 90 minutes", "every 1 hour 30 minutes"),
        ("PT24H", "every day"),
        ("P14D", "every 2 weeks"),
    ],
)
def test_a_schedule_is_told_in_plain_words(text: str, words: str) -> None:
    assert describe(parse_schedule(text), "Europe/Berlin") == words


def test_one_instant_is_told_by_the_clock_of_the_zone() -> None:
    at = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)

    assert describe(Once(at), "Europe/Berlin") == "once at 03:30:00 on 2026-03-29, Europe/Berlin time"
    assert describe(Once(at), "UTC") == "once at 01:30:00 on 2026-03-29, UTC"


@given(st.text(alphabet="0123456789*/-,#?LMONFEB", min_size=1, max_size=20))
def test_words_are_found_for_any_cron_however_odd(column: str) -> None:
    for fields in (f"{column} * * * * *", f"0 {column} 1 * * *", f"0 0 {column} {column} {column} {column}"):
        assert describe(Cron(fields), "UTC")
