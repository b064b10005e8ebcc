"""Pipes over one server, and what lies in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis

from tests.application.rig import Notes
from tests.makers import START, new_id
from tocsin.adapters.redis import RedisDispatcher, Timing, open_redis_dispatcher
from tocsin.ports.dispatcher import Dispatch, Sent

RUNS = "function/report"
AT_ONCE = Timing(redeliver_after=timedelta(milliseconds=1), tend_every=timedelta(0), consumer_life=timedelta(0))
"""For what would otherwise be waited for; with it, whatever is not acknowledged comes again in the next answer."""


def a_dispatch(priority: int = 50, capability: str = RUNS) -> Dispatch:
    return Dispatch(execution_id=new_id(START), capability=capability, priority=priority)


def sent(dispatches: Sequence[Dispatch], at: datetime | None = None) -> list[Sent]:
    """Say that these were dispatched at that time, by default long before now."""
    return [(dispatch, at or datetime(2026, 1, 1, tzinfo=UTC)) for dispatch in dispatches]


@dataclass(slots=True)
class Pipes:
    """Nodes that share one pipe; `redis` looks at it from outside."""

    url: str
    redis: Any  # redis-py types each answer as a union of all that any protocol could say.
    stack: AsyncExitStack
    notes: Notes = field(default_factory=Notes)
    prefix: str = field(default_factory=lambda: uuid4().hex)

    async def node(self, name: str = "node-1", *, timing: Timing | None = None, deadline: float = 5) -> RedisDispatcher:
        """Open a node's end of the pipe."""
        opened = open_redis_dispatcher(
            self.url, self.notes, consumer=name, prefix=self.prefix, timing=timing, deadline=deadline
        )
        return await self.stack.enter_async_context(opened)

    def key(self, band: str = "medium", capability: str = RUNS) -> str:
        """Name a stream."""
        return f"{{{self.prefix}}}:dispatch:{band}:{capability}"

    async def length(self) -> int:
        """Count what lies in all streams of the prefix."""
        keys: list[bytes] = [key async for key in self.redis.scan_iter(match=f"{{{self.prefix}}}:dispatch:*")]
        lengths: list[int] = [await self.redis.xlen(key) for key in keys]
        return sum(lengths)

    async def consumers(self) -> set[str]:
        """Name the consumers of the medium stream."""
        listed: list[dict[str, Any]] = await self.redis.xinfo_consumers(self.key(), "executors")
        return {consumer["name"].decode() for consumer in listed}

    async def is_awaited(self) -> bool:
        """Tell whether the server has a client wait."""
        clients: list[dict[str, str]] = await self.redis.client_list()
        return any("b" in client["flags"] for client in clients)


@asynccontextmanager
async def pipes_over(url: str) -> AsyncIterator[Pipes]:
    """Open what tests need; everything is closed at the end."""
    async with AsyncExitStack() as stack, Redis.from_url(url) as redis:
        yield Pipes(url, redis, stack)


async def take(
    node: RedisDispatcher, *, limit: int = 100, wait: float = 0, capabilities: Collection[str] = (RUNS,)
) -> list[Dispatch]:
    """Receive."""
    return [*await node.receive(capabilities=capabilities, limit=limit, wait=wait)]


async def drain(node: RedisDispatcher) -> list[Dispatch]:
    """Receive and acknowledge until nothing comes."""
    received: list[Dispatch] = []
    while batch := await take(node, limit=1_000):
        await node.acknowledge(batch)
        received += batch
    return received


async def until(condition: Callable[[], Any], *, seconds: float = 30) -> None:
    """Ask again and again until it is so."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.01)
