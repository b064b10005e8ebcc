from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at, count_id
from tocsin.domain.flow import Batch, Debounce, FlowControl, FlowState, Gathering, Rate
from tocsin.domain.gathering import THROTTLE_LIMIT, Admitted, Dropped, Verdict, admit

RATES = st.builds(Rate, limit=st.integers(1, 20), seconds=st.integers(1, 60))
MOMENTS = st.lists(st.floats(0, 30), min_size=1, max_size=80).map(
    lambda gaps: [sum(gaps[: index + 1]) / 8 for index in range(len(gaps))]
)


def verdicts(flow: FlowControl, seconds: Sequence[float]) -> list[Verdict]:
    """What becomes of events of one key, each so many seconds after the start; they are numbered from 0."""
    return course([(flow, second) for second in seconds])


def course(steps: Sequence[tuple[FlowControl, float]], state: FlowState | None = None) -> list[Verdict]:
    """What becomes of events of one key under limits that change; they are numbered from 0."""
    state, told = state or FlowState(), []
    for number, (flow, second) in enumerate(steps):
        state, verdict = admit(flow, state, UUID(int=number), now=at(second), new_id=count_id(at(second)))
        told.append(verdict)
    return told


def held(verdict: Verdict) -> Gathering:
    assert isinstance(verdict, Gathering)
    return verdict


def keeps_to(rate: Rate, times: Sequence[datetime]) -> bool:
    """Tell whether no stretch of time has more than `limit` and what is refilled in it."""
    refill = timedelta(seconds=rate.seconds) / rate.limit
    return all(
        last - first + 1 <= rate.limit + (times[last] - times[first]) / refill
        for first in range(len(times))
        for last in range(first, len(times))
    )


@given(RATES, MOMENTS)
def test_a_rate_limit_never_admits_more_than_its_bucket_holds_and_is_refilled_with(
    rate: Rate, seconds: list[float]
) -> None:
    told = verdicts(FlowControl(rate_limit=rate), seconds)

    admitted = [at(second) for second, verdict in zip(seconds, told, strict=True) if verdict == Admitted()]
    assert keeps_to(rate, admitted)
    assert len(admitted) >= min(rate.limit, len(seconds))
    assert {verdict for verdict in told if verdict != Admitted()} <= {Dropped("rate_limit")}


@given(RATES, MOMENTS)
def test_a_throttle_loses_nothing_and_spaces_what_it_delays(rate: Rate, seconds: list[float]) -> None:
    told = verdicts(FlowControl(throttle=rate), seconds)

    times = [
        verdict.due_at if isinstance(verdict, Gathering) else at(second)
        for second, verdict in zip(seconds, told, strict=True)
    ]
    assert times == sorted(times)
    assert keeps_to(rate, times)
    assert not [verdict for verdict in told if isinstance(verdict, Dropped)]


def test_a_rate_finer_than_the_clock_is_rounded_so_that_it_is_not_exceeded() -> None:
    told = verdicts(FlowControl(rate_limit=Rate(limit=7, seconds=1)), [0] * 8 + [0.142857, 0.142858])

    assert [verdict == Admitted() for verdict in told] == [True] * 7 + [False, False, True]


def test_a_throttle_drops_what_would_wait_for_more_than_a_week() -> None:
    told = verdicts(FlowControl(throttle=Rate(limit=1, seconds=86_400)), [0] * 10)

    assert told[0] == Admitted()
    assert [held(verdict).due_at for verdict in told[1:8]] == [at(86_400 * day) for day in range(1, 8)]
    assert told[8:] == [Dropped("throttle")] * 2


def test_a_repetition_within_the_window_is_dropped_and_the_window_is_not_extended_by_it() -> None:
    told = verdicts(FlowControl(dedupe_seconds=10), [0, 5, 9.999, 10])

    assert told == [Admitted(), Dropped("dedupe"), Dropped("dedupe"), Admitted()]


def test_what_a_later_limit_drops_opens_no_window() -> None:
    flow = FlowControl(dedupe_seconds=2, rate_limit=Rate(limit=1, seconds=10))

    assert verdicts(flow, [0, 9, 10]) == [Admitted(), Dropped("rate_limit"), Admitted()]


@given(MOMENTS, st.integers(1, 5), st.integers(0, 10))
def test_a_debounce_acts_once_for_each_busy_time_with_the_newest_event(
    seconds: list[float], quiet: int, more: int
) -> None:
    told = verdicts(FlowControl(debounce=Debounce(seconds=quiet, max_seconds=quiet + more)), seconds)

    final = {held(verdict).id: held(verdict) for verdict in told}
    assert sum(each.superseded + 1 for each in final.values()) == len(seconds)
    for gathering in final.values():
        newest = at(seconds[gathering.event_ids[0].int])
        longest = gathering.first_at + timedelta(seconds=quiet + more)
        assert gathering.due_at == min(newest + timedelta(seconds=quiet), longest)
        assert newest < gathering.due_at


def test_an_event_after_the_quiet_time_begins_anew_though_nobody_has_acted_yet() -> None:
    first, second = map(held, verdicts(FlowControl(debounce=Debounce(seconds=5)), [0, 5]))

    assert first.id != second.id
    assert (second.first_at, second.superseded) == (at(5), 0)


@given(MOMENTS, st.integers(2, 6), st.integers(1, 10))
def test_every_event_is_in_exactly_one_batch_of_no_more_than_its_size_and_time(
    seconds: list[float], size: int, wait: int
) -> None:
    told = verdicts(FlowControl(batch=Batch(size=size, seconds=wait)), seconds)

    final = {held(verdict).id: held(verdict) for verdict in told}
    assert [id_.int for each in final.values() for id_ in each.event_ids] == list(range(len(seconds)))
    for gathering in final.values():
        times = [at(seconds[id_.int]) for id_ in gathering.event_ids]
        is_full = len(times) == size
        assert len(times) <= size
        assert gathering.first_at == times[0]
        assert gathering.due_at == (times[-1] if is_full else times[0] + timedelta(seconds=wait))
        assert times[-1] < times[0] + timedelta(seconds=wait)


LIMITS = st.builds(
    FlowControl,
    dedupe_seconds=st.none() | st.integers(1, 60),
    rate_limit=st.none() | RATES,
    throttle=st.none() | RATES,
)
FAR = st.none() | st.integers(-1, 4_000_000).map(at)
HALF_A_DAY = 43_200


@given(LIMITS, st.builds(FlowState, seen_until=FAR, rate_limit_at=FAR, throttle_at=FAR))
def test_whatever_is_remembered_a_key_is_open_again_after_its_limits_and_a_queue_of_a_week(
    flow: FlowControl, remembered: FlowState
) -> None:
    without_queue = replace(flow, throttle=None)
    longest = max(60.0, THROTTLE_LIMIT.total_seconds() if flow.throttle else 0.0)

    assert course([(without_queue, 0), (without_queue, 60.001)], remembered)[1] == Admitted()
    if flow.throttle is not None:
        assert course([(flow, 0), (flow, longest + 60.001)], remembered)[1] == Admitted()


@pytest.mark.parametrize("flow", [FlowControl(dedupe_seconds=60), FlowControl(rate_limit=Rate(limit=1, seconds=60))])
def test_a_clock_that_is_set_back_keeps_events_away_no_longer_than_the_limit_does(flow: FlowControl) -> None:
    back = -HALF_A_DAY

    told = verdicts(flow, [0, back, back + 59, back + 60])

    assert [verdict == Admitted() for verdict in told] == [True, False, False, True]


def test_a_rate_that_is_raised_counts_from_then_on() -> None:
    slow = FlowControl(rate_limit=Rate(limit=1, seconds=86_400))
    fast = FlowControl(rate_limit=Rate(limit=1000, seconds=1))

    told = course([(slow, 0), (slow, 1), (fast, 1), (fast, 1.001)])

    assert [verdict == Admitted() for verdict in told] == [True, False, False, True]


def test_what_waits_in_a_queue_is_not_forgotten_when_the_throttle_is_another() -> None:
    slow = FlowControl(throttle=Rate(limit=1, seconds=86_400))
    fast = FlowControl(throttle=Rate(limit=1, seconds=1))

    told = course([(slow, 0), (slow, 0), (fast, 0)])

    assert [held(verdict).due_at for verdict in told[1:]] == [at(86_400), at(2 * 86_400)]


@pytest.mark.parametrize("before", [1, 2])
def test_a_debounce_takes_nothing_away_from_a_batch_that_was_gathered_before_it(before: int) -> None:
    batch, debounce = FlowControl(batch=Batch(size=9, seconds=60)), FlowControl(debounce=Debounce(seconds=5))

    told = list(map(held, course([(batch, 0)] * before + [(debounce, 1), (debounce, 2)])))

    *gathered, first, second = told
    assert len(gathered[-1].event_ids) == before
    assert {each.id for each in gathered} & {first.id, second.id} == set()
    assert (first.superseded, second.superseded, second.id) == (0, 1, first.id)


def test_a_batch_takes_nothing_over_from_a_debounce_that_was_before_it() -> None:
    batch, debounce = FlowControl(batch=Batch(size=2, seconds=60)), FlowControl(debounce=Debounce(seconds=30))

    *_, last, first, second = map(held, course([(debounce, 0), (debounce, 1), (batch, 2), (batch, 3)]))

    assert last.id not in {first.id, second.id}
    assert (first.id, len(second.event_ids)) == (second.id, 2)


def test_a_batch_waits_no_longer_than_it_says_though_the_clock_was_set_back() -> None:
    told = verdicts(FlowControl(batch=Batch(size=9, seconds=60)), [0, -HALF_A_DAY])

    assert held(told[1]).due_at == at(60 - HALF_A_DAY)


def test_without_limits_everything_is_admitted() -> None:
    assert FlowControl(key="event.data.id").is_free
    assert verdicts(FlowControl(), [0, 0]) == [Admitted(), Admitted()]
