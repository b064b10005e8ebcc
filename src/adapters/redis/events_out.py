"""The stream on which Tocsin tells others what it lets out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from redis.typing import EncodableT, FieldT

from ...domain.event import Event
from .connection import Connection
from .entries import Fields
from .event_entries import write
from .keys import Keys
from .urls import Client

KEPT: Final = 100_000
BATCH: Final = 500
BATCH_BYTES: Final = 4 * 1024 * 1024


class RedisEventExport:
    """
    Adds events in their order (`ports.event_streams.EventExport`); about the newest `kept` of them stay.

    Who reads them, from where on, and whether anybody does, is the readers' affair.
    """

    def __init__(self, connection: Connection, keys: Keys, *, kept: int = KEPT) -> None:
        self._connection = connection
        self._key = keys.facts
        self._kept = kept

    async def publish(self, events: Sequence[Event]) -> None:
        """Add events, some at a time; a failure leaves those before it added, and none behind it."""
        for batch in _batches([write(event) for event in events]):
            await self._add(batch)

    async def _add(self, batch: Sequence[Fields]) -> None:
        async def run(client: Client) -> None:
            pipeline = client.pipeline(transaction=False)
            for fields in batch:
                pipeline.xadd(self._key, cast("dict[FieldT, EncodableT]", fields), maxlen=self._kept, approximate=True)
            await pipeline.execute()

        await self._connection.run(run)


def _batches(entries: Sequence[Fields]) -> Iterator[Sequence[Fields]]:
    """Split so that each batch passes within a deadline."""
    batch: list[Fields] = []
    room = BATCH_BYTES
    for fields in entries:
        size = sum(len(name) + len(value) for name, value in fields.items())
        if batch and (len(batch) >= BATCH or size > room):
            yield batch
            batch, room = [], BATCH_BYTES
        batch.append(fields)
        room -= size
    if batch:
        yield batch
