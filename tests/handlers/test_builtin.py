from __future__ import annotations

from collections.abc import Mapping

import pytest
from aiohttp import web

from tests.handlers.contexts import a_context
from tests.handlers.server import Answer, calling, serving
from tocsin.adapters.handlers.builtin import HttpProbe, check_health, noop, run_retention
from tocsin.adapters.handlers.client import OutgoingClient
from tocsin.adapters.handlers.targets import TargetPolicy
from tocsin.domain.errors import HandlerFailed, InvalidJob
from tocsin.domain.json import Json


def answering(status: int) -> Answer:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status)

    return answer


async def probe(status: int, *, seconds: float, **payload: Json) -> Json:
    instants = iter([100.0, 100.0 + seconds])
    async with serving(answering(status)) as url, calling() as client:
        return await HttpProbe(client, clock=lambda: next(instants))(a_context({"url": str(url), **payload}))


@pytest.mark.parametrize("status", ["healthy", "degraded"])
async def test_a_health_check_answers_with_the_health(status: str) -> None:
    async def report() -> Mapping[str, Json]:
        return {"status": status, "issues": []}

    assert await check_health(report)(a_context()) == {"status": status, "issues": []}


async def test_the_health_check_of_an_unhealthy_node_fails_and_keeps_the_report() -> None:
    async def report() -> Mapping[str, Json]:
        return {"status": "unhealthy", "issues": ["the store is gone"]}

    with pytest.raises(HandlerFailed, match="unhealthy") as failure:
        await check_health(report)(a_context())

    assert failure.value.result == {"status": "unhealthy", "issues": ["the store is gone"]}


async def test_retention_answers_with_what_it_removed() -> None:
    async def report() -> Mapping[str, Json]:
        return {"executions": 12}

    assert await run_retention(report)(a_context()) == {"executions": 12}


async def test_a_noop_does_nothing() -> None:
    await noop(a_context({"any": "payload"}))


async def test_a_probe_answers_with_status_and_latency() -> None:
    assert await probe(204, seconds=0.25) == {"status": 204, "latency_ms": 250.0}


async def test_a_probe_fails_at_another_status_and_keeps_what_it_saw() -> None:
    with pytest.raises(HandlerFailed, match="status 503") as failure:
        await probe(503, seconds=0.25)

    assert failure.value.result == {"status": 503, "latency_ms": 250.0}


async def test_a_probe_may_expect_any_status() -> None:
    assert await probe(401, seconds=0.25, expect=[401])


async def test_a_probe_fails_when_the_answer_takes_too_long() -> None:
    assert await probe(200, seconds=0.25, max_latency_ms=250)
    with pytest.raises(HandlerFailed, match=r"after 250.0 ms; at most 249") as failure:
        await probe(200, seconds=0.25, max_latency_ms=249)

    assert failure.value.result == {"status": 200, "latency_ms": 250.0}


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        (None, "payload"),
        ({}, "payload.url"),
        ({"url": "http://127.0.0.1/"}, "payload.url"),
        ({"url": "https://example.com/", "max_latency_ms": 0}, "payload.max_latency_ms"),
        ({"url": "https://example.com/", "method": "POST"}, "payload.method"),
    ],
)
def test_a_probe_that_can_never_work_is_refused_by_field(payload: Json, field: str) -> None:
    with pytest.raises(InvalidJob) as refusal:
        HttpProbe(OutgoingClient(TargetPolicy())).check(payload)

    assert [error.field for error in refusal.value.errors] == [field]
