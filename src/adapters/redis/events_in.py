"""The stream that any service may add events to, as the one group of all nodes reads it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from redis.exceptions import ResponseError

from ...domain.json import EVENT_LIMIT
from ...ports.event_streams import Arrival
from ...ports.telemetry import Telemetry
from .connection import Connection
from .dead_events import DeadEvents
from .event_entries import LARGEST_ENTRY, Delivery, delivered, read
from .keys import NODES, Keys
from .urls import Client

MOST_BYTES: Final = 2 * EVENT_LIMIT
"""Of one answer, about: whoever receives reads all of it before it does anything else."""

ALONE_AFTER: Final = 3
"""Deliveries after which an entry is handed out by itself, and with it whatever kills its receivers."""

LOOKS_PER_REDELIVERY: Final = 4

_GONE: Final = ("NOGROUP", "UNBLOCKED")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeTiming:
    """
    How patient the intake is.

    What was received and not acknowledged for `redeliver_after` goes to another node, or comes again. Each
    `tend_every`, consumers with nothing pending that were silent for `consumer_life` are removed.
    """

    redeliver_after: timedelta = timedelta(seconds=30)
    tend_every: timedelta = timedelta(minutes=1)
    consumer_life: timedelta = timedelta(minutes=5)


class RedisEventIntake:
    """
    One consumer of the stream of events (`ports.event_streams.EventIntake`), under a name no other process bears.

    The stream holds what is undelivered and what is in the hands of a node: what is acknowledged is deleted, and only
    that, so that no flood pushes out what nobody has read. A missing stream or group is made anew, at its beginning.
    Not safe from other threads.
    """

    def __init__(
        self, connection: Connection, keys: Keys, telemetry: Telemetry, *, consumer: str, timing: IntakeTiming
    ) -> None:
        self._connection = connection
        self._key = keys.events
        self._dead = DeadEvents(connection, keys)
        self._telemetry = telemetry
        self._consumer = consumer
        self._timing = timing
        self._has_group = False
        self._is_quiet = False
        self._look_at = self._tend_at = -math.inf

    async def receive(self, *, limit: int, wait: float) -> Sequence[Arrival]:
        """
        Take up to `limit` entries, and fewer where they are large; waits up to `wait` seconds for one.

        What came often and ended in nothing comes alone.
        """
        until = time.monotonic() + wait
        if limit <= 0:
            await asyncio.sleep(max(0.0, wait))
            return []
        await self._tend()
        while True:
            # Where the last wait was in vain, the next one finds all that a look would.
            is_needless = self._is_quiet and wait > 0 and time.monotonic() < self._look_at
            found = [] if is_needless else await self._take(limit)
            left = until - time.monotonic()
            if not found and left > 0:
                found = await self._wait(left)
                self._is_quiet = not found
            if found or left <= 0:
                return [read(delivery) for delivery in found]

    async def acknowledge(self, arrivals: Sequence[Arrival]) -> None:
        """Delete entries, together with the note that they are pending."""
        if not arrivals:
            return
        ids = [arrival.id for arrival in arrivals]

        async def run(client: Client) -> None:
            pipeline = client.pipeline(transaction=False)
            pipeline.xack(self._key, NODES, *ids)
            pipeline.xdel(self._key, *ids)
            await pipeline.execute()

        await self._connection.run(run)

    async def set_aside(self, arrivals: Sequence[Arrival], reasons: Sequence[str]) -> None:
        """Move entries to the dead letter; one that cannot be kept there stays where it is, and comes again."""
        await self._dead.add(arrivals, reasons)
        await self.acknowledge(arrivals)

    async def _take(self, limit: int) -> list[Delivery]:
        """Take what is there, now and then also what others let lie."""
        found = await self._ask(limit)
        if found is None:
            await self._make_group()
            found = await self._ask(limit)
        return found or []

    async def _ask(self, limit: int) -> list[Delivery] | None:
        """Take what is there; None if there is no group."""
        now = time.monotonic()
        redeliver_after = self._timing.redeliver_after.total_seconds()
        look = [int(redeliver_after * 1000)] if now >= self._look_at else []
        bounds = (limit, MOST_BYTES, LARGEST_ENTRY, ALONE_AFTER)
        found, missing, more = await self._connection.script(
            "receive", [self._key], NODES, self._consumer, *bounds, *look
        )
        if missing:
            return None
        self._has_group = True
        if look and not more:
            self._look_at = now + redeliver_after / LOOKS_PER_REDELIVERY
        return [_delivery(*each) for each in found]

    async def _wait(self, seconds: float) -> list[Delivery]:
        """Wait for the first entry, `seconds` or a shorter time that tells a quiet server from a dead one."""
        # BLOCK 0 would be for ever.
        milliseconds = max(1, math.ceil(min(seconds, self._connection.longest_block) * 1000))

        async def read_group(client: Client) -> Any:  # noqa: ANN401 - an answer of Redis
            try:
                return await client.xreadgroup(NODES, self._consumer, {self._key: ">"}, 1, milliseconds)
            except ResponseError as error:
                if str(error).startswith(_GONE):
                    return None
                raise

        answer = await self._connection.run(read_group, patience=milliseconds / 1000)
        if answer is None:
            await self._make_group()
            return []
        return [delivered(entry_id, 1, fields) for _, entries in answer for entry_id, fields in entries]

    async def _make_group(self) -> None:
        """Make the group where it is missing, at 0: what was added before anybody received must not be passed over."""
        if self._has_group:
            self._telemetry.warning("events.stream_lost", stream=self._key)
            self._has_group = False

        async def make(client: Client) -> None:
            try:
                await client.xgroup_create(self._key, NODES, id="0", mkstream=True)
            except ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise

        await self._connection.run(make)

    async def _tend(self) -> None:
        """Remove consumers that are gone, and what an acknowledgement that was cut off in the middle left behind."""
        now = time.monotonic()
        if now < self._tend_at:
            return
        consumer_life = int(self._timing.consumer_life.total_seconds() * 1000)
        await self._connection.script("tend", [self._key], NODES, consumer_life)
        self._tend_at = now + self._timing.tend_every.total_seconds()


def _delivery(entry_id: bytes, deliveries: int, fields: Sequence[bytes], too_large: bytes) -> Delivery:
    named: Mapping[bytes, bytes] = dict(zip(fields[::2], fields[1::2], strict=True))
    return Delivery(id=entry_id, deliveries=deliveries, fields=named, too_large=too_large or None)
