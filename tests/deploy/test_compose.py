from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.material import DEPLOY, judge, program
from tocsin import __version__
from tocsin.settings import load_settings, unknown_variables
from tocsin.urls import is_readable

COMPOSE = DEPLOY / "compose.yaml"
NODES = ["node-1", "node-2", "node-3"]
OURS = [*NODES, "migrate"]


@pytest.fixture(scope="module")
def resolved() -> Any:  # noqa: ANN401 - JSON
    return json.loads(judge("docker-compose", "--file", COMPOSE, "config", "--format", "json"))


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    shutil.copy(DEPLOY / "compose" / "secrets.sh", tmp_path)
    subprocess.run([program("sh"), str(tmp_path / "secrets.sh")], check=True, capture_output=True)  # noqa: S603
    return tmp_path / "secrets"


def test_every_variable_of_a_node_is_a_setting_and_its_value_is_taken(resolved: Any, secrets: Path) -> None:  # noqa: ANN401
    for name in OURS:
        environment = dict(resolved["services"][name]["environment"])
        assert unknown_variables(environment) == []
        assert environment["TOCSIN_DATABASE_URL_FILE"] == "/run/secrets/database_url"

        environment["TOCSIN_DATABASE_URL_FILE"] = str(secrets / "database_url")
        settings = load_settings({}, environment=environment)

        assert settings.database_url == (secrets / "database_url").read_text("utf-8")
        assert name not in NODES or settings.worker_name == name


def test_images_are_pinned_and_ours_is_of_this_version(resolved: Any) -> None:  # noqa: ANN401
    images = {name: service["image"] for name, service in resolved["services"].items()}

    assert [
        image for image in images.values() if not re.fullmatch(r"[a-z-]+(/[a-z-]+)?:v?\d+\.\d+[\w.-]*", image)
    ] == []
    assert {images[name] for name in OURS} == {f"tocsin:{__version__}"}


def test_nodes_can_change_nothing_of_their_own_container(resolved: Any) -> None:  # noqa: ANN401
    for name in OURS:
        service = resolved["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not [volume for volume in service.get("volumes", []) if volume["type"] == "bind"]


def test_a_node_is_given_more_time_to_drain_than_it_takes(resolved: Any) -> None:  # noqa: ANN401
    for name in NODES:
        service = resolved["services"][name]
        assert float(service["stop_grace_period"].removesuffix("s")) > float(
            service["environment"]["TOCSIN_DRAIN_SECONDS"]
        )


def test_no_password_stands_in_clear(resolved: Any) -> None:  # noqa: ANN401
    variables = [
        (name, value)
        for service in resolved["services"].values()
        for name, value in service.get("environment", {}).items()
    ]

    assert [name for name, _ in variables if "PASSWORD" in name and not name.endswith("_FILE")] == []
    assert [name for name, value in variables if re.search(r"://[^/]*:[^/]*@", value or "")] == []
    assert all("file" in secret for secret in resolved["secrets"].values())


def test_who_waits_for_health_waits_for_a_service_that_has_a_health_check(resolved: Any) -> None:  # noqa: ANN401
    services = resolved["services"]
    waits = [
        (other, how["condition"]) for each in services.values() for other, how in each.get("depends_on", {}).items()
    ]

    assert {"service_healthy", "service_completed_successfully"} <= {condition for _, condition in waits}
    for other, condition in waits:
        assert condition != "service_healthy" or "test" in services[other]["healthcheck"]
    assert services["migrate"]["command"] == ["migrate", "up"]
    assert all("migrate" in services[name]["depends_on"] for name in NODES)


def test_every_file_that_is_mounted_is_there(resolved: Any) -> None:  # noqa: ANN401
    mounted = [
        Path(volume["source"])
        for service in resolved["services"].values()
        for volume in service.get("volumes", [])
        if volume["type"] == "bind"
    ]

    assert mounted
    assert [str(path) for path in mounted if not path.is_file()] == []


def test_ports_are_open_to_this_machine_alone(resolved: Any) -> None:  # noqa: ANN401
    ports = [port for service in resolved["services"].values() for port in service.get("ports", [])]

    assert ports
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}


def test_secrets_are_made_once_and_their_folder_is_nobody_elses(secrets: Path) -> None:
    made = {path.name: path.read_text("utf-8") for path in secrets.iterdir()}
    subprocess.run([program("sh"), str(secrets.parent / "secrets.sh")], check=True, capture_output=True)  # noqa: S603

    assert {path.name: path.read_text("utf-8") for path in secrets.iterdir()} == made
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    assert is_readable(made["database_url"])
    assert made["postgres_password"] in made["database_url"]
    assert len(set(made.values())) == 3
