"""Streams of events over one server, as nodes and other services see them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis

from tests.application.rig import Notes
from tocsin.adapters.redis import IntakeTiming, RedisEventIntake, RedisEventStreams, open_redis_event_streams
from tocsin.ports.event_streams import Arrival

AT_ONCE = IntakeTiming(redeliver_after=timedelta(milliseconds=1), tend_every=timedelta(0), consumer_life=timedelta(0))
"""For what would otherwise be waited for; with it, whatever is not acknowledged comes again in the next answer."""


@dataclass(slots=True)
class Streams:
    """Nodes that share the streams; `redis` is any service, and whoever looks at them from outside."""

    url: str
    redis: Any  # redis-py types each answer as a union of all that any protocol could say.
    stack: AsyncExitStack
    notes: Notes = field(default_factory=Notes)
    prefix: str = field(default_factory=lambda: uuid4().hex)

    @property
    def key(self) -> str:
        """Name the stream that services add to."""
        return f"{self.prefix}:events"

    async def node(
        self, name: str = "node-1", *, timing: IntakeTiming | None = None, deadline: float = 5, kept: int = 100
    ) -> RedisEventStreams:
        """Open a node's end of the streams."""
        opened = open_redis_event_streams(
            self.url, self.notes, consumer=name, prefix=self.prefix, timing=timing, deadline=deadline, kept=kept
        )
        return await self.stack.enter_async_context(opened)

    async def intake(self, name: str = "node-1", *, timing: IntakeTiming | None = None) -> RedisEventIntake:
        """Open what reads."""
        return (await self.node(name, timing=timing)).intake

    async def add(self, **fields: str | bytes) -> str:
        """Add an entry as any service would; answer its id."""
        return await self.add_fields({name.encode(): value for name, value in fields.items()})

    async def add_fields(self, fields: Mapping[bytes, str | bytes]) -> str:
        """Add an entry whose names are no words."""
        entry_id: bytes = await self.redis.xadd(self.key, fields)
        return entry_id.decode()

    async def age(self, ids: Sequence[str]) -> None:
        """Have entries look as if they had been in a node's hands for two minutes."""
        await self.redis.xclaim(self.key, "nodes", "long-gone", 0, ids, idle=120_000, justid=True)

    async def dead(self) -> list[dict[bytes, bytes]]:
        """Read the dead letter."""
        return [fields for _, fields in await self.redis.xrange(f"{self.key}:dead")]

    async def length(self) -> int:
        """Count what lies in the stream."""
        length: int = await self.redis.xlen(self.key)
        return length

    async def pending(self) -> int:
        """Count what is in the hands of nodes."""
        pending: int = (await self.redis.xpending(self.key, "nodes"))["pending"]
        return pending


@asynccontextmanager
async def streams_over(url: str) -> AsyncIterator[Streams]:
    """Open what tests need; everything is closed at the end."""
    async with AsyncExitStack() as stack, Redis.from_url(url) as redis:
        yield Streams(url, redis, stack)


async def take(intake: RedisEventIntake, *, limit: int = 200, wait: float = 0) -> Sequence[Arrival]:
    """Receive."""
    return await intake.receive(limit=limit, wait=wait)


async def one(intake: RedisEventIntake) -> Arrival:
    """Receive the one entry that there is."""
    [arrival] = await take(intake)
    return arrival
