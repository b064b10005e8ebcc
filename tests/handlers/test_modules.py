from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tocsin.adapters.handlers.modules import load_modules
from tocsin.domain.errors import InvalidInput


@pytest.fixture(autouse=True)
def _working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_modules_of_the_working_directory_are_imported_in_order(tmp_path: Path) -> None:
    (tmp_path / "tocsin_first_jobs.py").write_text("names = ['first']")
    package = tmp_path / "tocsin_more_jobs"
    package.mkdir()
    (package / "second.py").write_text("from tocsin_first_jobs import names\nnames.append('second')")

    load_modules(["tocsin_first_jobs", "tocsin_more_jobs.second"])

    assert sys.modules["tocsin_first_jobs"].names == ["first", "second"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_module_anywhere", "ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(2)", "SystemExit: 2"),
        ("def broken(", "SyntaxError"),
    ],
)
def test_a_module_that_raises_is_named_with_the_reason(tmp_path: Path, source: str, reason: str) -> None:
    (tmp_path / "tocsin_broken_jobs.py").write_text(source)

    with pytest.raises(InvalidInput, match=f"handlers: cannot import tocsin_broken_jobs: {reason}"):
        load_modules(["tocsin_broken_jobs"])


def test_a_module_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidInput, match="handlers: cannot import tocsin_no_jobs: ModuleNotFoundError"):
        load_modules(["tocsin_no_jobs"])


@pytest.mark.parametrize("name", ["", ".relative", "a..b", "jobs.py/", "two words"])
def test_a_name_that_names_no_module_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not the dotted name of a module"):
        load_modules([name])
