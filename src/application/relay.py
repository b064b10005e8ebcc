"""The relay and the exporter: the loops that take what the outbox lets out to event handlers, and to a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from ..domain.errors import Unavailable
from ..domain.event import Event, EventOrigin
from ..ports.clock import Clock
from ..ports.event_streams import EventExport
from ..ports.events import Outbox
from ..ports.telemetry import Telemetry
from .events import Events

INTERVAL_SECONDS: Final = 0.5
LEASE: Final = timedelta(seconds=15)
"""Of the lock that has one node do it, so that what goes out keeps its order."""

BATCH: Final = 500
FACTS: Final = "tocsin.**"
LISTENING: Final = timedelta(days=1)
"""For how long facts are kept for an export while no node runs."""

RENEWAL_SECONDS: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Reading:
    """
    One consumer's way through the outbox: at least once, in order.

    After a crash, or where two nodes overlap, some is taken again.
    """

    outbox: Outbox
    consumer: str
    _position: str | None = field(default=None, init=False)

    async def take(self, use: Callable[[Sequence[Event]], Awaitable[None]]) -> float | None:
        """Use one batch; answer 0 if there may be more. What raises is taken again."""
        if self._position is None:
            self._position = await self.outbox.progress(self.consumer)
        outgoing = await self.outbox.read(after=self._position, limit=BATCH)
        if not outgoing.events:
            return None
        await use(outgoing.events)
        await self.outbox.advance(self.consumer, outgoing.position)
        self._position = outgoing.position
        return 0.0

    def forget(self) -> None:
        """Read anew how far it has come: another node may have gone on."""
        self._position = None


@dataclass(slots=True, kw_only=True)
class Relay:
    """Triggers what the outbox lets out: all that handlers publish, and facts that a handler's name matches."""

    outbox: Outbox
    events: Events
    telemetry: Telemetry
    _reading: Reading = field(init=False)

    def __post_init__(self) -> None:
        """Begin where the consumer of this name has come to."""
        self._reading = Reading(outbox=self.outbox, consumer="relay")

    async def run_once(self) -> float | None:
        """Take one batch out; answer 0 if there may be more."""
        return await self._reading.take(self._trigger)

    def forget(self) -> None:
        """Read anew how far it has come: another node may have gone on."""
        self._reading.forget()

    async def _trigger(self, events: Sequence[Event]) -> None:
        # A handler that listens since before a fact was made is in the registry as it is now.
        await self.events.resolver.revision(afresh=True)
        meant = [event for event in events if event.origin is EventOrigin.PUBLISH or self._concerns(event)]
        if not meant:
            return
        try:
            await self.events.take(meant)
        except Unavailable:
            raise
        except Exception:  # noqa: BLE001 - told of below: one event that cannot be taken must not hold up the rest
            for event in meant:
                await self._trigger_alone(event)

    def _concerns(self, event: Event) -> bool:
        return self.events.resolver.concerns(event)

    async def _trigger_alone(self, event: Event) -> None:
        try:
            await self.events.take([event])
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            self.telemetry.error("event.lost", event_id=str(event.id), name=event.name, exc_info=error)


@dataclass(slots=True, kw_only=True)
class Exporter:
    """Tells others what the outbox lets out, over a stream; while that is away, it waits, and nothing is lost."""

    outbox: Outbox
    export: EventExport
    clock: Clock
    _reading: Reading = field(init=False)
    _listened_at: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Begin where the consumer of this name has come to."""
        self._reading = Reading(outbox=self.outbox, consumer="export")

    async def run_once(self) -> float | None:
        """Keep listening to facts, and take one batch out; answer 0 if there may be more."""
        now = self.clock.monotonic()
        if self._listened_at is None or now - self._listened_at >= RENEWAL_SECONDS:
            await self.outbox.listen("export", tenant_id=None, pattern=FACTS, lease=LISTENING)
            self._listened_at = now
        return await self._reading.take(self.export.publish)

    def forget(self) -> None:
        """Read anew how far it has come: another node may have gone on."""
        self._reading.forget()
        self._listened_at = None
