from __future__ import annotations

from collections import Counter

import pytest

from tocsin.domain.bands import TURNS, URGENT_FIRST, Band, band_of, shares
from tocsin.domain.job import PRIORITY_NAMES


def test_every_named_priority_lies_in_the_band_of_that_name() -> None:
    assert {name: band_of(priority).name.lower() for name, priority in PRIORITY_NAMES.items()} == {
        name: name for name in PRIORITY_NAMES
    }
    assert {band.name.lower(): band.value for band in Band} == dict(PRIORITY_NAMES)


@pytest.mark.parametrize(
    ("band", "least", "most"),
    [(Band.LOW, 0, 37), (Band.MEDIUM, 38, 62), (Band.HIGH, 63, 87), (Band.CRITICAL, 88, 100)],
)
def test_every_priority_has_one_band(band: Band, least: int, most: int) -> None:
    assert [priority for priority in range(101) if band_of(priority) is band] == [*range(least, most + 1)]


def test_each_band_has_half_as_many_turns_as_the_one_above_it() -> None:
    assert [Counter(TURNS)[band] for band in URGENT_FIRST] == [8, 4, 2, 1]
    assert TURNS[0] is Band.CRITICAL


def test_what_comes_in_pieces_is_shared_as_if_it_came_at_once() -> None:
    pieces = [shares(turn, size) for turn, size in ((0, 1), (1, 7), (8, 22))]

    assert sum(pieces, Counter()) == shares(0, 30) == {band: 2 * turns for band, turns in Counter(TURNS).items()}
