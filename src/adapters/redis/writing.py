"""How entries go into the streams, and out of them for good."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, cast

from redis.typing import EncodableT, FieldT

from ...domain.bands import band_of
from ...ports.dispatcher import Dispatch
from .connection import Connection
from .entries import Entry, Fields, write
from .keys import GROUP, Keys, Stream
from .urls import Client

BATCH: Final = 1_000
UNREADABLE_KEPT: Final = 1_000


class Writer:
    """Appends and deletes in batches, each command on its own: half a batch is better than none."""

    def __init__(self, connection: Connection, keys: Keys, *, stream_life: timedelta) -> None:
        self._connection = connection
        self._keys = keys
        self._stream_life = stream_life

    async def send(self, batch: Sequence[Dispatch]) -> None:
        """Append dispatches to their streams."""
        await self._append(
            [(self._keys.stream(band_of(each.priority), each.capability), write(each)) for each in batch]
        )

    async def send_again(self, entries: Sequence[Entry]) -> None:
        """Give back what was taken: it goes to the end of its stream."""
        await self._append([(entry.stream, entry.fields) for entry in entries])
        await self.delete(entries)

    async def delete(self, entries: Iterable[Entry]) -> None:
        """Delete entries that were delivered, together with the note that they are pending."""
        ids: defaultdict[str, list[bytes]] = defaultdict(list)
        for entry in entries:
            ids[entry.stream.key].append(entry.id)
        if not ids:
            return

        async def run(client: Client) -> None:
            pipeline = client.pipeline(transaction=False)
            for key, some in ids.items():
                pipeline.xack(key, GROUP, *some)
                pipeline.xdel(key, *some)
            await pipeline.execute()

        await self._connection.run(run)

    async def set_aside(self, entries: Sequence[Entry]) -> None:
        """Move entries that nobody can read to where a person may look at the newest of them."""

        async def run(client: Client) -> None:
            pipeline = client.pipeline(transaction=False)
            for entry in entries:
                fields = {**entry.fields, b"stream": entry.stream.key.encode(), b"entry": entry.id}
                pipeline.xadd(self._keys.unreadable, _addable(fields), maxlen=UNREADABLE_KEPT)
            # Kept or not, they must be gone: they would come back for ever.
            await pipeline.execute(raise_on_error=False)

        await self._connection.run(run)
        await self.delete(entries)

    async def _append(self, entries: Sequence[tuple[Stream, Fields]]) -> None:
        for first in range(0, len(entries), BATCH):
            await self._append_some(entries[first : first + BATCH])

    async def _append_some(self, entries: Sequence[tuple[Stream, Fields]]) -> None:
        async def run(client: Client) -> None:
            pipeline = client.pipeline(transaction=False)
            for stream, fields in entries:
                pipeline.xadd(stream.key, _addable(fields))
            for stream in {stream for stream, _ in entries}:
                pipeline.expire(stream.key, self._stream_life)
            await pipeline.execute()

        await self._connection.run(run)


def _addable(fields: Fields) -> dict[FieldT, EncodableT]:
    """Say what redis-py wants to hear: its fields are of an invariant type."""
    return cast("dict[FieldT, EncodableT]", fields)
