"""What the HTTP face needs of the node that it is a face of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from ...ports.scheduler import IScheduler
from ...ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """
    The scheduler to serve, and how.

    `ready` says whether the node takes work: started, not draining. `hosts` are names beside those of
    loopback that the Host header may carry, in lower case. A request that takes longer than
    `deadline_seconds` is given up. `figures` writes what the node counts as Prometheus reads it; from any thread.
    `trace_url` is where a trace is shown, with `{trace_id}` in it.
    """

    scheduler: IScheduler
    ready: Callable[[], Awaitable[bool]]
    telemetry: Telemetry
    version: str
    hosts: frozenset[str] = frozenset()
    deadline_seconds: float = 30.0
    figures: Callable[[], bytes] = bytes
    trace_url: str | None = None


NODE: Final = web.AppKey("node", Node)
