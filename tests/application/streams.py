"""A stream of events in memory, on which time passes only when a test says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tocsin.domain.errors import DispatcherUnavailable
from tocsin.domain.event import EventOrigin, NewEvent
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.ports.event_streams import Arrival


class MemoryStream:
    """What is received stays in its receiver's hands until it is acknowledged, or `lapse` has it come again."""

    def __init__(self) -> None:
        self.entries: dict[str, Arrival] = {}
        self.dead: list[tuple[Arrival, str]] = []
        self.down: set[str] = set()
        self._held: set[str] = set()

    def add(
        self, name: str = "order.created", *, key: str | None = None, malformed: str | None = None, tenant: str = ""
    ) -> str:
        """Add an entry; answer its id."""
        number = f"1-{len(self.entries) + len(self.dead)}"
        event = NewEvent(name=name, idempotency_key=key or number, origin=EventOrigin.STREAM)
        self.entries[number] = Arrival(
            id=number,
            deliveries=0,
            tenant_id=tenant or DEFAULT_TENANT,
            event=None if malformed else event,
            malformed=malformed,
        )
        return number

    def lapse(self) -> None:
        """Let what is held come again."""
        self._held.clear()

    async def receive(self, *, limit: int, wait: float) -> Sequence[Arrival]:
        self._answer("receive")
        assert wait >= 0
        free = [entry for entry in self.entries.values() if entry.id not in self._held][:limit]
        handed_out = [replace(entry, deliveries=entry.deliveries + 1) for entry in free]
        self.entries |= {entry.id: entry for entry in handed_out}
        self._held |= {entry.id for entry in handed_out}
        return handed_out

    async def acknowledge(self, arrivals: Sequence[Arrival]) -> None:
        self._answer("acknowledge")
        for arrival in arrivals:
            self.entries.pop(arrival.id, None)

    async def set_aside(self, arrivals: Sequence[Arrival], reasons: Sequence[str]) -> None:
        self._answer("set_aside")
        self.dead += zip(arrivals, reasons, strict=True)
        for arrival in arrivals:
            del self.entries[arrival.id]

    def _answer(self, name: str) -> None:
        if name in self.down:
            raise DispatcherUnavailable(f"{name} did not get through")
