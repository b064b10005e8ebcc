from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tocsin.adapters.system import ManualClock, SystemClock
from tocsin.ports.clock import Clock


@pytest.mark.parametrize("clock", [SystemClock(), ManualClock()])
def test_a_clock_tells_aware_utc_and_never_measures_backwards(clock: Clock) -> None:
    assert clock.now().utcoffset() == timedelta()
    assert clock.monotonic() <= clock.monotonic()


def test_the_system_clock_is_the_machines() -> None:
    before = datetime.now(UTC)
    now = SystemClock().now()

    assert before <= now <= datetime.now(UTC)


def test_a_manual_clock_stands_still() -> None:
    clock = ManualClock("2026-03-01T12:00:00Z")

    assert clock.now() == clock.now() == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert clock.monotonic() == 0


def test_time_passes_on_both_clocks() -> None:
    clock = ManualClock()
    start = clock.now()

    clock.advance(1.5)
    clock.advance(timedelta(minutes=1))
    clock.move_to(start + timedelta(minutes=2))

    assert clock.now() == start + timedelta(minutes=2)
    assert clock.monotonic() == 120


def test_the_wall_clock_jumps_alone() -> None:
    clock = ManualClock()
    start = clock.now()

    clock.jump_wall(timedelta(hours=-1))
    clock.jump_wall(60)

    assert clock.now() == start - timedelta(minutes=59)
    assert clock.monotonic() == 0


def test_an_instant_may_come_in_any_zone() -> None:
    clock = ManualClock()

    clock.move_to("2026-03-01T13:00:00+01:00")

    assert clock.now().isoformat() == "2026-03-01T12:00:00+00:00"


def test_time_does_not_pass_backwards() -> None:
    clock = ManualClock()

    with pytest.raises(ValueError, match="jump_wall"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="jump_wall"):
        clock.move_to(clock.now() - timedelta(seconds=1))


def test_an_instant_needs_an_offset() -> None:
    with pytest.raises(ValueError, match="offset"):
        ManualClock("2026-03-01T12:00:00")
