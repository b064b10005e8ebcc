"""What is imported, and what is not until somebody asks for it: a node keeps it for as long as it lives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection
from importlib import import_module
from pathlib import Path

import pytest

import tocsin

LIBRARIES = frozenset(
    {"aiohttp", "asyncpg", "cel", "croniter", "opentelemetry", "pydantic", "redis", "rich", "sqlite3", "structlog"}
)
SCHEDULER = """
import asyncio
from tocsin import open_scheduler

async def use():
    async with open_scheduler({url!r}, run_loops=True) as scheduler:
        await scheduler.health_check()

asyncio.run(use())
"""
COMMAND = """
import sys
from tocsin.__main__ import main

sys.argv = ["tocsin", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert end.code == 0
"""


def imported(program: str, *, among: Collection[str]) -> set[str]:
    """Run a program in a process of its own; answer which of these it imported."""
    told = f"{program}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, check=True, text=True)  # noqa: S603 - ours
    return set(json.loads(ran.stdout.splitlines()[-1])) & set(among)


def test_tocsin_itself_imports_nothing() -> None:
    assert imported("import tocsin", among={*LIBRARIES, "asyncio", "tocsin.domain", "tocsin.adapters"}) == set()


@pytest.mark.parametrize("name", tocsin.__all__)
def test_every_public_name_is_there_once_it_is_asked_for(name: str) -> None:
    found = getattr(tocsin, name)

    assert name in dir(tocsin)
    assert getattr(import_module(found.__module__), name) is found


def test_a_name_that_is_none_is_told_as_any_module_tells_it() -> None:
    with pytest.raises(AttributeError, match="module 'tocsin' has no attribute 'shedule'"):
        getattr(tocsin, "shedule")  # noqa: B009 - a type checker knows that it is none


def test_telling_the_version_imports_nothing_that_a_node_is_made_of() -> None:
    # Typer itself reads arguments with pydantic.
    not_needed = (LIBRARIES - {"pydantic"}) | {"tocsin.application", "tocsin.ports", "tocsin.adapters.http"}

    assert imported(COMMAND.format(arguments=["version"]), among=not_needed) == set()


def test_a_handler_module_imports_no_engine() -> None:
    assert imported("from tocsin import HandlerContext, handler", among=LIBRARIES) == set()


def test_a_scheduler_on_sqlite_imports_no_other_engine(tmp_path: Path) -> None:
    program = SCHEDULER.format(url=f"sqlite:///{tmp_path / 'tocsin.db'}")

    assert imported(program, among={"asyncpg", "redis", "opentelemetry", "typer"}) == set()


def test_redis_brings_no_figures_of_its_own() -> None:
    assert imported("import tocsin.adapters.redis", among={"opentelemetry.sdk", "opentelemetry.sdk.metrics"}) == set()
