"""How long the calls of a port take, measured around whatever adapter is behind it."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from time import perf_counter
from typing import Any, TypeVar, cast

from ...ports.telemetry import Metric, Telemetry

Port = TypeVar("Port")


def timed(port: Port, telemetry: Telemetry, metric: Metric, *, name: str = "", but: Collection[str] = ()) -> Port:
    """
    Give the same port, of which every call is entered into a histogram as the operation `name.method`.

    `but` names methods that wait for something else than an answer.
    """
    return cast("Port", _Timed(port, telemetry, metric, prefix=f"{name}." if name else "", but=but))


class _Timed:
    def __init__(
        self, port: object, telemetry: Telemetry, metric: Metric, *, prefix: str, but: Collection[str]
    ) -> None:
        self._port = port
        self._telemetry = telemetry
        self._metric = metric
        self._prefix = prefix
        self._but = but

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the port has
        found = getattr(self._port, name)
        if name in self._but or not inspect.iscoroutinefunction(found):
            return found
        operation = f"{self._prefix}{name}"

        async def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as the port has it
            began = perf_counter()
            try:
                return await found(*arguments, **named)
            finally:
                self._telemetry.observe(self._metric, perf_counter() - began, operation=operation)

        # From now on it is found without asking here.
        self.__dict__[name] = call
        return call
