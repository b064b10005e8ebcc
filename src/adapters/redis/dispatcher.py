"""Dispatch over Redis Streams: many nodes, one pipe."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ...ports.dispatcher import Dispatch, Sent
from ...ports.telemetry import Telemetry
from .connection import Connection
from .entries import Entry, read
from .keys import GROUP, Keys, Stream, keys_of
from .losses import Losses
from .reading import Reader
from .receipts import Receipts
from .rounds import Rounds
from .writing import Writer

TENDED_AT_ONCE: Final = 16
KEPT_REDELIVERIES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """
    How patient the pipe is.

    What was received and not acknowledged for `redeliver_after` goes to another receiver. Each `tend_every` streams
    are trimmed, and consumers with nothing pending that were silent for `consumer_life` are removed. A stream to which
    nobody sends and which nobody tends is gone after `stream_life`, so that a capability out of use leaves no key.
    """

    redeliver_after: timedelta = timedelta(seconds=10)
    tend_every: timedelta = timedelta(minutes=1)
    consumer_life: timedelta = timedelta(minutes=5)
    stream_life: timedelta = timedelta(days=1)


class RedisDispatcher:
    """
    Carries ids in one stream for each band and capability, to whichever node of the group asks first.

    A stream holds what is undelivered and what is in the hands of a receiver: what is acknowledged is deleted. A
    missing stream or group is made anew, at its beginning. How often an entry came again is of no interest, since
    the store counts the attempts that it led to. Not safe from other threads.
    """

    is_shared = True

    def __init__(
        self, connection: Connection, keys: Keys, telemetry: Telemetry, *, consumer: str, timing: Timing
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._telemetry = telemetry
        self._timing = timing
        self._writer = Writer(connection, keys, stream_life=timing.stream_life)
        self._reader = Reader(
            connection, consumer, redeliver_after=timing.redeliver_after, stream_life=timing.stream_life
        )
        self._losses = Losses(connection, keys)
        self._receipts = Receipts()
        self._tending = Rounds(timing.tend_every.total_seconds())
        self._receives = 0
        self._quiet: frozenset[Stream] = frozenset()
        self._malformed = 0

    @property
    def malformed(self) -> int:
        """How many entries this process could not read and set aside."""
        return self._malformed

    async def dispatch(self, batch: Sequence[Dispatch]) -> None:
        """Append a batch to its streams; a failure may leave a part of it appended."""
        await self._writer.send(batch)

    async def receive(self, *, capabilities: Collection[str], limit: int, wait: float) -> Sequence[Dispatch]:
        """Take by turns what is there, first what others let lie; wait up to `wait` seconds if there is nothing."""
        until = time.monotonic() + wait
        self._receives += 1
        streams = self._keys.streams(capabilities, first=self._receives)
        if limit <= 0 or not streams:
            await asyncio.sleep(max(0.0, wait))
            return []
        await self._tend(streams)
        while True:
            found = await self._reader.take_over(streams, limit)
            # Where the last wait was in vain, the next one finds all that a look would.
            if wait <= 0 or not self._quiet.issuperset(streams):
                found += await self._reader.take(streams, limit - len(found))
            left = until - time.monotonic()
            if not found and left > 0:
                found = await self._first(streams, limit, left)
                self._quiet = frozenset() if found else frozenset(streams)
            if (received := await self._accept(found)) or left <= 0:
                return received

    async def acknowledge(self, batch: Sequence[Dispatch]) -> None:
        """Delete what was received from its stream."""
        await self._writer.delete([entry for dispatch in batch for entry in self._receipts.take(dispatch)])

    async def lost(self, candidates: Sequence[Sent]) -> Sequence[Dispatch]:
        """Tell what the streams no longer carry, as far as that can be told (`Losses`)."""
        return await self._losses.among(candidates)

    async def _first(self, streams: Sequence[Stream], limit: int, seconds: float) -> list[Entry]:
        """Wait for an entry and take what came with it; what is more than the limit is sent again."""
        found = await self._reader.wait(streams, seconds)
        if not found:
            return []
        found += await self._reader.take(streams, limit - len(found))
        if surplus := found[limit:]:
            await self._writer.send_again(surplus)
        return found[:limit]

    async def _accept(self, found: Sequence[Entry]) -> list[Dispatch]:
        """Keep what is needed to acknowledge; answer each dispatch once, urgent bands first, then by arrival."""
        now = time.monotonic()
        # By then somebody else has it, or nobody is left who would.
        self._receipts.forget(now - KEPT_REDELIVERIES * self._timing.redeliver_after.total_seconds())
        received: dict[Dispatch, None] = {}
        unreadable = []
        for entry in sorted(found, key=lambda entry: (-entry.stream.band, entry.position)):
            try:
                dispatch = read(entry)
            except (KeyError, ValueError):
                unreadable.append(entry)
                continue
            self._receipts.add(dispatch, entry, now)
            received[dispatch] = None
        if unreadable:
            self._malformed += len(unreadable)
            self._telemetry.warning("dispatch.malformed", entries=len(unreadable), in_all=self._malformed)
            await self._writer.set_aside(unreadable)
        return [*received]

    async def _tend(self, streams: Sequence[Stream]) -> None:
        """Keep streams short and their consumers few, some at a time."""
        if some := self._tending.due(streams)[:TENDED_AT_ONCE]:
            consumer_life = int(self._timing.consumer_life.total_seconds() * 1000)
            stream_life = int(self._timing.stream_life.total_seconds())
            await self._connection.script("tend", keys_of(some), GROUP, consumer_life, stream_life)
            self._tending.done(some)
