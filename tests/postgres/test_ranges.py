from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tocsin.adapters.postgres.ranges import FULL_LOOK, MOST_FLOORS, SETTLING, Ranges
from tocsin.adapters.system import ManualClock
from tocsin.domain.bands import band_of

CAPABILITIES = ("command", "http")
QUEUES = st.tuples(st.sampled_from(CAPABILITIES), st.integers(0, 100))


def ranges_after(taken: Mapping[tuple[str, int], int]) -> Ranges:
    """Ranges that have learned how far queues were taken, and looked through everything just now."""
    clock = ManualClock()
    ranges = Ranges(clock.monotonic)
    settle(ranges, clock)
    for (capability, priority), number in taken.items():
        ranges.took(capability, priority, number)
    settle(ranges, clock)
    settle(ranges, clock)
    return ranges


def settle(ranges: Ranges, clock: ManualClock) -> None:
    clock.advance(SETTLING)
    ranges.of(CAPABILITIES)


def floors(ranges: Ranges) -> dict[tuple[str, int, int], int]:
    return {(each.capability, each.low, each.high): each.floor for each in ranges.of(CAPABILITIES) if each.floor}


@given(st.dictionaries(QUEUES, st.integers(1), max_size=MOST_FLOORS))
def test_every_queue_is_in_one_range_of_its_band_above_what_was_taken_of_it(taken: dict[tuple[str, int], int]) -> None:
    found = [
        ((each.capability, priority), each)
        for each in ranges_after(taken).of(CAPABILITIES)
        for priority in range(each.low, each.high + 1)
    ]

    assert sorted(queue for queue, _ in found) == [(name, level) for name in CAPABILITIES for level in range(101)]
    for queue, each in found:
        assert each.band is band_of(queue[1])
        assert each.floor == taken.get(queue, 0)


def test_what_was_taken_just_now_says_nothing_yet() -> None:
    clock = ManualClock()
    ranges = Ranges(clock.monotonic)
    settle(ranges, clock)
    ranges.took("http", 50, 7)

    settle(ranges, clock)
    assert floors(ranges) == {}
    settle(ranges, clock)
    assert floors(ranges) == {("http", 50, 50): 7}


def test_now_and_then_a_look_trusts_no_floor() -> None:
    clock = ManualClock()
    ranges = Ranges(clock.monotonic)
    ranges.took("http", 50, 7)
    looks = []
    for _ in range(100):
        clock.advance(FULL_LOOK / 10)
        looks.append(bool(floors(ranges)))

    assert looks[20:].count(False) == 8


def test_once_something_is_found_below_a_floor_none_is_trusted() -> None:
    ranges = ranges_after({("http", 50): 700, ("command", 50): 900})

    ranges.took("http", 50, 1)

    assert floors(ranges) == {}


def test_only_the_latest_floors_are_kept() -> None:
    ranges = ranges_after({("http", priority): 7 for priority in range(101)})

    assert len(floors(ranges)) == MOST_FLOORS
