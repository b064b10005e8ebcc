"""A real OTLP receiver over HTTP, such as a collector has, and spans kept in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(slots=True)
class Collector:
    """What was received; while `released` is not set no request is answered."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    metrics: dict[str, Metric] = field(default_factory=dict)
    requests: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.Response:
        self.requests += 1
        body = await request.read()
        await self.released.wait()
        if request.path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(body))
        else:
            self._take_metrics(ExportMetricsServiceRequest.FromString(body))
        return web.Response(content_type="application/x-protobuf")

    def _take_spans(self, sent: ExportTraceServiceRequest) -> None:
        for resource in sent.resource_spans:
            names = {each.key: each.value.string_value for each in resource.resource.attributes}
            self.services.add(names["service.name"])
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def _take_metrics(self, sent: ExportMetricsServiceRequest) -> None:
        for resource in sent.resource_metrics:
            self.metrics |= {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """Listen on a port of its own, and answer at once."""
    collector = Collector()
    collector.released.set()
    application = web.Application()
    application.router.add_post("/v1/{signal}", collector.take)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        collector.url = f"http://{host}:{port}"
        yield collector
    finally:
        collector.released.set()
        await runner.cleanup()
