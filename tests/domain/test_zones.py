from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import available_timezones

import pytest

from tests.domain.nominal_times import MICROSECOND
from tocsin.domain.errors import InvalidSchedule
from tocsin.domain.zones import Seam, load_zone, seam_at


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Europe",
        "europe/berlin",
        "Europe/Berln",
        "../etc/passwd",
        "/etc/localtime",
        "posix/UTC",
        "localtime",
        "A" * 65,
        "UTC\n",
    ],
)
def test_a_zone_is_known_by_its_exact_name_or_refused(name: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        load_zone(name)

    assert [error.field for error in refusal.value.errors] == ["timezone"]


def test_a_misspelt_zone_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidSchedule, match=r"did you mean Europe/Berlin\?"):
        load_zone("Europe/Berln")


def test_every_zone_of_the_database_can_be_loaded() -> None:
    loaded = {load_zone(name).key for name in available_timezones() - {"localtime"}}

    assert {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+12"} <= loaded


def test_a_seam_is_found_from_anywhere_within_it_and_nowhere_else() -> None:
    berlin = load_zone("Europe/Berlin")
    gap = Seam(
        start=datetime.fromisoformat("2026-03-29 02:00"), end=datetime.fromisoformat("2026-03-29 03:00"), is_gap=True
    )
    overlap = Seam(
        start=datetime.fromisoformat("2026-10-25 02:00"), end=datetime.fromisoformat("2026-10-25 03:00"), is_gap=False
    )

    for seam in (gap, overlap):
        for within in (
            seam.start,
            seam.start + timedelta(seconds=1, microseconds=1),
            seam.end - MICROSECOND,
        ):
            assert seam_at(within, berlin) == seam_at(within.replace(fold=1), berlin) == seam
        assert seam_at(seam.start - MICROSECOND, berlin) is None
        assert seam_at(seam.end, berlin) is None
