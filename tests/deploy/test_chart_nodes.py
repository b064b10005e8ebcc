from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from tests.deploy.conftest import deployed
from tests.deploy.test_chart import MOST, environment_of, of, rendered
from tests.end_to_end.waiting import until
from tocsin.adapters.http import HttpScheduler
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobDefinition, JobType
from tocsin.ports.queries import ExecutionFilter

POD_IP = "10.1.2.3"
LEFT_TO_TESTS = {"OTEL_EXPORTER_OTLP_ENDPOINT", "TOCSIN_HANDLERS"}
"""A collector and modules that are not here."""


def environments(secrets: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Give the variables of each role as the chart has them, with what Kubernetes and a volume would fill in."""
    found = {}
    for deployment in of("Deployment", rendered(MOST)).values():
        environment = {
            name: value.replace("$(POD_IP)", POD_IP)
            for name, value in environment_of(deployment).items()
            if name not in LEFT_TO_TESTS
        }
        role = environment["TOCSIN_ROLES"]
        found[role] = {**environment, **secrets, "TOCSIN_WORKER_NAME": role}
    return found


async def test_one_pod_of_each_role_runs_jobs_and_all_of_them_can_be_asked_how_they_are(
    tmp_path: Path, secrets: Mapping[str, str]
) -> None:
    async with AsyncExitStack() as stack:
        pods = environments(secrets)
        starting = (stack.enter_async_context(deployed(tmp_path, environment)) for environment in pods.values())
        nodes = dict(zip(pods, await asyncio.gather(*starting), strict=True))
        scheduler = await stack.enter_async_context(HttpScheduler(nodes["api"].url))
        job = await scheduler.schedule(
            JobDefinition(name="health", type=JobType.INTERVAL, schedule="every 1s", handler_name="tocsin.health_check")
        )

        async def ran() -> bool:
            ended = await scheduler.list_executions(ExecutionFilter(job_id=job.id, status=(ExecutionStatus.SUCCESS,)))
            return ended.total >= 2

        await until(ran)
        asked = {
            role: await asyncio.to_thread(node.get, "/metrics", host=f"{POD_IP}:{node.probe_port}")
            for role, node in nodes.items()
        }

    assert {role: status for role, (status, _) in asked.items()} == dict.fromkeys(nodes, 200)
    assert "tocsin_fires_total " in asked["timer"][1]
    assert "tocsin_ready " in asked["sweeper"][1]
    assert "tocsin_running " in asked["executor"][1]
