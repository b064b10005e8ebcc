"""A real HTTP server on loopback, and a client that may call it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from yarl import URL

from tocsin.adapters.handlers.client import OutgoingClient
from tocsin.adapters.handlers.targets import TargetPolicy
from tocsin.ports.telemetry import Telemetry

LOOPBACK = ("127.0.0.0/8", "::1/128")

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[URL]:
    """Answer every request, whatever its method and path, with the given function."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        yield URL.build(scheme="http", host="127.0.0.1", port=port)
    finally:
        await runner.cleanup()


@asynccontextmanager
async def calling(*allowed: str, telemetry: Telemetry | None = None) -> AsyncIterator[OutgoingClient]:
    """Open a client that may call loopback, or only what is named."""
    client = OutgoingClient(TargetPolicy.allowing(allowed or LOOPBACK), telemetry=telemetry)
    try:
        yield client
    finally:
        await client.close()
