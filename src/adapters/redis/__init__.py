"""Dispatch over Redis Streams: a pipe between nodes that may be lost whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ...ports.telemetry import Telemetry
from .connection import Connection
from .dispatcher import RedisDispatcher, Timing
from .keys import Keys
from .urls import open_client

__all__ = ["RedisDispatcher", "Timing", "open_redis_dispatcher"]


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
