from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.adapters.cli.texts import milliseconds, relative, span, visible, written

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (0.4, "now"),
        (5, "in 5 s"),
        (-5, "5 s ago"),
        (90, "in 1 min 30 s"),
        (600, "in 10 min"),
        (-7800, "2 h 10 min ago"),
        (36_000, "in 10 h"),
        (86_400, "in 1 d"),
        (90_000, "in 1 d 1 h"),
        (-8_640_000, "100 d ago"),
    ],
)
def test_an_instant_is_told_by_its_distance(seconds: float, words: str) -> None:
    assert relative(NOON + timedelta(seconds=seconds), NOON) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0 ms"), (999, "999 ms"), (1500, "1.5 s"), (60_000, "1 min"), (200_000, "3 min 20 s")]
)
def test_a_duration_is_told_as_its_size_asks_for(value: float, words: str) -> None:
    assert milliseconds(value) == words


@pytest.mark.parametrize(("hours", "offset"), [(0, "+00:00"), (5.5, "+05:30"), (-3.5, "-03:30")])
def test_an_instant_is_written_with_its_offset(hours: float, offset: str) -> None:
    local = datetime(2026, 3, 1, 13, 0, 5, 999, tzinfo=timezone(timedelta(hours=hours)))

    assert written(local) == f"2026-03-01 13:00:05 {offset}"


@given(st.text())
def test_whatever_is_shown_is_printable(text: str) -> None:
    assert visible(text).isprintable()


@given(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=100_000)))
def test_a_length_has_at_most_two_units(length: timedelta) -> None:
    assert len(span(length).split()) in {2, 4}
