from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from tests.domain.naive_cron import NaiveCron
from tests.domain.nominal_times import between, source_of
from tocsin.domain.occurrences import Occurrence
from tocsin.domain.zones import instant_of, load_zone

MINUTE = timedelta(minutes=1)
AROUND = timedelta(hours=3, minutes=30)
"""Longer than any change, so that both passes of an overlap are in sight."""


def told(schedule: str, zone: str, start: str, end: str) -> list[str]:
    """Tell the occurrences between two wall times of a zone, as `wall time and offset, note`."""
    bounds = (instant_of(datetime.fromisoformat(bound), load_zone(zone)) for bound in (start, end))
    return [
        f"{found.at.astimezone(load_zone(zone)):%m-%d %H:%M %z}{f', {found.note}' if found.note else ''}"
        for found in between(source_of(schedule, zone), *bounds)
    ]


def test_a_time_of_day_keeps_its_wall_time_over_the_year() -> None:
    assert told("30 9 * * *", "Europe/Berlin", "2026-03-28", "2026-03-31") == [
        "03-28 09:30 +0100",
        "03-29 09:30 +0200",
        "03-30 09:30 +0200",
    ]


def test_a_time_that_does_not_exist_runs_at_the_first_instant_after_the_gap() -> None:
    note = "02:30 does not exist on 2026-03-29 in Europe/Berlin; runs at 03:00"

    assert told("30 2 * * *", "Europe/Berlin", "2026-03-28", "2026-03-31") == [
        "03-28 02:30 +0100",
        f"03-29 03:00 +0200, {note}",
        "03-30 02:30 +0200",
    ]


def test_times_that_meet_at_the_end_of_a_gap_are_one() -> None:
    note = "02:15 does not exist on 2026-03-29 in Europe/Berlin; runs at 03:00, as one with the times up to then"

    assert told("15,45 1,2 * * *", "Europe/Berlin", "2026-03-29", "2026-03-30") == [
        "03-29 01:15 +0100",
        "03-29 01:45 +0100",
        f"03-29 03:00 +0200, {note}",
    ]
    assert told("0 2,3 * * *", "Europe/Berlin", "2026-03-29", "2026-03-30") == [
        f"03-29 03:00 +0200, {note.replace('02:15', '02:00')}"
    ]


def test_a_time_that_comes_twice_runs_at_the_first() -> None:
    note = "02:30 comes twice on 2026-10-25 in Europe/Berlin; runs at the first"

    assert told("30 2,3 * * *", "Europe/Berlin", "2026-10-25", "2026-10-26 03:00") == [
        f"10-25 02:30 +0200, {note}",
        "10-25 03:30 +0100",
        "10-26 02:30 +0100",
    ]


def test_nothing_repeats_when_asked_from_within_the_second_pass() -> None:
    second_pass = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)

    assert source_of("30 2 * * *", "Europe/Berlin").after(second_pass) == Occurrence(
        at=datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    )


def test_real_time_skips_a_gap_and_counts_both_passes_of_an_overlap() -> None:
    note = "{} comes twice on 2026-10-25 in Europe/Berlin; this is the {}"

    assert told("*/30 1-3 * * *", "Europe/Berlin", "2026-03-29", "2026-03-30") == [
        "03-29 01:00 +0100",
        "03-29 01:30 +0100",
        "03-29 03:00 +0200",
        "03-29 03:30 +0200",
    ]
    assert told("*/30 2 * * *", "Europe/Berlin", "2026-10-25", "2026-10-26") == [
        f"10-25 02:00 +0200, {note.format('02:00', 'first')}",
        f"10-25 02:30 +0200, {note.format('02:30', 'first')}",
        f"10-25 02:00 +0100, {note.format('02:00', 'second')}",
        f"10-25 02:30 +0100, {note.format('02:30', 'second')}",
    ]


def test_new_york_changes_at_two() -> None:
    assert told("30 2 * * *", "America/New_York", "2026-03-08", "2026-03-09") == [
        "03-08 03:00 -0400, 02:30 does not exist on 2026-03-08 in America/New_York; runs at 03:00"
    ]
    assert told("30 1 * * *", "America/New_York", "2026-11-01", "2026-11-02") == [
        "11-01 01:30 -0400, 01:30 comes twice on 2026-11-01 in America/New_York; runs at the first"
    ]


def test_lord_howe_moves_by_half_an_hour() -> None:
    assert told("15,45 2 * * *", "Australia/Lord_Howe", "2026-10-04", "2026-10-05") == [
        "10-04 02:30 +1100, 02:15 does not exist on 2026-10-04 in Australia/Lord_Howe; runs at 02:30",
        "10-04 02:45 +1100",
    ]
    assert told("15,45 1 * * *", "Australia/Lord_Howe", "2026-04-05", "2026-04-06") == [
        "04-05 01:15 +1100",
        "04-05 01:45 +1100, 01:45 comes twice on 2026-04-05 in Australia/Lord_Howe; runs at the first",
    ]


def test_apia_has_no_30_december_2011() -> None:
    assert told("0 12 * * *", "Pacific/Apia", "2011-12-29", "2012-01-01") == [
        "12-29 12:00 -1000",
        "12-31 00:00 +1400, 12:00 does not exist on 2011-12-30 in Pacific/Apia; runs at 2011-12-31 00:00",
        "12-31 12:00 +1400",
    ]
    assert [line[:11] for line in told("0 */8 * * *", "Pacific/Apia", "2011-12-29 12:00", "2011-12-31 12:00")] == [
        "12-29 16:00",
        "12-31 00:00",
        "12-31 08:00",
    ]


def test_casablanca_leaves_its_offset_for_ramadan() -> None:
    assert told("30 2 * * *", "Africa/Casablanca", "2026-02-15", "2026-02-16") == [
        "02-15 02:30 +0100, 02:30 comes twice on 2026-02-15 in Africa/Casablanca; runs at the first"
    ]
    assert told("30 2 * * *", "Africa/Casablanca", "2026-03-22", "2026-03-23") == [
        "03-22 03:00 +0100, 02:30 does not exist on 2026-03-22 in Africa/Casablanca; runs at 03:00"
    ]


def test_dublin_has_its_saving_time_in_winter_and_changes_like_london() -> None:
    for day in ("2026-03-29", "2026-10-25"):
        dublin, london = (
            [line.split(",")[0] for line in told("30 1 * * *", zone, day, f"{day} 23:00")]
            for zone in ("Europe/Dublin", "Europe/London")
        )
        assert dublin == london
    assert told("30 1 * * *", "Europe/Dublin", "2026-03-29", "2026-03-30") == [
        "03-29 02:00 +0100, 01:30 does not exist on 2026-03-29 in Europe/Dublin; runs at 02:00"
    ]


def test_utc_has_no_seams() -> None:
    assert told("30 2 * * *", "UTC", "2026-03-28", "2026-03-30") == ["03-28 02:30 +0000", "03-29 02:30 +0000"]


def offset_at(instant: datetime, zone: ZoneInfo) -> timedelta | None:
    return instant.astimezone(zone).utcoffset()


def changes() -> list[tuple[str, datetime]]:
    """List every change of every zone's offset from 2020 to 2037, each kind of change once, found by halving."""
    days = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(0, 18 * 365, 5)]
    seen: dict[tuple[datetime, timedelta | None, timedelta | None], str] = {}
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        offsets = [offset_at(day, zone) for day in days]
        for index, (old, new) in enumerate(pairwise(offsets)):
            if old != new:
                early, late = days[index], days[index + 1]
                while late - early > MINUTE:
                    middle = early + (late - early) // MINUTE // 2 * MINUTE
                    early, late = (middle, late) if offset_at(middle, zone) == old else (early, middle)
                seen.setdefault((late, old, new), name)
    return [(name, at) for (at, _, _), name in seen.items()]


class Walk:
    """The minutes around a change, each with the wall time it has: what a cron should give there, by plain looking."""

    def __init__(self, zone: ZoneInfo, start: datetime, end: datetime) -> None:
        self.instants: dict[datetime, list[datetime]] = {}
        for instant in (start + minute * MINUTE for minute in range((end - start) // MINUTE)):
            self.instants.setdefault(instant.astimezone(zone).replace(tzinfo=None, fold=0), []).append(instant)

    def times_of(self, cron: NaiveCron) -> list[datetime]:
        if cron.is_steady:
            return sorted(each for wall, found in self.instants.items() if cron.matches(wall) for each in found)
        walls = sorted(self.instants)
        after_gap = next((late for early, late in pairwise(walls) if late - early > MINUTE), walls[0])
        nominal = (walls[0] + minute * MINUTE for minute in range((walls[-1] - walls[0]) // MINUTE + 1))
        return sorted({self.instants.get(wall, self.instants[after_gap])[0] for wall in nominal if cron.matches(wall)})


def test_every_change_of_every_zone_agrees_with_a_walk_minute_by_minute() -> None:
    crons = ["7,37 0-23 * * *", "30 2 * * *", "0 0,1,3 * * *", "*/20 * * * *", "*/15 1-2 * * *"]
    every_change = changes()
    disagreements = []
    for name, change in every_change:
        start, end = change - AROUND, change + AROUND
        walk = Walk(ZoneInfo(name), start, end)
        for text in crons:
            found = [occurrence.at for occurrence in between(source_of(text, name), start, end)]
            if found != walk.times_of(NaiveCron(text)):
                disagreements.append((text, name, change))

    assert len(every_change) > 300
    assert disagreements == []
