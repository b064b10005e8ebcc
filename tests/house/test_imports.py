from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tocsin

CHECKOUT = Path(__file__).parents[2]
PACKAGE = Path(tocsin.__file__).parent
DRIVING_ADAPTERS = {"cli", "http"}


def absolute_imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


@pytest.mark.parametrize("layer", ["domain", "ports", "application"])
def test_the_hexagon_imports_itself_and_the_standard_library(layer: str) -> None:
    imported = {
        (module.name, name.partition(".")[0])
        for module in (PACKAGE / layer).rglob("*.py")
        for name in absolute_imports(module.read_text("utf-8"))
    }

    assert {(module, name) for module, name in imported if name not in sys.stdlib_module_names} == set()


def test_every_driven_adapter_is_kept_away_from_the_application() -> None:
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each.get("forbidden_modules") == ["tocsin.application"])
    adapters = {folder.parent.name for folder in (PACKAGE / "adapters").glob("*/__init__.py")}

    assert set(contract["source_modules"]) == {f"tocsin.adapters.{name}" for name in adapters - DRIVING_ADAPTERS}
