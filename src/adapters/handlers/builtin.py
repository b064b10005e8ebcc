"""Tocsin's own function handlers: the node looks after itself with ordinary jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import TypeAlias

from ...domain.errors import HandlerFailed
from ...domain.json import Json
from ...ports.handlers import Handler, HandlerContext
from .client import OutgoingClient
from .http import check_url, is_expected
from .payloads import Milliseconds, Payload, Statuses, Url, parse

Report: TypeAlias = Callable[[], Awaitable[Mapping[str, Json]]]
"""Does a piece of the node's own work and says what came of it."""


def check_health(report: Report) -> Handler:
    """Make `tocsin.health_check`: the node's health is the result, and an unhealthy node a failure."""

    async def run(_: HandlerContext) -> Mapping[str, Json]:
        health = await report()
        if health.get("status") == "unhealthy":
            raise HandlerFailed("the node is unhealthy", health)
        return health

    return run


def run_retention(report: Report) -> Handler:
    """Make `tocsin.retention`: what was removed is the result."""

    async def run(_: HandlerContext) -> Mapping[str, Json]:
        return await report()

    return run


async def noop(_: HandlerContext) -> None:
    """Do nothing, successfully: `tocsin.noop`."""


class HttpProbePayload(Payload):
    """A URL to watch; the latency is that of a GET until its status and headers are there."""

    url: Url
    expect: Statuses | None = None
    timeout_ms: Milliseconds | None = None
    max_latency_ms: Milliseconds | None = None


class HttpProbe:
    """Tells whether a URL answers as expected, and how fast; the result is `{"status", "latency_ms"}`."""

    def __init__(self, client: OutgoingClient, *, clock: Callable[[], float] = monotonic) -> None:
        self._client = client
        self._clock = clock

    def check(self, payload: Json) -> None:
        """
        Refuse a payload that can never be probed from this node.

        Raises:
            InvalidJob: names each field at fault.
        """
        check_url(self._client.policy, parse(HttpProbePayload, payload).url)

    async def __call__(self, context: HandlerContext) -> Json:
        """
        Probe once.

        Raises:
            HandlerFailed: no answer, another status, or a latency beyond `max_latency_ms`.
        """
        probe = parse(HttpProbePayload, context.payload)
        started = self._clock()
        async with self._client.request("GET", probe.url, timeout_ms=probe.timeout_ms, trace=context.trace) as response:
            latency = round((self._clock() - started) * 1000, 3)
        result: dict[str, Json] = {"status": response.status, "latency_ms": latency}
        if not is_expected(response.status, probe.expect):
            raise HandlerFailed(f"answered with status {response.status}", result)
        if probe.max_latency_ms is not None and latency > probe.max_latency_ms:
            raise HandlerFailed(f"answered after {latency} ms; at most {probe.max_latency_ms} are allowed", result)
        return result
