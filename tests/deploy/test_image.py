from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from tests.deploy.conftest import DeployedNode
from tests.deploy.material import CHECKOUT, DEPLOY, judge
from tocsin import __version__
from tocsin.settings import load_settings

DOCKERFILE = DEPLOY / "Dockerfile"
HEALTHCHECK = DEPLOY / "healthcheck.py"


def instructions(name: str) -> list[str]:
    text = DOCKERFILE.read_text("utf-8").replace("\\\n", " ")
    return [line.split(maxsplit=1)[1] for line in text.splitlines() if line.startswith(f"{name} ")]


def asked(**environment: int) -> subprocess.CompletedProcess[str]:
    variables = {name: str(value) for name, value in environment.items()}
    command = [sys.executable, str(HEALTHCHECK)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)  # noqa: S603


def test_the_dockerfile_has_no_fault_that_hadolint_knows() -> None:
    judge("hadolint", DOCKERFILE)


def test_the_image_is_of_this_version_and_runs_as_a_numbered_user() -> None:
    assert f"VERSION={__version__}" in instructions("ARG")
    assert instructions("USER") == ["10001:10001"]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]


def test_the_image_is_built_from_the_constraints_and_names_no_registry() -> None:
    assert any("-c constraints.txt" in line for line in instructions("RUN"))
    assert all("/" not in image.split()[0] for image in instructions("FROM") if not image.startswith("$"))
    assert [arg for arg in instructions("ARG") if re.fullmatch(r"PYTHON_IMAGE=python:3\.\d+\.\d+-slim-\w+", arg)] != []


def test_what_the_image_is_built_from_gets_past_the_list_of_what_is_ignored() -> None:
    kept = {line[1:] for line in (CHECKOUT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    copied = {
        name for line in instructions("COPY") for name in line.split()[:-1] if "/" in name and name[0] not in "-/"
    }
    wanted = {
        "constraints.txt",
        "pyproject.toml",
        project["project"]["readme"],
        *project["project"]["license-files"],
        *project["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"],
    }

    assert kept == wanted | copied
    assert all((CHECKOUT / name).exists() for name in kept)


def test_the_health_check_has_a_port_to_ask_whatever_the_roles_are() -> None:
    given = dict(word.split("=", 1) for line in instructions("ENV") for word in line.split() if "=" in word)
    settings = load_settings({"roles": "executor"}, environment=given)

    assert settings.probe_port == int(given["TOCSIN_PROBE_PORT"])
    assert str(settings.probe_port) in instructions("EXPOSE")[0].split()


async def test_the_health_check_finds_the_node_on_either_port(node: DeployedNode) -> None:
    for environment in ({"TOCSIN_PORT": node.port}, {"TOCSIN_PORT": 1, "TOCSIN_PROBE_PORT": node.probe_port}):
        well = asked(**environment)
        assert (well.returncode, well.stderr) == (0, "")


def test_the_health_check_says_why_a_node_is_not_well() -> None:
    ill = asked(TOCSIN_PORT=1)

    assert ill.returncode == 1
    assert ill.stderr.startswith("port 1: ")
    assert "Traceback" not in ill.stderr
