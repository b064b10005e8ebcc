"""The process behind `tocsin serve`: a node with its HTTP face, from the first signal it can take to its exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

from aiohttp import web

from .adapters.http import Node as HttpNode
from .adapters.http import create_app
from .adapters.system import SystemClock
from .application.node import Role
from .application.samples import add_samples
from .bootstrap import Assembly, assemble
from .domain.errors import InvalidInput
from .settings import Settings

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
SHUTDOWN_SECONDS: Final = 2.0


def serve(settings: Settings) -> int:
    """
    Run a node until SIGTERM or SIGINT, drain it, and answer the exit code.

    A second signal ends the process at once. A handler that cannot be stopped does not delay the exit.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    code = loop.run_until_complete(_serve(settings))
    if asyncio.all_tasks(loop):
        # What is left ignores its cancellation; waiting for it would be waiting for ever.
        logging.shutdown()
        sys.stderr.flush()
        os._exit(code)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    return code


async def _serve(settings: Settings) -> int:
    stop = _stop_on_signal()
    async with assemble(settings, SystemClock()) as assembly:
        await assembly.node.start()
        try:
            async with _http(settings, assembly) as base_url:
                if settings.samples:
                    await add_samples(assembly.scheduler, base_url or f"http://{settings.host}:{settings.port}")
                await stop.wait()
                assembly.node.parts.telemetry.info("node.draining", limit_seconds=settings.drain_seconds)
                await assembly.node.stop()
        finally:
            if not assembly.node.draining:
                await assembly.node.stop()
    return 0


def _stop_on_signal() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def received(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, received, number)
    return stop


@asynccontextmanager
async def _http(settings: Settings, assembly: Assembly) -> AsyncIterator[str | None]:
    """Serve HTTP if that is among the roles; gives the base URL, or None."""
    if Role.API not in settings.roles:
        yield None
        return
    runner = web.AppRunner(create_app(_face(settings, assembly)), access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, settings.host, settings.port).start()
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            raise InvalidInput.of("port", f"cannot listen on {where}: {error.strerror}") from error
        host, port = runner.addresses[0][:2]
        base_url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        assembly.node.parts.telemetry.info("http.listening", url=base_url)
        yield base_url
    finally:
        await runner.cleanup()


def _face(settings: Settings, assembly: Assembly) -> HttpNode:
    async def ready() -> bool:
        return not assembly.node.draining

    return HttpNode(
        scheduler=assembly.scheduler,
        ready=ready,
        telemetry=assembly.node.parts.telemetry,
        version=version("tocsin"),
        hosts=frozenset(host.lower() for host in settings.allowed_hosts),
    )
