from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import RFC_4122

from hypothesis import given
from hypothesis import strategies as st

from tocsin.adapters.system import Uuid7Sequence

NOW = datetime(2026, 3, 1, 12, 0, 0, 123_999, tzinfo=UTC)
INSTANTS = st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(INSTANTS)
def test_an_id_is_a_version_7_uuid_of_its_millisecond(instant: datetime) -> None:
    made = Uuid7Sequence()(instant)

    assert (made.version, made.variant) == (7, RFC_4122)
    assert made.int >> 80 == (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@given(st.lists(INSTANTS, min_size=2, max_size=50))
def test_ids_rise_whatever_the_clock_does(instants: list[datetime]) -> None:
    sequence = Uuid7Sequence()
    made = [sequence(instant) for instant in instants]

    assert all(earlier < later for earlier, later in pairwise(made))
    assert all(str(earlier) < str(later) for earlier, later in pairwise(made))


def test_ids_rise_within_one_millisecond() -> None:
    sequence = Uuid7Sequence()
    made = [sequence(NOW) for _ in range(10_000)]

    assert made == sorted(set(made))
    assert {each.int >> 80 for each in made} == {made[0].int >> 80}


def test_a_clock_set_back_keeps_the_time_of_the_last_id() -> None:
    sequence = Uuid7Sequence()
    first = sequence(NOW)
    second = sequence(NOW - timedelta(hours=1))

    assert first < second
    assert first.int >> 80 == second.int >> 80


def test_a_counter_that_runs_over_borrows_the_next_millisecond() -> None:
    sequence = Uuid7Sequence(lambda bits: (1 << bits) - 1)
    made = [sequence(NOW) for _ in range(3)]
    assert len({each.int >> 80 for each in made}) == 1

    full = Uuid7Sequence(lambda bits: (1 << 74) - 1 if bits > 32 else 0)
    before, after = full(NOW), full(NOW)
    assert after > before
    assert (after.int >> 80) - (before.int >> 80) == 1
    assert after.version == 7


def test_threads_share_a_sequence() -> None:
    sequence = Uuid7Sequence()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: sequence(NOW), range(4000)))

    assert len(set(made)) == 4000


def test_two_sequences_do_not_meet() -> None:
    first, second = Uuid7Sequence(), Uuid7Sequence()

    assert not {first(NOW) for _ in range(1000)} & {second(NOW) for _ in range(1000)}
