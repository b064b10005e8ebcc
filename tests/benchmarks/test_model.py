from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.model.fit import Unfit, fit
from benchmarks.model.model import DATABASE, FULL, NODE, STAGES, Costs, Line, measured

positive = st.floats(min_value=1e-3, max_value=1e4)


@given(fixed=positive, each=positive)
def test_a_line_goes_through_what_was_measured(fixed: float, each: float) -> None:
    true = Line(fixed=fixed, each=each)

    fitted = Line.through(alone=true.per_row(1), batched=true.per_row(FULL))

    assert fitted.of(1) == pytest.approx(true.of(1))
    assert fitted.of(FULL) == pytest.approx(true.of(FULL))


@given(alone=positive, batched=positive)
def test_no_part_of_a_cost_is_negative_whatever_was_measured(alone: float, batched: float) -> None:
    line = Line.through(alone=alone, batched=batched)

    assert line.fixed >= 0
    assert line.each >= 0


@given(rows=st.integers(1, FULL - 1))
def test_a_fire_costs_no_more_in_larger_batches(rows: int) -> None:
    costs = Costs.read("postgres", measured())

    assert costs.per_fire(DATABASE, rows + 1) <= costs.per_fire(DATABASE, rows)
    assert costs.database_rate(8, rows=rows + 1) >= costs.database_rate(8, rows=rows)


def test_a_fleet_that_fills_the_database_costs_it_all_its_cores() -> None:
    costs = Costs.read("postgres", measured())
    rate = costs.database_rate(16)

    assert rate * costs.per_fire(DATABASE) == pytest.approx(16)
    assert costs.nodes_for(rate) * costs.node_rate() == pytest.approx(rate)


def test_what_was_measured_covers_each_stage_of_each_engine() -> None:
    found = measured()

    for engine in ("sqlite", "postgres", "postgres+redis"):
        costs = Costs.read(engine, found)
        assert set(costs.stages) == set(STAGES)
        assert costs.node_rate() > costs.node_rate(1) > 0


def test_inputs_are_derived_from_results_of_benchmarks() -> None:
    found = fit([report(node=50.0), report(node=100.0)])

    engine = found["engines"]["postgres"]
    assert engine["stages_us"]["claim"] == {NODE: {"alone": 200.0, "batched": 20.0}}
    assert engine["running_us"] == 100.0 - 3 * 20.0
    assert engine["log_bytes"] == {"fire": {"alone": 5000.0, "batched": 4000.0}}


def test_results_without_what_the_model_needs_are_refused() -> None:
    given_report = report(node=50.0)
    stages = [each for each in given_report["results"] if each["scenario"] == "stages"]

    with pytest.raises(Unfit, match="drain"):
        fit([{"machine": {}, "results": stages}])
    with pytest.raises(Unfit, match="stages"):
        fit([{"machine": {}, "results": []}])


def report(*, node: float) -> dict[str, Any]:
    alone = {f"{stage}: processor time of {NODE}": 200.0 for stage in STAGES} | {"fire: log": 5000.0}
    batched = {f"{stage}: processor time of {NODE}": 20.0 for stage in STAGES} | {"fire: log": 4000.0}
    drained = {f"processor time of {NODE} per execution": node}
    cases = [("stages", "batches of 1", alone), ("stages", "batches of 500", batched), ("drain", "some", drained)]
    return {
        "machine": {"cores": 2},
        "results": [
            {
                "scenario": scenario,
                "case": case,
                "engine": "postgres",
                "figures": [{"name": name, "median": value} for name, value in figures.items()],
            }
            for scenario, case, figures in cases
        ],
    }
