from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deploy.local.postgres_programs import available_versions
from tests.matrix import Entry, entries, run, told

SUITE = """
import os, pytest

def test_it_is_chosen():
    assert os.environ["LOCAL_REDIS"] == "/opt/redis"

def test_it_fails():
    assert not os.environ["LOCAL_REDIS"]

@pytest.mark.skip(reason="no such server")
def test_it_is_left_out(): ...
"""


def an_entry(folder: Path, suite: str) -> Entry:
    file = folder / "test_suite.py"
    file.write_text(suite, "utf-8")
    return Entry(engine="Redis 9", program=Path("/opt/redis"), chosen_by="LOCAL_REDIS", suites=[str(file)])


def test_an_entry_is_told_with_its_failures_and_why_tests_were_skipped(tmp_path: Path) -> None:
    entry = an_entry(tmp_path, SUITE)

    result = run(entry)

    assert (result.passed, result.failed, result.skipped) == (1, 1, {"no such server": 1})
    assert "test_it_fails" in result.output
    assert not result.is_good
    assert [line.split()[:4] for line in told(entry, result).splitlines()] == [
        ["Redis", "9", "1", "passed"],
        ["1", "skipped:", "no", "such"],
    ]


def test_suites_that_do_not_start_or_run_nothing_are_failures(tmp_path: Path) -> None:
    entry = an_entry(tmp_path, SUITE)

    assert run(replace(entry, suites=["--no-such-option"])).failed == 1
    assert not run(replace(entry, suites=[*entry.suites, "-k", "left_out"])).is_good


def test_the_engines_of_the_wheels_are_found() -> None:
    found = {entry.engine.partition(".")[0] for entry in entries()}

    assert found >= {f"PostgreSQL {version}" for version in available_versions()}
