from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at, count_id
from tocsin.domain.flow import Batch, Debounce, FlowControl, FlowState, Gathering, Rate
from tocsin.domain.gathering import Admitted, Dropped, Verdict, admit

RATES = st.builds(Rate, limit=st.integers(1, 20), seconds=st.integers(1, 60))
MOMENTS = st.lists(st.floats(0, 30), min_size=1, max_size=80).map(
    lambda gaps: [sum(gaps[: index + 1]) / 8 for index in range(len(gaps))]
)


def verdicts(flow: FlowControl, seconds: Sequence[float]) -> list[Verdict]:
    """What becomes of events of one key, each so many seconds after the start; they are numbered from 0."""
    state, told = FlowState(), []
    for number, second in enumerate(seconds):
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


def test_without_limits_everything_is_admitted() -> None:
    assert FlowControl(key="event.data.id").is_free
    assert verdicts(FlowControl(), [0, 0]) == [Admitted(), Admitted()]
