from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tocsin.adapters.postgres.ranges import (
    FULL_LOOK,
    LOOK_BACK,
    MOST_FLOORS,
    SECOND_LOOK,
    SETTLED,
    SETTLING,
    Look,
    Ranges,
)
from tocsin.adapters.system import ManualClock
from tocsin.domain.bands import band_of

CAPABILITIES = ("command", "http")
QUEUES = st.tuples(st.sampled_from(CAPABILITIES), st.integers(0, 100))
HTTP = ("http", 50)
COMMAND = ("command", 50)


class Taker:
    """Looks, and learns what came of it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ranges = Ranges(self.clock.monotonic)
        self.holds = True

    def takes(
        self, taken: Mapping[tuple[str, int], int], *, others: Mapping[tuple[str, int], int] | None = None
    ) -> Look:
        """Look, find these and what `others` have just taken, and take what they have not."""
        look = self.ranges.look(CAPABILITIES)
        seen = {
            (place, priority): min(number, (others or {}).get((name, priority), number))
            for (name, priority), number in [*(others or {}).items(), *taken.items()]
            for place, each in enumerate(look.ranges)
            if each.capability == name and each.low <= priority <= each.high
        }
        self.holds = self.ranges.learn(look, [*taken.items()], seen)
        return look

    def passes(self, seconds: float, *, others: Mapping[tuple[str, int], int] | None = None) -> None:
        """Look again and again that long, and find nothing but what others are taking."""
        for _ in range(round(seconds / SETTLING)):
            self.clock.advance(SETTLING)
            self.takes({}, others=others)

    def knows(self) -> dict[tuple[str, int], int]:
        return floors(self.ranges.look(CAPABILITIES))


def floors(look: Look) -> dict[tuple[str, int], int]:
    return {(each.capability, each.low): each.floor for each in look.ranges if each.floor}


@given(st.dictionaries(QUEUES, st.integers(1), max_size=MOST_FLOORS))
def test_every_queue_is_in_one_range_of_its_band_above_what_was_taken_of_it(taken: dict[tuple[str, int], int]) -> None:
    taker = Taker()
    taker.takes(taken)
    taker.passes(2 * SETTLING)
    found = [
        ((each.capability, priority), each)
        for each in taker.ranges.look(CAPABILITIES).ranges
        for priority in range(each.low, each.high + 1)
    ]

    assert sorted(queue for queue, _ in found) == [(name, level) for name in CAPABILITIES for level in range(101)]
    for queue, each in found:
        assert each.band is band_of(queue[1])
        assert each.floor == taken.get(queue, 0)


def test_what_was_taken_just_now_says_nothing_yet() -> None:
    taker = Taker()
    taker.takes({HTTP: 7})

    assert taker.knows() == {}
    taker.passes(2 * SETTLING)
    assert taker.knows() == {HTTP: 7}


def test_now_and_then_a_look_goes_further_back_and_rarely_to_the_beginning() -> None:
    taker = Taker()
    seen = []
    for number in range(1, round(2.5 * FULL_LOOK / SETTLING)):
        taker.clock.advance(SETTLING)
        seen.append(number - floors(taker.takes({HTTP: number})).get(HTTP, 0))
    age = Counter(seen[round(60 / SETTLING) :])

    assert age.most_common(1)[0][0] * SETTLING <= 2 * SETTLING
    second = sum(count for looks, count in age.items() if SECOND_LOOK <= looks * SETTLING < SETTLED)
    back = sum(count for looks, count in age.items() if SETTLED <= looks * SETTLING <= SETTLED + 2 * LOOK_BACK)
    full = sum(count for looks, count in age.items() if looks * SETTLING > SETTLED + 2 * LOOK_BACK)
    looked = 2.5 * FULL_LOOK - 60
    assert (full, round(back * LOOK_BACK / looked, 1), round(second * SECOND_LOOK / looked, 1)) == (2, 1.0, 1.0)


def test_what_was_committed_late_is_found_at_the_next_look_that_goes_further_back() -> None:
    taker = Taker()
    taker.takes({HTTP: 700, COMMAND: 900})
    taker.passes(2 * SECOND_LOOK)

    taker.takes({HTTP: 1})
    assert taker.knows() == {}
    taker.passes(2 * SETTLING)
    assert taker.knows() == {HTTP: 1}


def test_a_floor_is_settled_once_a_look_that_went_further_back_found_nothing_below() -> None:
    taker = Taker()
    taker.takes({HTTP: 700, COMMAND: 900})
    taker.passes(SETTLED, others={HTTP: 800, COMMAND: 950})
    assert taker.ranges.news() == {}

    taker.passes(2 * LOOK_BACK, others={HTTP: 800, COMMAND: 950})

    assert taker.ranges.news() == {HTTP: 700, COMMAND: 900}
    assert taker.ranges.news() == {}


def test_a_queue_in_whose_range_nothing_was_found_is_settled_too() -> None:
    taker = Taker()
    taker.takes({HTTP: 700, COMMAND: 900})
    taker.passes(SETTLED + 2 * LOOK_BACK)

    assert taker.ranges.news() == {HTTP: 700, COMMAND: 900}


def test_a_queue_that_a_look_did_not_come_to_is_not_settled_by_it() -> None:
    taker = Taker()
    taker.takes({HTTP: 700})
    taker.passes(SETTLED + 2 * LOOK_BACK, others={("http", 51): 800})

    assert taker.ranges.news() == {}


def test_no_floor_is_settled_while_others_take_what_lies_below() -> None:
    taker = Taker()
    taker.takes({HTTP: 700})
    taker.passes(SETTLED + 2 * LOOK_BACK, others={HTTP: 600})

    assert taker.ranges.news() == {}


def test_what_others_found_settled_is_where_the_first_look_begins() -> None:
    taker = Taker()
    taker.ranges.adopt({HTTP: 700})

    assert taker.knows() == {HTTP: 700}
    taker.passes(LOOK_BACK)
    assert taker.knows() == {HTTP: 700}


def test_of_what_others_found_settled_and_what_was_taken_the_higher_counts() -> None:
    taker = Taker()
    taker.takes({HTTP: 600, COMMAND: 900})
    taker.ranges.adopt({HTTP: 700, COMMAND: 800})
    taker.passes(2 * SETTLING)

    assert taker.knows() == {HTTP: 700, COMMAND: 900}


def test_once_something_is_found_below_what_was_settled_nothing_is_trusted() -> None:
    taker = Taker()
    taker.ranges.adopt({HTTP: 700, COMMAND: 900})

    taker.takes({COMMAND: 901})
    assert taker.holds
    taker.clock.advance(FULL_LOOK)
    taker.takes({HTTP: 1})

    assert not taker.holds
    assert taker.knows() == {}


def test_only_the_latest_floors_are_kept() -> None:
    taker = Taker()
    taker.takes({("http", priority): 7 for priority in range(101)})
    taker.passes(2 * SETTLING)

    assert sorted(taker.knows()) == [("http", priority) for priority in range(101 - MOST_FLOORS, 101)]
