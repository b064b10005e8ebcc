from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.makers import START
from tocsin.application.store_time import REMEMBERED_SECONDS, STEP_SECONDS, StoreTime

MICROSECOND = 1e-6
AT_MOST = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """When a node hears of the time, by its own clock, how long that took, and by how much the store's was set."""

    now: float
    took: float
    step: float

    @property
    def apart(self) -> float:
        """How far the two clocks really are apart."""
        return -(START.timestamp() + self.step)

    @property
    def bound(self) -> float:
        """How far they are apart at most, as this answer alone says."""
        return self.apart + self.took

    def learned_by(self, store_time: StoreTime) -> float:
        told = START + timedelta(seconds=self.now - self.took + self.step)
        return store_time.learn(told, self.now)


@st.composite
def answers(draw: st.DrawFn, steps: st.SearchStrategy[float], slowest: float = STEP_SECONDS * 2) -> list[Answer]:
    """Answers that come one after the other; before each the store's clock may be set by a step."""
    now = step = 0.0
    found = []
    for _ in range(draw(st.integers(1, 12))):
        now += draw(st.floats(0, REMEMBERED_SECONDS * 1.5))
        step += draw(steps)
        found.append(Answer(now=now, took=draw(st.floats(0, slowest)), step=step))
    return found


def learned(given_answers: list[Answer]) -> Iterator[tuple[Answer, float]]:
    store_time = StoreTime()
    return ((answer, answer.learned_by(store_time)) for answer in given_answers)


@given(answers(st.just(0.0) | st.floats(0, AT_MOST)))
def test_nothing_begins_before_its_time_nor_later_than_the_last_answer_said(told: list[Answer]) -> None:
    for answer, bound in learned(told):
        assert answer.apart - MICROSECOND <= bound <= answer.bound + MICROSECOND


@given(answers(st.floats(-AT_MOST, AT_MOST)))
def test_a_clock_that_is_set_back_is_followed_but_for_a_small_step(told: list[Answer]) -> None:
    for answer, bound in learned(told):
        assert answer.bound - STEP_SECONDS - MICROSECOND <= bound <= answer.bound + MICROSECOND


@given(answers(st.just(0.0), slowest=STEP_SECONDS - 2 * MICROSECOND))
def test_the_quickest_answer_of_the_last_seconds_counts(told: list[Answer]) -> None:
    for place, (answer, bound) in enumerate(learned(told)):
        recent = [each for each in told[: place + 1] if each.now >= answer.now - REMEMBERED_SECONDS]
        assert abs(bound - min(each.bound for each in recent)) <= MICROSECOND


def test_answers_that_are_rare_are_each_taken_at_their_word() -> None:
    store_time = StoreTime()
    quick = Answer(now=0, took=0, step=0)
    slow = Answer(now=REMEMBERED_SECONDS + 1, took=STEP_SECONDS / 2, step=0)

    quick.learned_by(store_time)

    assert abs(slow.learned_by(store_time) - slow.bound) <= MICROSECOND


def test_an_answer_to_many_is_remembered_once() -> None:
    store_time = StoreTime()
    answer = Answer(now=1, took=0.001, step=0)

    assert len({answer.learned_by(store_time) for _ in range(500)}) == 1
    assert len(store_time._bounds) == 1  # noqa: SLF001 - a claim of 500 must not make a history of 500
