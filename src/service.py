"""The process behind `tocsin serve`: a node with its HTTP face, from the first signal it can take to its exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from types import FrameType
from typing import Any, Final, NoReturn

from aiohttp import web

from .adapters.handlers.targets import TargetPolicy, TargetRefused
from .adapters.http import Node as HttpNode
from .adapters.http import create_app, create_probes
from .adapters.system import SystemClock
from .adapters.telemetry import StructuredLog
from .application.parts import Role
from .application.samples import add_samples
from .bootstrap import Assembly, assemble
from .domain.errors import InvalidInput
from .engines import database_reached
from .interpreter import new_loop, settle_in
from .ports.clock import Clock
from .ports.telemetry import Telemetry
from .settings import Settings, unknown_variables

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
SHUTDOWN_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Listening:
    """The HTTP face of this process while it can be reached."""

    url: str
    runner: web.AppRunner

    def hang_up(self) -> None:
        """Close every connection, so that no client waits for an answer that nobody writes any more."""
        if isinstance(self.runner.server, web.Server):
            for connection in self.runner.server.connections:
                connection.force_close()


class _Stop:
    """
    What signals ask for: the first to stop, the second to end at once, with `last_act` and no more.

    The handlers are the interpreter's, because the loop's own would wait for a loop that a handler may block.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.asked = asyncio.Event()
        self.last_act: Callable[[], None] = lambda: None
        self._loop = loop
        self._received = False
        for number in SIGNALS:
            signal.signal(number, self._receive)

    def _receive(self, number: int, _: FrameType | None) -> None:
        if self._received:
            self.last_act()
            os._exit(128 + number)
        self._received = True
        self._loop.call_soon_threadsafe(self.asked.set)


def serve(settings: Settings, clock: Clock | None = None) -> NoReturn:
    """
    Run a node until SIGTERM or SIGINT, drain it, and end the process with the exit code.

    Its clock is the system's unless another is given. A database that is not there yet is awaited. A second signal
    ends the process at once, even while a handler blocks the event loop. No handler delays the exit, and none can
    end the node: what it does to the loop that it shares is told and survived.
    """
    telemetry = StructuredLog(form=settings.log_format, level=settings.log_level)
    loop = new_loop()
    stop = _Stop(loop)
    _see_through(loop, loop.create_task(_serve(settings, clock or SystemClock(), stop, telemetry)), telemetry)
    # The interpreter would wait for threads that handlers left behind, and the loop for tasks that do not listen.
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _see_through(loop: asyncio.AbstractEventLoop, main: asyncio.Task[None], telemetry: Telemetry) -> None:
    """Drive the loop until `main` has ended; a task of a handler's that asks to exit makes asyncio leave the loop."""
    while True:
        try:
            loop.run_until_complete(main)
        except (SystemExit, KeyboardInterrupt) as error:
            if main.done():
                raise
            telemetry.error("loop.left", error=type(error).__name__)
        else:
            return


async def _serve(settings: Settings, clock: Clock, stop: _Stop, telemetry: Telemetry) -> None:
    if not await _unless_stopped(database_reached(settings, telemetry), stop):
        return
    async with assemble(settings, clock) as assembly:
        settle_in()
        node = assembly.node
        stop.last_act = assembly.kill_commands
        if unknown := unknown_variables(os.environ):
            telemetry.warning("settings.unknown", variables=unknown)
        # Handlers come last: until then nobody can do anything to this task.
        async with _http(settings, assembly) as listening:
            if settings.samples:
                await add_samples(assembly.scheduler, _probed(settings, listening, telemetry))

            def cancelled() -> None:
                telemetry.error("node.cancelled")
                if listening is not None:
                    listening.hang_up()

            try:
                await assembly.start()
                if listening is not None:
                    telemetry.info("http.listening", url=listening.url)
                await _though_cancelled(stop.asked.wait, cancelled)
                telemetry.info("node.draining", limit_seconds=settings.drain_seconds)
            finally:
                await _though_cancelled(node.stop, cancelled)


def _probed(settings: Settings, listening: _Listening | None, telemetry: Telemetry) -> str | None:
    """Answer where a job of this node may call it; a line of the log says why there is no such address."""
    reason = "this node does not have the role api"
    if listening is not None:
        # What stands for all addresses is itself none that can be called.
        url = listening.url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        try:
            TargetPolicy.allowing(settings.targets).check(url)
        except TargetRefused as refusal:
            reason = str(refusal)
        else:
            return url
    telemetry.warning("samples.without_probe", reason=reason)
    return None


async def _unless_stopped(step: Coroutine[Any, Any, None], stop: _Stop) -> bool:
    """Answer whether the step was done before a signal came; then it is given up."""
    doing, asked = asyncio.create_task(step), asyncio.create_task(stop.asked.wait())
    await asyncio.wait((doing, asked), return_when=asyncio.FIRST_COMPLETED)
    for task in (doing, asked):
        task.cancel()
    await asyncio.wait((doing, asked))
    if doing.cancelled():
        return False
    doing.result()
    return True


async def _though_cancelled(step: Callable[[], Awaitable[object]], tell: Callable[[], None]) -> None:
    """Begin again, and tell, each time a handler cancels this task with all others; nobody else does."""
    while True:
        try:
            await step()
        except asyncio.CancelledError:
            tell()
            # A cancellation that stays on the count would make every later time-out look like another one.
            task = asyncio.current_task()
            while task is not None and task.uncancel():
                pass
        else:
            return


@asynccontextmanager
async def _http(settings: Settings, assembly: Assembly) -> AsyncIterator[_Listening | None]:
    """Serve HTTP if that is among the roles, and the probes on a port of their own if there is to be one."""
    face = _face(settings, assembly)
    async with AsyncExitStack() as stack:
        if settings.probe_port is not None:
            probes = await stack.enter_async_context(
                _listening(create_probes(face), settings.host, settings.probe_port, setting="probe_port")
            )
            assembly.telemetry.info("probes.listening", url=probes.url)
        if Role.API in settings.roles:
            yield await stack.enter_async_context(
                _listening(create_app(face), settings.host, settings.port, setting="port")
            )
        else:
            yield None


@asynccontextmanager
async def _listening(app: web.Application, host: str, port: int, *, setting: str) -> AsyncIterator[_Listening]:
    """Listen on a port; an error names the setting that it came from."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise InvalidInput.of(setting, f"cannot listen on {host}:{port}: {error.strerror}") from error
        host, port = runner.addresses[0][:2]
        yield _Listening(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}", runner)
    finally:
        await runner.cleanup()


def _face(settings: Settings, assembly: Assembly) -> HttpNode:
    async def ready() -> bool:
        return assembly.node.live

    return HttpNode(
        scheduler=assembly.scheduler,
        ready=ready,
        telemetry=assembly.telemetry,
        figures=assembly.telemetry.exposition,
        version=version("tocsin"),
        hosts=frozenset(host.lower() for host in settings.allowed_hosts),
        trace_url=settings.trace_url,
    )
