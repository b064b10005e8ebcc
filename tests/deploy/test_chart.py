from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import helm_python
import pytest
import yaml

from tests.deploy.material import CHART, DEPLOY, judge, read_yaml
from tocsin import __version__
from tocsin.application.parts import Role
from tocsin.settings import Settings, unknown_variables

PASSED_ON = {"retention_days": 90, "allow_commands": True, "target_allow": ["10.0.0.0/8", "erp"]}
LEAST = {"database": {"existingSecret": "db"}}
MOST = {
    **LEAST,
    "redis": {"existingSecret": "pipe"},
    "tracing": {"endpoint": "http://collector:4318"},
    "autoscaling": {"enabled": True},
    "monitoring": {each: {"enabled": True} for each in ("podMonitor", "rules", "dashboard")},
    "settings": PASSED_ON,
    "roles": {"executor": {"handlers": ["billing", "mail"], "nodeSelector": {"pool": "work"}}},
    "allowedHosts": ["jobs.example.com"],
    "extraEnv": [{"name": "BILLING_URL", "value": "http://billing"}],
}
OF_OPERATORS = {"ScaledObject", "PodMonitor", "PrometheusRule"}

Manifest = Mapping[str, Any]


def rendered(values: Mapping[str, Any], *, name: str = "prod") -> list[Manifest]:
    with helm_python.Chart.load(CHART) as chart:
        files = chart.render(dict(values), name=name, namespace="jobs")
    texts = [text for file, text in files.items() if not file.endswith("NOTES.txt")]
    return [manifest for text in texts for manifest in yaml.safe_load_all(text) if manifest]


def of(kind: str, manifests: list[Manifest]) -> dict[str, Manifest]:
    return {each["metadata"]["name"]: each for each in manifests if each["kind"] == kind}


def pods(manifests: list[Manifest]) -> Iterator[Manifest]:
    for each in manifests:
        if each["kind"] in {"Deployment", "Job"}:
            yield each["spec"]["template"]["spec"]


def environment_of(deployment: Manifest) -> dict[str, str]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", "") for each in container["env"]}


@pytest.mark.parametrize("values", [LEAST, MOST], ids=["least", "most"])
def test_helm_has_no_objection(values: dict[str, Any]) -> None:
    report = helm_python.lint(CHART, values, strict=True)

    assert [message for message in report["messages"] if message["severity"] > 1] == []
    assert report["errors"] == []


@pytest.mark.parametrize("version", ["1.30.0", "1.34.0"])
@pytest.mark.parametrize("values", [LEAST, MOST], ids=["least", "most"])
def test_kubernetes_knows_every_field(values: dict[str, Any], version: str, tmp_path: Path) -> None:
    manifests = [each for each in rendered(values) if each["kind"] not in OF_OPERATORS]
    file = tmp_path / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(manifests), "utf-8")

    judge("kubernetes-validate", "--strict", "--kubernetes-version", version, file)


def test_the_chart_is_of_this_version() -> None:
    chart = read_yaml(CHART / "Chart.yaml")

    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_each_role_is_a_deployment_and_a_disruption_budget_of_its_own() -> None:
    manifests = rendered(LEAST)
    deployments = of("Deployment", manifests)

    assert {environment_of(each)["TOCSIN_ROLES"] for each in deployments.values()} == set(Role)
    assert set(of("PodDisruptionBudget", manifests)) == set(deployments)
    for name, each in deployments.items():
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert labels["app.kubernetes.io/component"] == environment_of(each)["TOCSIN_ROLES"]
        assert of("PodDisruptionBudget", manifests)[name]["spec"]["selector"] == each["spec"]["selector"]


@pytest.mark.parametrize("values", [LEAST, MOST], ids=["least", "most"])
def test_every_variable_of_a_pod_is_a_setting(values: dict[str, Any]) -> None:
    for deployment in of("Deployment", rendered(values)).values():
        assert unknown_variables(environment_of(deployment)) == []


def test_every_setting_is_the_charts_own_or_can_be_given() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    given = set(schema["properties"]["settings"]["propertyNames"]["enum"])
    executor = environment_of(of("Deployment", rendered(MOST))["prod-tocsin-executor"])
    variables = [name for name in executor if name.startswith("TOCSIN_")]
    passed_on = set(PASSED_ON) | {"log_format"}
    own = {name.removeprefix("TOCSIN_").removesuffix("_FILE").lower() for name in variables} - passed_on

    assert given | own == set(Settings.model_fields)
    assert given & own == set()


@pytest.mark.parametrize("values", [LEAST, MOST], ids=["least", "most"])
def test_pods_keep_to_the_restricted_standard(values: dict[str, Any]) -> None:
    for pod in pods(rendered(values)):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert {kind for volume in pod["volumes"] for kind in volume if kind != "name"} <= {"projected", "emptyDir"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"requests", "limits"} <= set(container["resources"])


def test_a_service_called_tocsin_does_not_set_settings() -> None:
    assert all(pod["enableServiceLinks"] is False for pod in pods(rendered(MOST)))


def test_a_pod_is_given_more_time_to_drain_than_it_takes() -> None:
    for deployment in of("Deployment", rendered({**LEAST, "drainSeconds": 300})).values():
        limit = float(environment_of(deployment)["TOCSIN_DRAIN_SECONDS"])
        assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > limit


def test_probes_ask_the_port_that_every_role_has_under_a_name_that_is_served() -> None:
    for deployment in of("Deployment", rendered(LEAST)).values():
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert {port["name"]: port["containerPort"] for port in container["ports"]}["probes"] == int(
            environment_of(deployment)["TOCSIN_PROBE_PORT"]
        )
        paths = {
            name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")
        }
        assert paths == {"startupProbe": "/health", "livenessProbe": "/health", "readinessProbe": "/ready"}
        for name in paths:
            asked = container[name]["httpGet"]
            assert (asked["port"], asked["httpHeaders"]) == ("probes", [{"name": "Host", "value": "localhost"}])


def test_migrations_run_before_the_nodes_of_a_new_version() -> None:
    (job,) = of("Job", rendered(MOST)).values()
    (container,) = job["spec"]["template"]["spec"]["containers"]

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert container["args"] == ["migrate", "up"]
    assert "serviceAccountName" not in job["spec"]["template"]["spec"]


def test_migrations_reach_the_database_as_nodes_do() -> None:
    behind = {"extraEnvFrom": [{"secretRef": {"name": "certificates"}}], "settings": {"database_pooler": True}}
    manifests = rendered({**MOST, **behind})
    (job,) = of("Job", manifests).values()
    (migrating,) = job["spec"]["template"]["spec"]["containers"]

    assert environment_of(job)["TOCSIN_DATABASE_POOLER"] == "true"
    for node in of("Deployment", manifests).values():
        (container,) = node["spec"]["template"]["spec"]["containers"]
        of_release = ("TOCSIN_DATABASE_URL_FILE", "TOCSIN_DATABASE_POOLER", "BILLING_URL")
        assert all(environment_of(job)[name] == environment_of(node)[name] for name in of_release)
        assert migrating["envFrom"] == container["envFrom"]


def test_secrets_are_files_and_no_values() -> None:
    for pod in pods(rendered(MOST)):
        sources = next(volume["projected"]["sources"] for volume in pod["volumes"] if volume["name"] == "secrets")
        assert [source["secret"]["name"] for source in sources] == ["db", "pipe"]
    assert of("Secret", rendered(MOST)) == {}


@pytest.mark.parametrize("values", [{}, {"fullnameOverride": "jobs"}, {"nameOverride": "jobs"}])
def test_whatever_a_release_is_called_its_nodes_are_those_that_alerts_and_scaler_ask_for(
    values: dict[str, str],
) -> None:
    manifests = rendered({**MOST, **values})
    (monitor,) = of("PodMonitor", manifests).values()
    (scaler,) = of("ScaledObject", manifests).values()

    job = monitor["spec"]["podMetricsEndpoints"][0]["relabelings"][0]["replacement"]
    assert re.fullmatch(".*tocsin.*", job)
    assert f'job="{job}"' in scaler["spec"]["triggers"][0]["metadata"]["query"]


def test_the_scaler_sets_how_many_executors_there_are_and_nobody_else_does() -> None:
    manifests = rendered(MOST)
    deployments = of("Deployment", manifests)
    (scaler,) = of("ScaledObject", manifests).values()
    (monitor,) = of("PodMonitor", manifests).values()

    assert [name for name, each in deployments.items() if "replicas" not in each["spec"]] == ["prod-tocsin-executor"]
    assert scaler["spec"]["scaleTargetRef"]["name"] == "prod-tocsin-executor"
    job = monitor["spec"]["podMetricsEndpoints"][0]["relabelings"][0]["replacement"]
    assert f'tocsin_ready{{job="{job}", namespace="jobs"}}' in scaler["spec"]["triggers"][0]["metadata"]["query"]


def test_network_policies_let_the_api_be_reached_by_its_clients_and_the_probes_by_prometheus() -> None:
    policies = {name: each["spec"] for name, each in of("NetworkPolicy", rendered(MOST)).items()}
    ports = [entry["ports"][0]["port"] for entry in policies["prod-tocsin"]["egress"]]

    assert policies["prod-tocsin"]["ingress"][0]["ports"][0]["port"] == "probes"
    assert policies["prod-tocsin-api"]["ingress"][0]["ports"][0]["port"] == "http"
    assert ports == [53, 5432, 6379, 4318]
    assert "169.254.0.0/16" in policies["prod-tocsin-executor"]["egress"][0]["to"][0]["ipBlock"]["except"]


@pytest.mark.parametrize(
    ("values", "at"),
    [
        ({}, "/database/existingSecret"),
        ({**LEAST, "settings": {"port": 1}}, "'port'"),
        ({**LEAST, "settings": {"concurency": 1}}, "'concurency'"),
        ({**LEAST, "replicas": 3}, "replicas"),
        ({**LEAST, "roles": {"executor": {"concurrency": 0}}}, "/roles/executor/concurrency"),
        ({**LEAST, "image": {"digest": "latest"}}, "/image/digest"),
    ],
)
def test_values_that_mean_nothing_are_refused_by_name(values: dict[str, Any], at: str) -> None:
    with helm_python.Chart.load(CHART) as chart, pytest.raises(helm_python.HelmError, match=at):
        chart.validate_schema(values)


def test_the_alerts_are_the_same_ones() -> None:
    (rule,) = of("PrometheusRule", rendered(MOST)).values()

    assert rule["spec"] == read_yaml(DEPLOY / "prometheus" / "alerts.yaml")
