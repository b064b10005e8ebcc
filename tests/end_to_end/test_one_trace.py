"""One trace from the service that publishes an event to the service that a job calls, over two nodes and a retry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import ClientSession, web
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from deploy.local.redis import LocalRedis
from tests.end_to_end.waiting import until
from tests.faults.cluster import Node, environment_of
from tests.faults.marks import Lives
from tests.telemetry.collector import Collector, collecting
from tocsin.domain.trace import read_trace_context

TRACE: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER: Final = "00f067aa0ba902b7"
TRACESTATE: Final = "vendor=opaque"


@dataclass(slots=True)
class Services:
    """Service A, which publishes what it is told of, and service B, which a job calls and which fails at first."""

    publisher: str = ""
    billing: str = ""
    node: str = ""
    calls: list[Mapping[str, str]] = field(default_factory=list)
    failed: asyncio.Event = field(default_factory=asyncio.Event)

    async def order(self, request: web.Request) -> web.Response:
        """A: an order comes in, and goes out as an event in the same trace, under a span of A's own."""
        caller = read_trace_context(request.headers["traceparent"])
        assert caller is not None
        headers = {"traceparent": caller.under("a" * 16).traceparent, "tracestate": TRACESTATE}
        event = {"name": "order.created", "data": await request.json()}
        async with (
            ClientSession() as session,
            session.post(f"{self.node}/api/v1/events", json=event, headers=headers) as answer,
        ):
            return web.json_response(await answer.json(), status=answer.status)

    async def bill(self, request: web.Request) -> web.Response:
        """B: the first call fails."""
        self.calls.append({name.lower(): value for name, value in request.headers.items()})
        self.failed.set()
        return web.Response(status=500 if len(self.calls) == 1 else 200)


@asynccontextmanager
async def listening(application: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    made = Services()
    publisher, billing = web.Application(), web.Application()
    publisher.router.add_post("/orders", made.order)
    billing.router.add_post("/bill", made.bill)
    async with listening(publisher) as made.publisher, listening(billing) as made.billing:
        yield made


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    async with collecting() as made:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        yield made


class Fleet:
    """Nodes of one role each, as processes on one PostgreSQL and one Redis."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        self._folder = folder
        self._urls = {"database_url": database_url, "redis_url": redis_url, "target_allow": "127.0.0.0/8"}
        self._nodes: list[Node] = []

    async def start(self, roles: str) -> Node:
        environment = environment_of({**self._urls, "roles": roles})
        node = Node(number=len(self._nodes), folder=self._folder, environment=environment, lives=Lives())
        self._nodes.append(node)
        node.start()
        await node.ready()
        return node

    def end(self) -> None:
        for node in self._nodes:
            node.end()


@pytest.fixture
def fleet(tmp_path: Path, postgres_url: str, redis_server: LocalRedis) -> Iterator[Fleet]:
    made = Fleet(tmp_path, postgres_url, redis_server.url)
    yield made
    made.end()


async def post(url: str, body: object, **headers: str) -> Any:  # noqa: ANN401 - JSON, of which a test picks what it names
    async with ClientSession() as session, session.post(url, json=body, headers=headers) as answer:
        answered = await answer.json()
        assert answer.status < 300, answered
        return answered


async def test_one_trace_runs_from_the_publisher_to_the_last_attempt(
    fleet: Fleet, services: Services, collector: Collector
) -> None:
    desk = await fleet.start("api,timer,sweeper")
    services.node = str((await desk.logged("http.listening"))["url"])
    api = f"{services.node}/api/v1"
    first = await fleet.start("executor")
    call = {"method": "POST", "url": f"{services.billing}/bill"}
    job = await post(
        f"{api}/jobs",
        {
            "name": "bill",
            "type": "event",
            "handler_type": "http",
            "payload": call,
            "max_retries": 1,
            "retry_delay_ms": 3000,
            "backoff": "fixed",
        },
    )
    run, work = {"type": "run_job", "job_id": job["id"]}, {"type": "call", "handler_name": "take"}
    for action in (run, work):
        await post(f"{api}/event-handlers", {"event": "order.*", "action": action})

    outcome = await post(f"{services.publisher}/orders", {"id": 7}, traceparent=f"00-{TRACE}-{CALLER}-01")
    await services.failed.wait()
    # The second attempt is another node's, which never met the first.
    assert await first.stop() == 0
    second = await fleet.start("executor")

    async def billed() -> bool:
        return len(services.calls) == 2

    await until(billed)
    assert await second.stop() == 0
    assert await desk.stop() == 0

    assert outcome["matched"] == 2
    spans = {span.span_id.hex(): span for span in collector.spans if span.trace_id.hex() == TRACE}
    tree = {f"{span.name}": names_above(span, spans) for span in spans.values() if span.name != "POST"}
    assert tree == {
        "POST /api/v1/events": ["A"],
        "publish order.created": ["POST /api/v1/events", "A"],
        "create http": ["publish order.created", "POST /api/v1/events", "A"],
        "create take": ["publish order.created", "POST /api/v1/events", "A"],
        "process http": ["create http", "publish order.created", "POST /api/v1/events", "A"],
        "process take": ["create take", "publish order.created", "POST /api/v1/events", "A"],
    }
    attempts = sorted((span for span in spans.values() if span.name == "process http"), key=started)
    assert [each.status.code for each in attempts] == [Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET]
    assert [[link.span_id for link in each.links] for each in attempts] == [[], [attempts[0].span_id]]

    calls = sorted((span for span in spans.values() if span.name == "POST"), key=started)
    assert [each.parent_span_id for each in calls] == [each.span_id for each in attempts]
    seen = [read_trace_context(headers["traceparent"], headers["tracestate"]) for headers in services.calls]
    assert [(each.trace_id, each.span_id, each.tracestate) for each in seen if each] == [
        (TRACE, each.span_id.hex(), TRACESTATE) for each in calls
    ]


def names_above(span: Span, spans: Mapping[str, Span]) -> list[str]:
    """Name the ancestors of a span, up to the one of service A; one whose parent nobody recorded is an orphan."""
    parent = span.parent_span_id.hex()
    if parent == "a" * 16:
        return ["A"]
    assert parent in spans, f"{span.name} is an orphan"
    return [spans[parent].name, *names_above(spans[parent], spans)]


def started(span: Span) -> int:
    return span.start_time_unix_nano
