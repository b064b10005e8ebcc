from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tests.http.nodes import NOBODY, Api, StillNode, serving, serving_with
from tocsin.adapters.telemetry import OpenTelemetry
from tocsin.application.scheduler import Scheduler
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.job import ScheduledJob
from tocsin.ports.telemetry import Metric

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALLER = {"traceparent": f"00-{TRACE}-{SPAN}-01"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(Scheduler):
    """A scheduler whose store is gone."""

    async def get_job(self, job_id: UUID) -> ScheduledJob:
        raise StoreUnavailable(f"the database did not answer about {job_id}")


@dataclass(frozen=True)
class Recorded:
    """An interface whose spans are kept."""

    api: Api
    telemetry: OpenTelemetry
    kept: InMemorySpanExporter

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.kept.get_finished_spans())


@pytest.fixture
async def recorded(node: StillNode) -> AsyncIterator[Recorded]:
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    telemetry = OpenTelemetry(stream=io.StringIO(), provider=provider)
    scheduler = replace(node.scheduler, telemetry=telemetry)
    face = replace(node.face(), scheduler=scheduler, telemetry=telemetry, figures=telemetry.exposition)
    async with serving(face) as api:
        yield Recorded(api, telemetry, kept)
    provider.shutdown()


async def test_a_request_is_a_span_named_after_its_route_in_the_trace_of_its_caller(recorded: Recorded) -> None:
    answer = await recorded.api.ask("GET", f"/jobs/{NOBODY}?secret=x", headers=CALLER)
    [span] = recorded.spans

    assert span.name == "GET /api/v1/jobs/{job_id}"
    assert span.kind.name == "SERVER"
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == SPAN
    assert span.context is not None
    assert answer.headers["traceparent"] == f"00-{TRACE}-{span.context.span_id:016x}-01"
    attributes = dict(span.attributes or {})
    assert attributes.pop("server.port")
    assert attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 422,
        "http.route": "/api/v1/jobs/{job_id}",
        "server.address": "127.0.0.1",
        "url.path": f"/api/v1/jobs/{NOBODY}",
        "url.scheme": "http",
    }
    assert span.status.status_code is StatusCode.UNSET


async def test_what_a_request_makes_lies_under_its_span(recorded: Recorded) -> None:
    job = await recorded.api.job()
    answer = await recorded.api.ask("POST", f"/jobs/{job['id']}/trigger", {}, headers=CALLER)
    trigger, created = recorded.spans[-1], recorded.spans[-2]

    assert (trigger.name, created.name) == ("POST /api/v1/jobs/{job_id}/trigger", "create report")
    assert trigger.context is not None
    assert created.parent is not None
    assert created.parent.span_id == trigger.context.span_id
    assert answer.body["trace_id"] == TRACE


async def test_a_tracestate_is_handed_on_and_one_header_may_be_several(recorded: Recorded) -> None:
    headers = [*CALLER.items(), ("tracestate", "one=1"), ("tracestate", "two=2")]
    job = await recorded.api.job()
    await recorded.api.ask("POST", f"/jobs/{job['id']}/trigger", {}, headers=headers)
    span = recorded.spans[-1]

    assert span.context is not None
    assert span.context.trace_state.to_header() == "one=1,two=2"


async def test_two_callers_are_none(recorded: Recorded) -> None:
    other = ("traceparent", f"00-{'a' * 32}-{SPAN}-01")
    await recorded.api.ask("GET", "/jobs", headers=[*CALLER.items(), other])

    assert recorded.spans[0].parent is None


async def test_a_failure_of_this_node_fails_the_span(node: StillNode, recorded: Recorded) -> None:
    parts: dict[str, Any] = {name: getattr(node.scheduler, name) for name in Scheduler.__dataclass_fields__}
    async with serving_with(node, scheduler=Gone(**parts), telemetry=recorded.telemetry) as api:
        await api.ask("GET", f"/jobs/{NOBODY}")
    [span] = recorded.spans

    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "503"


async def test_what_nothing_is_served_under_is_named_after_its_method_alone(recorded: Recorded) -> None:
    await recorded.api.ask("GET", "/nothing/at/all")
    await recorded.api.ask("PROPFIND", "/jobs")

    assert [span.name for span in recorded.spans] == ["GET", "HTTP"]


async def test_probes_and_pages_are_not_traced(recorded: Recorded) -> None:
    for path in ("/health", "/ready", "/docs", "/openapi.json", "/metrics"):
        answer = await recorded.api.ask("GET", path, headers=CALLER)
        assert "traceparent" not in answer.headers

    assert not recorded.spans


async def test_prometheus_reads_what_the_node_counts(recorded: Recorded) -> None:
    recorded.telemetry.add(Metric.FIRES, 3)
    answer = await recorded.api.ask("GET", "/metrics")

    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "\ntocsin_fires_total 3.0\n" in answer.text
