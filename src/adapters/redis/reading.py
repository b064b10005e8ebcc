"""How entries come out of the streams: by turns, by waiting, and from receivers that died."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from redis.exceptions import ResponseError

from ...domain.bands import TURNS, URGENT_FIRST, shares
from .connection import Connection
from .entries import Entry, from_script
from .keys import GROUP, Stream, keys_of
from .rounds import Rounds
from .urls import Client

PAGES: Final = 500
"""How many pages of pending entries one look for abandoned ones goes through, at most."""

ROUNDS_PER_REDELIVERY: Final = 4

_START: Final = b"0-0"
_GONE: Final = ("NOGROUP", "UNBLOCKED")
"""How it is told that the group is gone, and, from Redis 7 on, while one waits, that its stream is."""


class Reader:
    """
    One consumer of the streams, under a name that no other process bears.

    What it is given stays pending until it is acknowledged.
    """

    def __init__(
        self, connection: Connection, consumer: str, *, redeliver_after: timedelta, stream_life: timedelta
    ) -> None:
        self._connection = connection
        self._consumer = consumer
        self._redeliver_after = redeliver_after
        self._stream_life = stream_life
        self._turn = 0
        self._searches = Rounds(redeliver_after.total_seconds() / ROUNDS_PER_REDELIVERY)
        self._searching: tuple[str, bytes] = "", _START

    async def take(self, streams: Sequence[Stream], limit: int) -> list[Entry]:
        """Take up to `limit` entries that nobody was given yet: each band in turn, what is left by urgency."""
        if limit <= 0:
            return []
        found, missing = await self._take(streams, limit)
        if missing:
            await self._make_groups(streams)
            more, _ = await self._take(streams, limit - len(found))
            found += more
        self._turn = (self._turn + len(found)) % len(TURNS)
        return found

    async def wait(self, streams: Sequence[Stream], seconds: float) -> list[Entry]:
        """
        Wait for the first entry, until `seconds` are over or a shorter time that tells a quiet server from a dead one.

        Where several streams were filled at the same moment, each gives one.
        """
        # BLOCK 0 would be for ever.
        milliseconds = max(1, math.ceil(min(seconds, self._connection.longest_block) * 1000))
        by_key = {stream.key.encode(): stream for stream in streams}

        async def read(client: Client) -> Any:  # noqa: ANN401 - an answer of Redis
            try:
                return await client.xreadgroup(GROUP, self._consumer, dict.fromkeys(by_key, ">"), 1, milliseconds)
            except ResponseError as error:
                if str(error).startswith(_GONE):
                    return None
                raise

        answer = await self._connection.run(read, patience=milliseconds / 1000)
        if answer is None:
            await self._make_groups(streams)
            return []
        return [Entry(by_key[key], entry_id, fields) for key, entries in answer for entry_id, fields in entries]

    async def take_over(self, streams: Sequence[Stream], limit: int) -> list[Entry]:
        """
        Take over up to `limit` entries that others were given and never acknowledged in time.

        All streams are gone through once in a while, a bounded part at each call.
        """
        # What the last call left half done comes first.
        if not (due := sorted(self._searches.due(streams), key=lambda stream: stream.key != self._searching[0])):
            return []
        cursor = self._searching[1] if due[0].key == self._searching[0] else _START
        idle = int(self._redeliver_after.total_seconds() * 1000)
        found, done, cursor = await self._connection.script(
            "reclaim", keys_of(due), GROUP, self._consumer, idle, limit, cursor, PAGES
        )
        self._searches.done(due[:done])
        self._searching = (due[done].key, cursor) if done < len(due) else ("", _START)
        return from_script(due, found)

    async def _take(self, streams: Sequence[Stream], limit: int) -> tuple[list[Entry], bool]:
        turns = shares(self._turn, limit)
        found, missing = await self._connection.script(
            "take", keys_of(streams), GROUP, self._consumer, limit, *(turns[band] for band in URGENT_FIRST)
        )
        return from_script(streams, found), bool(missing)

    async def _make_groups(self, streams: Sequence[Stream]) -> None:
        """Make the group where it is missing, at 0: what was sent before anybody received must not be passed over."""

        async def make(client: Client) -> list[Any]:
            pipeline = client.pipeline(transaction=False)
            for stream in streams:
                pipeline.xgroup_create(stream.key, GROUP, id="0", mkstream=True)
                pipeline.expire(stream.key, self._stream_life)
            answers: list[Any] = await pipeline.execute(raise_on_error=False)
            for answer in answers:
                if isinstance(answer, Exception) and "BUSYGROUP" not in str(answer):
                    raise answer
            return answers

        await self._connection.run(make)
