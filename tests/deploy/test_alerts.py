from __future__ import annotations

import pytest

from tests.deploy.material import ALERTS, CHART, alerts, judge, read_yaml

CASES = ALERTS.with_name("alerts.test.yaml")


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_says_how_urgent_it_is_what_it_means_and_what_to_do(rule: dict[str, dict[str, str]]) -> None:
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    assert all(text.endswith(".") for text in rule["annotations"].values())


def test_every_alert_fires_in_a_case_of_its_own() -> None:
    firing = {
        sample["labels"]
        for case in read_yaml(CASES)["tests"]
        for test in case["promql_expr_test"]
        for sample in test["exp_samples"]
    }

    assert firing == {f'{{alertname="{rule["alert"]}"}}' for rule in alerts()}


def test_the_alerts_fire_when_they_should_and_only_then() -> None:
    assert "SUCCESS" in judge("promtool", "test", "rules", CASES)


def test_the_alerts_and_their_prometheus_are_well_formed() -> None:
    judge("promtool", "check", "rules", ALERTS)
    judge("promtool", "check", "config", "--syntax-only", ALERTS.parents[1] / "compose" / "prometheus.yaml")


def test_the_chart_carries_the_same_alerts_and_dashboard() -> None:
    assert (CHART / "files" / "alerts.yaml").read_text("utf-8") == ALERTS.read_text("utf-8")
    assert (CHART / "files" / "dashboard.json").resolve().name == "tocsin.json"
