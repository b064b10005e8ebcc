from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.deploy.material import DEPLOY, judge
from tocsin.settings import load_settings, unknown_variables

UNIT = DEPLOY / "tocsin.service"
EXPOSURE = 15
"""Tenths of what systemd calls exposure: 100 is a service without any bounds."""


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Give the unit with a program that is there, and has nothing that systemd wants to read under /opt."""
    file = tmp_path / UNIT.name
    file.write_text(UNIT.read_text("utf-8").replace("/opt/tocsin/bin/tocsin", sys.executable), "utf-8")
    return file


def lines(name: str) -> list[str]:
    return [line.partition("=")[2] for line in UNIT.read_text("utf-8").splitlines() if line.startswith(f"{name}=")]


def test_systemd_understands_the_unit(unit: Path) -> None:
    assert judge("systemd-analyze", "verify", unit) == ""


def test_the_unit_bounds_the_service(unit: Path) -> None:
    judge("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", unit)


def test_the_units_variables_are_settings() -> None:
    environment = dict(line.split("=", 1) for line in lines("Environment"))

    assert unknown_variables(environment) == []
    assert float(lines("TimeoutStopSec")[0]) > load_settings({}, environment=environment).drain_seconds
