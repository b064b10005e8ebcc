from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy.conftest import DeployedNode
from tests.deploy.material import CHART, dashboard, judge, panels, queries, selectors
from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.metrics import METRICS

GIVEN_BY_PROMETHEUS = {"job", "instance", "namespace", "le"}
OF_EVERY_TARGET = "up"
ENDS = {status.value for status in ExecutionStatus if status.terminal}
UNITS = {"s", "short", "ops", "percentunit"}
SCALED = CHART / "templates" / "scaledobject.yaml"


def served(exposition: str) -> Mapping[str, Mapping[str, set[str]]]:
    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            labels = found.setdefault(sample.name, defaultdict(set))
            for name, value in sample.labels.items():
                labels[name].add(value)
    return found


async def test_a_node_serves_every_figure_that_an_alert_a_panel_or_the_scaler_asks_for(figures: str) -> None:
    there = served(figures)
    scaler = re.search(r"query: (.*)", SCALED.read_text("utf-8"))
    assert scaler is not None
    asked = [*queries(), ("ScaledObject", re.sub(r"\{\{.*?\}\}", "", scaler[1]))]

    for where, expression in asked:
        for metric, matchers in selectors(expression):
            if metric == OF_EVERY_TARGET:
                continue
            assert metric in there, f"{where}: no node serves {metric}"
            strange = set(matchers) - set(there[metric]) - GIVEN_BY_PROMETHEUS
            assert not strange, f"{where}: {metric} has no label {strange}"
            for label in set(matchers) - GIVEN_BY_PROMETHEUS:
                known = there[metric][label] | (ENDS if label == "outcome" else set())
                assert set(matchers[label].split("|")) <= known, f"{where}: {label} of {metric}"


def test_what_prometheus_knows_of_every_target_is_asked_of_tocsins_alone() -> None:
    asked = [matchers for _, each in queries() for metric, matchers in selectors(each) if metric == OF_EVERY_TARGET]

    assert asked
    assert all("tocsin" in matchers["job"] for matchers in asked)


def test_all_on_the_dashboard_means_what_serves_figures_of_tocsin() -> None:
    chosen = {each["name"]: each for each in dashboard()["templating"]["list"] if each["type"] == "query"}

    assert chosen["job"]["definition"] == "label_values(tocsin_fires_total, job)"
    assert [name for name, each in chosen.items() if "allValue" in each] == []


def test_the_dashboard_shows_every_figure_that_there_is() -> None:
    shown = " ".join(expression for _, expression in queries())

    assert [metric for metric in METRICS if f"tocsin_{metric.split('.', 1)[1].replace('.', '_')}" not in shown] == []


def test_every_query_is_good_promql(tmp_path: Path) -> None:
    rules = [{"record": f"query:{number}", "expr": each[1]} for number, each in enumerate(queries())]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}), "utf-8")

    assert f"{len(rules)} rules found" in judge("promtool", "check", "rules", file)


def test_every_panel_says_what_it_shows_and_in_which_unit() -> None:
    for panel in panels():
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        unit = panel["fieldConfig"]["defaults"].get("unit") or panel["options"]["yAxis"]["unit"]
        assert unit in UNITS, panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"


def test_panels_do_not_lie_on_one_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("title", ["Firing", "Lateness", "Dispatch", "Executions", "Ledger", "Nodes"])
def test_the_dashboard_has_a_row_for_each_part(title: str) -> None:
    assert title in [panel["title"] for panel in dashboard()["panels"] if panel["type"] == "row"]


async def test_a_port_of_their_own_has_the_probes_and_nothing_else_for_whom_the_node_serves(node: DeployedNode) -> None:
    told = {path: node.get(path)[0] for path in ("/health", "/ready", "/metrics", "/api/v1/jobs", "/docs", "/")}

    assert told == {"/health": 200, "/ready": 200, "/metrics": 200, "/api/v1/jobs": 404, "/docs": 404, "/": 404}
    assert node.get("/health", port=node.port)[0] == 200
    # Prometheus asks a pod by its address.
    assert node.get("/metrics", host=f"10.1.2.3:{node.probe_port}")[0] == 200
    assert node.get("/metrics", host=f"10.1.2.4:{node.probe_port}")[0] == 403
