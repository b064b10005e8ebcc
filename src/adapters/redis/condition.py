"""A server as it tells of itself, for who looks for trouble."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ...ports.conditions import PipeCondition
from .connection import Connection
from .urls import Client, open_client

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def condition(url: str, *, deadline: float = 2.0) -> PipeCondition:
    """
    Look at a Redis, of a cluster at one of its nodes; `deadline` is in seconds, for each question.

    Raises:
        ValueError: the URL is of no use.
        DispatcherUnavailable: it does not answer, or refuses.
    """
    async with open_client(url, deadline=deadline) as client:
        connection = Connection(client, deadline=deadline)
        told = _of_one(await connection.run(_information))
        seconds, micros = await connection.run(_time)
    return PipeCondition(
        version=str(told["redis_version"]),
        now=_EPOCH + timedelta(seconds=int(seconds), microseconds=int(micros)),
        role=str(told["role"]),
        memory=int(told["used_memory"]),
        memory_limit=int(told["maxmemory"]),
        eviction=str(told["maxmemory_policy"]),
    )


async def _information(client: Client) -> Mapping[str, Any]:
    told: Mapping[str, Any] = await client.info()
    return told


async def _time(client: Client) -> tuple[int, int]:
    told: Any = await client.time()
    seconds, micros = next(iter(told.values())) if isinstance(told, Mapping) else told
    return seconds, micros


def _of_one(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take what one node says; a cluster answers for each, under its address."""
    return told if "redis_version" in told else next(iter(told.values()))
