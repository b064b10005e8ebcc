"""One trace from whoever asks to whoever is called, across two nodes and a retry, as a collector receives it."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.end_to_end.program import serving, starting
from tests.end_to_end.waiting import until
from tests.handlers.server import serving as answering
from tests.telemetry.collector import Collector, collecting
from tocsin.domain.trace import read_trace_context

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
FROM_A = {"traceparent": f"00-{TRACE}-{CALLER}-01", "tracestate": "vendor=1"}


class ServiceB:
    """Fails the first call, and keeps the headers of each."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.calls.append((request.headers["traceparent"], request.headers["tracestate"]))
        return web.Response(status=500 if len(self.calls) == 1 else 200)


async def test_one_tree_reaches_from_a_request_on_one_node_to_the_calls_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = ServiceB()
    async with collecting() as collector, answering(service.answer) as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        async with (
            serving(tmp_path, "--roles", "api,timer") as asked,
            starting(tmp_path, "--roles", "executor,sweeper") as worker,
        ):
            await worker.logged("node.started")
            await _ask_for_a_call(asked.url, str(url / "charge"))
            await until(lambda: _has(collector, 7))
            for node in (asked, worker):
                node.terminate()
                await node.exit_code()

    spans = {span.span_id.hex(): span for span in collector.spans if span.trace_id.hex() == TRACE}
    [created] = [each for each in spans.values() if each.name == "create http"]
    first, second = sorted((each for each in spans.values() if each.name == "process http"), key=_begun)
    calls = sorted((each for each in spans.values() if each.name == "POST"), key=_begun)

    assert {each.parent_span_id.hex() for each in spans.values()} <= {CALLER, *spans}
    assert spans[created.parent_span_id.hex()].name == "POST /api/v1/jobs/{job_id}/trigger"
    assert [first.parent_span_id, second.parent_span_id] == [created.span_id] * 2
    assert [link.span_id for link in second.links] == [first.span_id]
    assert [call.parent_span_id for call in calls] == [first.span_id, second.span_id]
    assert [each.status.code for each in (first, second)] == [2, 0]
    assert [_span_id(header) for header, _ in service.calls] == [call.span_id.hex() for call in calls]
    assert {state for _, state in service.calls} == {"vendor=1"}
    assert {each.trace_state for each in spans.values()} == {"vendor=1"}


async def _ask_for_a_call(node: str, target: str) -> None:
    job = {
        "name": "charge",
        "type": "event",
        "handler_type": "http",
        "payload": {"method": "POST", "url": target},
        "max_retries": 1,
        "retry_delay_ms": 1,
    }
    async with ClientSession(f"{node}/api/v1/", headers=FROM_A) as service_a:
        async with service_a.post("jobs", json=job) as answer:
            made = await answer.json()
        async with service_a.post(f"jobs/{made['id']}/trigger", json={}) as answer:
            assert answer.status == 202


async def _has(collector: Collector, count: int) -> bool:
    return len([span for span in collector.spans if span.trace_id.hex() == TRACE]) >= count


def _begun(span: Span) -> int:
    return span.start_time_unix_nano


def _span_id(traceparent: str) -> str | None:
    read = read_trace_context(traceparent)
    assert read is not None
    assert read.trace_id == TRACE
    return read.span_id
