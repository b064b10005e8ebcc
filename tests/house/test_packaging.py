from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import tocsin

CHECKOUT = Path(__file__).parents[2]
PACKAGE = Path(tocsin.__file__).parent
PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==[A-Za-z0-9.!+]+")
PACKAGE_INDEX = re.compile(r"://\S+/simple\b|--(?:extra-)?index-url|--find-links|--trusted-host")
WRITTEN_BY_INSTALLERS = [".ci/run", "Makefile", "constraints.txt", "pyproject.toml"]


def files_under(root: Path) -> set[Path]:
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {path for path in found if "__pycache__" not in path.parts}


def canonical(requirement: str) -> str:
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def declared_dependencies() -> set[str]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    requirements = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return {canonical(requirement) for requirement in requirements} - {"tocsin"}


def pins() -> list[str]:
    return (CHECKOUT / "constraints.txt").read_text("utf-8").splitlines()


def test_the_installed_package_holds_every_file_of_the_source() -> None:
    assert files_under(PACKAGE) == files_under(CHECKOUT / "src")


def test_the_installed_package_tells_type_checkers_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_the_version_is_the_same_to_python_and_to_pip() -> None:
    assert tocsin.__version__ == metadata.version("tocsin")


def test_the_command_leads_to_something_callable() -> None:
    (command,) = metadata.entry_points(group="console_scripts", name="tocsin")

    assert callable(command.load())


def test_the_licence_travels_with_the_package() -> None:
    licences = [path for path in metadata.files("tocsin") or [] if path.name == "LICENSE"]

    assert [path.read_text() for path in licences] == [(CHECKOUT / "LICENSE").read_text("utf-8")]


def test_the_constraints_pin_exact_versions_and_say_nothing_else() -> None:
    assert [line for line in pins() if not PIN.fullmatch(line)] == []


def test_the_constraints_pin_every_declared_dependency() -> None:
    pinned = {canonical(line) for line in pins()}

    assert declared_dependencies() - pinned == set()


@pytest.mark.parametrize("name", WRITTEN_BY_INSTALLERS)
def test_no_file_of_the_setup_names_a_package_index(name: str) -> None:
    assert PACKAGE_INDEX.findall((CHECKOUT / name).read_text("utf-8")) == []


def test_the_changelog_has_room_for_the_next_change() -> None:
    assert "## Unreleased" in (CHECKOUT / "CHANGELOG.md").read_text("utf-8").splitlines()
