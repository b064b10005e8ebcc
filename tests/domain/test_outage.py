from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tocsin.domain.outage import REMINDER, Outage


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 200)), min_size=1))
def test_each_kind_of_failure_is_told_at_once_and_then_no_sooner_than_a_reminder(
    steps: list[tuple[str, float]],
) -> None:
    outage, now, told = Outage(), 0.0, dict[str, float]()
    for number, (kind, pause) in enumerate(steps, 1):
        now += pause
        is_due = kind not in told or now - told[kind] >= REMINDER

        assert outage.fail(kind, now) is is_due
        assert outage.failures == number
        if is_due:
            told[kind] = now


def test_what_is_over_is_told_once_and_forgotten() -> None:
    outage = Outage()
    outage.fail("away", 10)
    outage.fail("away", 20)

    assert [outage.end(25), outage.end(30), outage.failures, outage.lasted(30)] == [15, None, 0, 0]
    assert outage.fail("away", 31) is True
