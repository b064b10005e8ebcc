"""The dead letter: entries that came to nothing, kept for a person to look at the newest of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...ports.event_streams import Arrival
from .connection import Connection
from .event_entries import LARGEST_ENTRY
from .keys import Keys
from .urls import Client

KEPT: Final = 10_000
KEPT_BYTES: Final = 64 * 1024
"""Of an entry that was too large to be read; of all others everything is kept."""

AT_ONCE: Final = 20


class DeadEvents:
    """Copies entries from the stream of events as they lie there, so that a person may add them again."""

    def __init__(self, connection: Connection, keys: Keys) -> None:
        self._connection = connection
        self._stream = keys.events
        self._dead = keys.dead_events

    async def add(self, arrivals: Sequence[Arrival], reasons: Sequence[str]) -> None:
        """
        Add entries with their reasons; one that is gone from the stream has been dealt with, and is left out.

        Raises:
            DispatcherUnavailable: as for `Connection.run`; some may have been added.
        """
        for first in range(0, len(arrivals), AT_ONCE):
            await self._add_some(arrivals[first : first + AT_ONCE], reasons[first : first + AT_ONCE])

    async def _add_some(self, arrivals: Sequence[Arrival], reasons: Sequence[str]) -> None:
        ids = [arrival.id for arrival in arrivals]
        looked_at: Sequence[Sequence[bytes]] = await self._connection.script(
            "last_look", [self._stream], LARGEST_ENTRY, KEPT_BYTES, *ids
        )

        async def run(client: Client) -> None:
            pipeline = client.pipeline(transaction=False)
            for arrival, reason, fields in zip(arrivals, reasons, looked_at, strict=True):
                if fields:
                    pipeline.execute_command("XADD", self._dead, *_LIMIT, "*", *fields, *self._told(arrival, reason))
            await pipeline.execute()

        await self._connection.run(run)

    def _told(self, arrival: Arrival, reason: str) -> Sequence[str | int]:
        """Say what became of an entry, behind its own fields: those that have the same names are kept as well."""
        of_entry = ("entry", arrival.id, "stream", self._stream, "deliveries", arrival.deliveries)
        return ("reason", reason, *of_entry)


_LIMIT: Final = ("MAXLEN", "~", KEPT)
