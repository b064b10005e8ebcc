from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.model.fleet import AHEAD, PATIENCE, Fleet, Setting, lateness
from benchmarks.model.model import DATABASE, NODE, PIPE, STAGES, Costs, Line
from benchmarks.model.queues import Cores, Due, Waiting, starts

CUSTOMERS = 60_000

few_times = st.lists(st.floats(min_value=1.0, max_value=20.0), min_size=1, max_size=60)


def made_up(*, piped: bool = False) -> Costs:
    """Costs of round numbers, alike for each stage."""
    stage = {NODE: Line(fixed=5e-4, each=2e-5), DATABASE: Line(fixed=8e-4, each=3e-5)}
    if piped:
        stage[PIPE] = Line(fixed=1e-5, each=1e-6)
    return Costs(engine="made up", stages=dict.fromkeys(STAGES, stage), log={}, running=5e-5, trip=1e-4, commit=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    times=few_times,
    nodes=st.integers(1, 5),
    cores=st.integers(1, 3),
    kills=st.dictionaries(st.floats(min_value=0.3, max_value=20.0), st.integers(0, 4), max_size=4),
    piped=st.booleans(),
    handler=st.sampled_from([0.0, 0.3]),
)
def test_each_due_fire_is_fired_once_and_finished_once_whoever_dies(
    times: list[float], nodes: int, cores: int, kills: dict[float, int], *, piped: bool, handler: float
) -> None:
    deaths = {at: number % nodes for at, number in kills.items()}
    setting = Setting(nodes=nodes, timers=nodes, cores=cores, capacity=7, handler=handler, lease=2.0, kills=deaths)
    fleet = Fleet(setting, made_up(piped=piped), np.array(times))

    for second in range(1, 22):
        fleet.run(float(second))
        assert fleet.unaccounted() == 0
    if fleet.finished < fleet.total:
        fleet.run()

    assert fleet.fired == fleet.finished == len(lateness(fleet)) == len(times)
    assert len(fleet.due) == fleet.waiting.length == fleet.held == fleet.lost == 0


def test_no_handler_begins_before_its_instant() -> None:
    fleet = Fleet(Setting(nodes=3, timers=3, cores=2), made_up(), 1.0 + np.arange(3_000) / 1_000)

    fleet.run()

    assert lateness(fleet)[0] >= 0.0


def test_a_fleet_with_room_is_not_late_for_what_it_looks_ahead_at() -> None:
    fleet = Fleet(Setting(nodes=4, timers=2, cores=4), made_up(), np.full(400, 5.0))

    fleet.run()

    assert lateness(fleet)[-1] < AHEAD / 10


def test_what_a_killed_node_held_comes_back_once_its_lease_is_over() -> None:
    setting = Setting(nodes=2, timers=2, cores=2, handler=1.0, lease=30.0, kills={5.2: 0, 5.3: 1})
    fleet = Fleet(setting, made_up(), np.full(50, 5.0))

    fleet.run()

    assert fleet.finished == 50
    assert lateness(fleet)[-1] == pytest.approx(30.0 + PATIENCE, abs=1.0)


def test_a_saturated_database_carries_what_the_model_says() -> None:
    costs = replace(made_up(), running=1e-6)
    fires, cores = 60_000, 2
    fleet = Fleet(Setting(nodes=40, timers=8, cores=cores, capacity=2_000), costs, np.full(fires, 1.0))

    fleet.run()

    worked = fleet.database.busy(fleet.now)
    assert worked >= fires * costs.per_fire(DATABASE) * 0.999
    assert fires / (fleet.now - 0.5) == pytest.approx(costs.database_rate(cores), rel=0.15)


def test_the_utilisation_of_a_queue_is_its_load() -> None:
    generator = np.random.default_rng(1)
    cores, rate, service = Cores(4), 30.0, 0.1
    arrivals = np.cumsum(generator.exponential(1 / rate, 20_000))

    for at in arrivals:
        cores.serve(float(at), service)

    end = float(arrivals[-1])
    assert cores.busy(end) / (cores.count * end) == pytest.approx(rate * service / cores.count, rel=0.03)


@pytest.mark.parametrize(("count", "load"), [(1, 0.5), (1, 0.8), (4, 0.7), (16, 0.9)])
def test_the_mean_wait_for_exponential_service_is_erlangs(count: int, load: float) -> None:
    generator = np.random.default_rng(2)

    found = mean_wait(count, load, lambda: float(generator.exponential(1.0)))

    assert found == pytest.approx(erlang_c(count, load * count) / (count * (1 - load)), rel=0.15)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_the_mean_wait_for_constant_service_is_half_as_long(load: float) -> None:
    assert mean_wait(1, load, lambda: 1.0) == pytest.approx(load / (2 * (1 - load)), rel=0.15)


@given(instants=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=50), each=st.floats(0.0, 0.5))
def test_handlers_begin_in_order_one_after_the_other_and_none_early(instants: list[float], each: float) -> None:
    due = np.sort(np.array(instants))

    begun = starts(due, 2.0, each)

    assert (begun >= np.maximum(due, 2.0) - 1e-9).all()
    assert all(later - earlier >= each - 1e-9 for earlier, later in pairwise(begun.tolist()))


@given(times=few_times, limits=st.lists(st.integers(1, 9), min_size=1, max_size=30), until=st.floats(0.5, 21.0))
def test_timers_share_what_is_due_without_overlap(times: list[float], limits: list[int], until: float) -> None:
    due = Due(np.array(times))

    taken = [due.take(until, limit) for limit in limits]
    if len(taken) > 1:
        due.give_back(taken.pop())
    while len(rest := due.take(until, 9)):
        taken.append(rest)

    assert sorted(np.concatenate(taken).tolist()) == sorted(at for at in times if at <= until)
    assert len(due) == sum(at > until for at in times)


@given(batches=st.lists(few_times, max_size=6), limit=st.integers(1, 50))
def test_what_waits_is_taken_once(batches: list[list[float]], limit: int) -> None:
    waiting = Waiting()
    for batch in batches:
        waiting.add(np.sort(np.array(batch)))

    taken: list[float] = []
    while len(some := waiting.take(limit)):
        assert len(some) <= limit
        taken += some.tolist()

    assert sorted(taken) == sorted(at for batch in batches for at in batch)
    assert waiting.length == 0


def mean_wait(count: int, load: float, service: Callable[[], float]) -> float:
    """Tell how long customers wait on average, who come by chance and need one second each on average."""
    generator = np.random.default_rng(3)
    cores, now, waited = Cores(count), 0.0, 0.0
    for gap in generator.exponential(1.0 / (load * count), CUSTOMERS):
        now += float(gap)
        waited += cores.wait(now)
        cores.serve(now, service())
    return waited / CUSTOMERS


def erlang_c(count: int, offered: float) -> float:
    """Tell how likely a customer of M/M/c is to wait, for an offered load in Erlang."""
    last = offered**count / math.factorial(count) * count / (count - offered)
    return last / (sum(offered**number / math.factorial(number) for number in range(count)) + last)
