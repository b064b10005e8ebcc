"""A node as deployments run it, so that what they ask of it can be compared to what it answers."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from deploy.local.ports import free_port
from deploy.local.redis import LocalRedis
from tests.end_to_end.program import environment_of
from tests.end_to_end.waiting import until
from tocsin.adapters.http import HttpScheduler
from tocsin.domain.job import HandlerType, JobDefinition, JobType
from tocsin.ports.metrics import METRICS

FIGURES: Final = {f"# TYPE tocsin_{metric.removeprefix('tocsin.').replace('.', '_')}" for metric in METRICS}
"""How the text begins that tells of each figure; of most there is nothing before something was counted."""


@dataclass(frozen=True, slots=True)
class DeployedNode:
    """A node that has the probes on a port of their own."""

    port: int
    probe_port: int

    @property
    def url(self) -> str:
        """Where its API is, if it has that role."""
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, *, port: int | None = None, host: str = "localhost") -> tuple[int, str]:
        """Ask it, and answer status and body."""
        url = f"http://127.0.0.1:{port or self.probe_port}{path}"
        request = urllib.request.Request(url, headers={"Host": host})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@asynccontextmanager
async def deployed(folder: Path, environment: Mapping[str, str]) -> AsyncIterator[DeployedNode]:
    """Run a node with these variables, on free ports, until the context ends; then it must end well."""
    node = DeployedNode(port=free_port(), probe_port=free_port())
    ports = {"TOCSIN_PORT": str(node.port), "TOCSIN_PROBE_PORT": str(node.probe_port)}
    inherited = {name: value for name, value in environment_of(folder).items() if not name.startswith("TOCSIN_")}
    process = subprocess.Popen(  # noqa: ASYNC220 - it is to run beside the test
        [sys.executable, "-m", "tocsin", "serve"], cwd=folder, env=inherited | dict(environment) | ports
    )

    async def ready() -> bool:
        assert process.poll() is None
        try:
            return (await asyncio.to_thread(node.get, "/ready"))[0] == 200
        except OSError:
            return False

    try:
        await until(ready)
        yield node
    finally:
        process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(process.wait)
    assert code == 0


@pytest.fixture
def secrets(tmp_path: Path, postgres_url: str, own_redis: LocalRedis) -> Mapping[str, str]:
    """Put the URLs of a PostgreSQL and a Redis into files, and give the variables that name them."""
    (tmp_path / "database-url").write_text(postgres_url + "\n", "utf-8")
    (tmp_path / "redis-url").write_text(own_redis.url, "utf-8")
    return {f"TOCSIN_{name}_URL_FILE": str(tmp_path / f"{name.lower()}-url") for name in ("DATABASE", "REDIS")}


@pytest.fixture
async def node(tmp_path: Path, secrets: Mapping[str, str]) -> AsyncIterator[DeployedNode]:
    """Run a node on PostgreSQL and Redis until the test ends."""
    async with deployed(tmp_path, {**secrets, "TOCSIN_ALLOWED_HOSTS": "10.1.2.3,tocsin"}) as node:
        yield node


@pytest.fixture
async def figures(node: DeployedNode) -> str:
    """Give what a node serves at /metrics that has fired, run, failed and tried again."""
    async with HttpScheduler(node.url) as scheduler:
        await scheduler.schedule(
            JobDefinition(
                name="nobody answers there",
                type=JobType.INTERVAL,
                schedule="every 1s",
                handler_name="http",
                handler_type=HandlerType.HTTP,
                payload={"method": "GET", "url": "http://127.0.0.1:1/"},
                max_retries=1,
            )
        )

        async def told() -> bool:
            text = (await asyncio.to_thread(node.get, "/metrics"))[1]
            return all(beginning in text for beginning in FIGURES)

        await until(told)
    return node.get("/metrics")[1]
