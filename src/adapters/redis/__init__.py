"""Redis Streams: a pipe between nodes that may be lost whole, and events to and from everybody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ...ports.telemetry import Telemetry
from . import library  # noqa: F401 - before all that imports redis-py
from .connection import Connection
from .dispatcher import RedisDispatcher, Timing
from .events_in import IntakeTiming, RedisEventIntake
from .events_out import KEPT, RedisEventExport
from .keys import Keys
from .urls import open_client

__all__ = [
    "IntakeTiming",
    "RedisDispatcher",
    "RedisEventExport",
    "RedisEventIntake",
    "RedisEventStreams",
    "Timing",
    "open_redis_dispatcher",
    "open_redis_event_streams",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisEventStreams:
    """What comes in from others, and what goes out to them."""

    intake: RedisEventIntake
    export: RedisEventExport


@asynccontextmanager
async def open_redis_dispatcher(
    url: str,
    telemetry: Telemetry,
    *,
    consumer: str,
    prefix: str = "tocsin",
    deadline: float = 2.0,
    timing: Timing | None = None,
) -> AsyncIterator[RedisDispatcher]:
    """
    Open a pipe over Redis 6.2 or later, or Valkey; `open_client` says which URLs there are.

    `consumer` is the worker's id, which no other process bears; `prefix` separates those who share a server;
    `deadline` is in seconds and holds for every call. Redis need not be there yet: calls fail until it is.

    Raises:
        ValueError: the URL or the prefix is of no use.
    """
    keys = Keys(prefix)
    async with open_client(url, deadline=deadline) as client:
        connection = Connection(client, deadline=deadline)
        yield RedisDispatcher(connection, keys, telemetry, consumer=consumer, timing=timing or Timing())


@asynccontextmanager
async def open_redis_event_streams(
    url: str,
    telemetry: Telemetry,
    *,
    consumer: str,
    prefix: str = "tocsin",
    deadline: float = 2.0,
    timing: IntakeTiming | None = None,
    kept: int = KEPT,
) -> AsyncIterator[RedisEventStreams]:
    """
    Open the streams PREFIX:events and PREFIX:facts, of which the second keeps about `kept` entries.

    All else is as for `open_redis_dispatcher`. Connections are their own: an event is no reason for work to wait.

    Raises:
        ValueError: the URL or the prefix is of no use.
    """
    keys = Keys(prefix)
    async with open_client(url, deadline=deadline) as client:
        connection = Connection(client, deadline=deadline)
        yield RedisEventStreams(
            intake=RedisEventIntake(connection, keys, telemetry, consumer=consumer, timing=timing or IntakeTiming()),
            export=RedisEventExport(connection, keys, kept=kept),
        )
