"""The files under deploy/ as data, and the programs that judge them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

CHECKOUT: Final = Path(__file__).parents[2]
DEPLOY: Final = CHECKOUT / "deploy"
CHART: Final = DEPLOY / "helm" / "tocsin"
ALERTS: Final = DEPLOY / "prometheus" / "alerts.yaml"


def read_yaml(path: Path) -> Any:  # noqa: ANN401 - YAML, of which a test picks what it names
    """Read a file of one YAML document."""
    return yaml.safe_load(path.read_text("utf-8"))


def dashboard() -> Any:  # noqa: ANN401 - as above
    """Read the dashboard."""
    return json.loads((DEPLOY / "grafana" / "tocsin.json").read_text("utf-8"))


def panels() -> Sequence[Mapping[str, Any]]:
    """List the panels that show something."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def alerts() -> Sequence[Mapping[str, Any]]:
    """List the alert rules."""
    return [rule for group in read_yaml(ALERTS)["groups"] for rule in group["rules"]]


def queries() -> Iterator[tuple[str, str]]:
    """Name every query of the dashboard and of the alerts, with the dashboard's variables filled in."""
    for rule in alerts():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], _filled(target["expr"])


def _filled(expression: str) -> str:
    for variable, value in (
        ("$__rate_interval", "1m"),
        ("$__range", "1h"),
        ("$job", "tocsin"),
        ("$instance", ".*"),
    ):
        expression = expression.replace(variable, value)
    return expression


def selectors(expression: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Give each metric that a query reads, with its matchers; a regular expression that lists words is those words."""
    for found in re.finditer(r"\b((?:tocsin_\w+)|target_info|up(?=\{))(?:\{([^}]*)\})?", expression):
        matchers = re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', found[2] or "")
        yield found[1], dict(matchers)


def program(name: str) -> str:
    """Find a program that came with a wheel, or skip where it cannot be had; in CI nothing is skipped."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        if "CI" in os.environ:
            pytest.fail(f"{name} is not installed; .ci/run is to see to it")
        pytest.skip(f"{name} is not installed")
    return found


def judge(*command: str | Path, cwd: Path = CHECKOUT) -> str:
    """Run a program and answer what it says; it must have no objection."""
    ended = subprocess.run(  # noqa: S603 - programs that this project installs
        [program(str(command[0])), *map(str, command[1:])], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr
