"""A stream and a store's clock in memory, against what the marks say about them."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.makers import START
from tocsin.adapters.redis.passage import Horizon, Passage

steps = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 5)),
        st.tuples(st.just("deliver"), st.integers(1, 5)),
        st.tuples(st.just("flush"), st.just(0)),
        st.tuples(st.just("look"), st.just(0)),
    ),
    max_size=60,
)


@given(steps)
def test_nothing_that_waits_counts_as_passed_and_all_that_was_seen_is_passed_in_the_end(
    story: list[tuple[str, int]],
) -> None:
    passage = Passage()
    queue: list[int] = []
    seconds, number, delivered, seen = 0, 0, (0, 0), None
    generated = (0, 0)

    def look() -> int | None:
        passed = passage.passed(generated=generated, delivered=delivered, reached=START + timedelta(seconds=seconds))
        return None if passed is None else int((passed - START).total_seconds())

    for step, count in story:
        seconds += 1
        if step == "send":
            queue += [seconds] * count
            number += count
            generated = (seconds, number)
        elif step == "deliver" and queue:
            del queue[:count]
            delivered = generated if not queue else (queue[0] - 1, 0)
        elif step == "flush":
            queue, generated, delivered = [], (0, 0), (0, 0)
        elif step == "look":
            passed, seen = look(), seconds
            assert not queue or passed is None or passed < queue[0]

    queue, delivered = [], generated
    passed = look()
    assert seen is None or (passed is not None and passed >= seen)


def test_a_horizon_moves_with_the_monotonic_clock_and_never_back() -> None:
    ticks = iter([10.0, 20.0, 30.0])
    horizon = Horizon(lambda: next(ticks))

    reached = [horizon.reached(START), horizon.reached(START), horizon.reached(START + timedelta(minutes=1))]

    assert reached == [START, START + timedelta(seconds=10), START + timedelta(minutes=1)]
