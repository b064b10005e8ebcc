"""A node with its HTTP face, on a clock that stands still, and what speaks to it and checks its answers."""

from __future__ import annotations

import io
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast
from uuid import UUID

from aiohttp.test_utils import TestClient, TestServer
from openapi_schema_validator import OAS31Validator

from tests.contracts.steps import claim
from tests.makers import a_failure, a_success
from tocsin.adapters.calendar import CroniterCalendar
from tocsin.adapters.cel import open_cel
from tocsin.adapters.handlers.catalog import LocalHandlers
from tocsin.adapters.handlers.functions import FunctionRegistry
from tocsin.adapters.http import Node, create_app
from tocsin.adapters.memory import InProcessDispatcher, LocalBells, memory_storage
from tocsin.adapters.system import ManualClock, Uuid7Sequence
from tocsin.adapters.telemetry import StructuredLog
from tocsin.application.auditing import Auditor
from tocsin.application.changing import Wakers
from tocsin.application.event_parts import EventParts, EventPorts
from tocsin.application.health import HealthCheck
from tocsin.application.planning import Planning
from tocsin.application.scheduler import Scheduler
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.domain.json import Json
from tocsin.engines import Engines
from tocsin.ports.bells import HEARTBEAT, REGISTRATION, TIMER
from tocsin.ports.storage import Storage

BASE: Final = "/api/v1"
NOBODY: Final = "01890000-0000-7000-8000-000000000000"
HANDLERS: Final = ("clean", "report")


@dataclass(kw_only=True)
class StillNode:
    """A scheduler and all that stands behind it, on any engines; no loop runs."""

    clock: ManualClock
    storage: Storage
    scheduler: Scheduler
    log: io.StringIO
    is_ready: bool = True

    async def finish(self, execution_id: str, *, succeeds: bool = True) -> None:
        """Run an execution to its end, after a second."""
        execution = await self.storage.executions.get(DEFAULT_TENANT, UUID(execution_id))
        [attempt] = await claim(self.storage, execution)
        await self.storage.ledger.finish([a_success(attempt) if succeeds else a_failure(attempt)])

    def face(self) -> Node:
        async def ready() -> bool:
            return self.is_ready

        telemetry = StructuredLog(form="json", stream=self.log)
        return Node(scheduler=self.scheduler, ready=ready, telemetry=telemetry, version="1.2.3")


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:  # noqa: ANN401 - a test knows what it asked for
        return json.loads(self.text)

    @property
    def fields(self) -> list[str]:
        """The fields that a 422 names."""
        return [error["field"] for error in self.body["errors"]]


@dataclass(frozen=True, kw_only=True)
class Api:
    """Sends requests, and holds each answer against the node's own OpenAPI document."""

    client: TestClient[Any, Any]
    document: Mapping[str, Any]

    async def ask(self, method: str, path: str, body: object = None, **options: Any) -> Answer:  # noqa: ANN401
        if body is not None:
            options["json"] = body
        url = (
            path
            if path.startswith(("/health", "/ready", "/docs", "/openapi.json", "/metrics")) or path == "/"
            else BASE + path
        )
        async with self.client.request(method, url, allow_redirects=False, **options) as response:
            answer = Answer(status=response.status, headers=response.headers, text=await response.text("utf-8"))
        self._check(method, url.partition("?")[0], answer)
        return answer

    async def job(self, **fields: object) -> Any:  # noqa: ANN401 - JSON
        """Make a job that would be sound by default."""
        answer = await self.ask("POST", "/jobs", a_body(**fields))
        assert answer.status == 201, answer.text
        return answer.body

    def _check(self, method: str, path: str, answer: Answer) -> None:
        media = answer.headers.get("Content-Type", "").partition(";")[0]
        operation = self._operation(method, path)
        if operation is None:
            assert media == "application/problem+json" or not answer.text
            return
        described = operation["responses"][str(answer.status)]
        if "$ref" in described:
            described = self.document["components"]["responses"][described["$ref"].rpartition("/")[2]]
        if "content" not in described:
            assert not answer.text
            return
        schema = described["content"][media]["schema"]
        if media.endswith("json"):
            OAS31Validator({**schema, "components": self.document["components"]}).validate(answer.body)

    def _operation(self, method: str, path: str) -> Any:  # noqa: ANN401 - part of the document
        for template, methods in self.document["paths"].items():
            if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path) and method.lower() in methods:
                return methods[method.lower()]
        return None


@asynccontextmanager
async def node_in_memory() -> AsyncIterator[StillNode]:
    """Build a node that shares nothing with others."""
    clock = ManualClock()
    engines = Engines(storage=memory_storage(clock), pipe=None, bells=LocalBells(), wake_seconds=1)
    async with node_on(engines, clock) as node:
        yield node


@asynccontextmanager
async def node_on(engines: Engines, clock: ManualClock) -> AsyncIterator[StillNode]:
    """Build a node that knows two functions; the clock is the engines' too."""
    functions = FunctionRegistry()
    for name in HANDLERS:
        functions.handler(name)(lambda: None)
    log, ring = io.StringIO(), engines.bells.ring
    telemetry = StructuredLog(stream=log)
    planning = Planning(CroniterCalendar(), Uuid7Sequence(), telemetry)

    async def nothing() -> dict[str, Json]:
        return {}

    async with (
        LocalHandlers(health=nothing, retention=nothing, functions=functions) as handlers,
        open_cel() as expressions,
    ):
        pipe = engines.pipe or InProcessDispatcher()
        ports = EventPorts(
            storage=engines.storage,
            expressions=expressions,
            planning=planning,
            dispatcher=pipe,
            clock=clock,
            telemetry=telemetry,
        )
        scheduler = Scheduler(
            storage=engines.storage,
            planning=planning,
            auditor=Auditor(planning=planning),
            events=EventParts.of(ports).events,
            dispatcher=pipe,
            handlers=handlers,
            health=HealthCheck(storage=engines.storage, clock=clock),
            telemetry=telemetry,
            wakers=Wakers(
                timer=partial(ring, TIMER), heartbeat=partial(ring, HEARTBEAT), registration=partial(ring, REGISTRATION)
            ),
        )
        yield StillNode(clock=clock, storage=engines.storage, scheduler=scheduler, log=log)


@asynccontextmanager
async def serving(node: Node) -> AsyncIterator[Api]:
    """Listen, and give what speaks to it."""
    async with TestClient(TestServer(create_app(node))) as client:
        async with client.get("/openapi.json", headers={"Host": "localhost"}) as response:
            document = await response.json()
        yield Api(client=client, document=document)


@asynccontextmanager
async def serving_with(node: StillNode, **changes: object) -> AsyncIterator[Api]:
    """Listen, with another scheduler, deadline or hosts."""
    async with serving(replace(node.face(), **cast("dict[str, Any]", changes))) as api:
        yield api


def a_body(**fields: object) -> dict[str, object]:
    """A job as a caller would post it; a field given as `...` is left out."""
    sound = {"name": "nightly", "type": "cron", "schedule": "0 2 * * *", "handler_name": "report"}
    return {name: value for name, value in {**sound, **fields}.items() if value is not ...}
