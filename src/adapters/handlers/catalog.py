"""Everything that this node can run, under the one port that the application knows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import MappingProxyType, TracebackType
from typing import Final, Self

from aiohttp.abc import AbstractResolver

from ...domain.errors import HandlerNotFound, InvalidJob
from ...domain.job import HandlerType, capability
from ...domain.json import Json
from ...ports.handlers import Handler
from ...ports.telemetry import Telemetry
from .builtin import HttpProbe, Report, check_health, noop, run_retention
from .client import OutgoingClient
from .command import CommandHandler
from .functions import FunctionRegistry, default_registry
from .http import HttpHandler
from .targets import TargetPolicy
from .threads import Threads

_REMEDIES: Final = MappingProxyType(
    {HandlerType.COMMAND: "no live node allows commands; the setting TOCSIN_ALLOW_COMMANDS=true allows them"},
)


class LocalHandlers:
    """
    The handlers of this process (`ports.handlers.Handlers`), and the resources they share.

    `health` and `retention` do the work of the built-in handlers of these names. Commands are refused unless
    `commands` is given. Leaving the context closes connections, and gives up calls whose thread never ended.
    """

    def __init__(
        self,
        *,
        health: Report,
        retention: Report,
        functions: FunctionRegistry = default_registry,
        targets: TargetPolicy | None = None,
        resolver: AbstractResolver | None = None,
        commands: CommandHandler | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._functions = functions
        self._threads = Threads()
        self._commands = commands
        self._client = OutgoingClient(targets or TargetPolicy(), telemetry=telemetry, resolver=resolver)
        call, probe = HttpHandler(self._client), HttpProbe(self._client)
        # Of commands too where another node runs them.
        self._checks: dict[str, Callable[[Json], None]] = {
            "http": call.check,
            "command": CommandHandler.check,
            "function/tocsin.http_probe": probe.check,
        }
        self._found: dict[tuple[HandlerType, str], Handler] = {}
        self._own: dict[str, Handler] = {
            "http": call,
            "function/tocsin.http_probe": probe,
            "function/tocsin.health_check": check_health(health),
            "function/tocsin.noop": noop,
            "function/tocsin.retention": run_retention(retention),
        }
        if commands is not None:
            self._own["command"] = commands

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        self._threads.abandon()
        await self._client.close()

    def kill(self) -> None:
        """Kill the commands that still run: this process is about to end, and nobody else would."""
        if self._commands is not None:
            self._commands.kill()

    def resolve(self, handler_type: HandlerType, name: str) -> Handler:
        """Find the code for a job; see the port. What was found once stays: nothing is ever unregistered."""
        found = self._found.get((handler_type, name))
        if found is None:
            found = self._found[handler_type, name] = self._sought(handler_type, name)
        return found

    def _sought(self, handler_type: HandlerType, name: str) -> Handler:
        found = self._own.get(capability(handler_type, name))
        if found is None and handler_type is HandlerType.FUNCTION:
            found = self._functions.resolve(name, self._threads)
        if found is None:
            raise HandlerNotFound(name, (known.removeprefix("function/") for known in self.capabilities()))
        return found

    def capabilities(self) -> frozenset[str]:
        """List what this process can run; see the port."""
        names = self._functions.names()
        return frozenset(self._own) | {capability(HandlerType.FUNCTION, name) for name in names}

    def check(self, handler_type: HandlerType, name: str, payload: Json, *, known: Collection[str] = ()) -> None:
        """Refuse a payload that the handler could never run; see the port."""
        wanted = capability(handler_type, name)
        runnable = {*self._own, *known}
        if handler_type is not HandlerType.FUNCTION and wanted not in runnable:
            raise InvalidJob.of("handler_type", _why_not(handler_type, runnable))
        if check := self._checks.get(wanted):
            check(payload)


def _why_not(handler_type: HandlerType, runnable: Collection[str]) -> str:
    available = [each.value for each in HandlerType if each is HandlerType.FUNCTION or each.value in runnable]
    reason = _REMEDIES.get(handler_type, f"{handler_type.value!r} is not available on this node")
    return f"{reason} (available: {', '.join(sorted(available))})"
