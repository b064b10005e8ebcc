"""The relay and the exporter: the loops that take what the outbox lets out to event handlers, and to a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from ..domain.errors import InvalidEvent, Unavailable
from ..domain.event import Event, EventOrigin
from ..domain.facts import EVERY_FACT
from ..ports.clock import Clock
from ..ports.event_streams import EventExport
from ..ports.events import Outbox, Outgoing
from ..ports.telemetry import Telemetry
from .events import Events
from .turns import Turns

INTERVAL_SECONDS: Final = 0.5
LEASE: Final = timedelta(seconds=15)
"""Of the lock that has one node do it, so that what goes out keeps its order."""

BATCH: Final = 500
RELAY: Final = "relay"
EXPORT: Final = "export"
LISTENING: Final = timedelta(days=1)
"""For how long facts are kept for an export while no node runs."""

RENEWAL_SECONDS: Final = 60.0
PATIENCE: Final = 5
"""In how many rounds the store may take other events and not answer to one, before that is stepped over."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """
    One consumer's way through the outbox: at least once, in order.

    After a crash, or where two nodes overlap, some is taken again.
    """

    outbox: Outbox
    consumer: str
    telemetry: Telemetry
    _position: str | None = field(default=None, init=False)

    async def take(self, use: Callable[[Sequence[Event]], Awaitable[None]]) -> float | None:
        """Use one batch; answer 0 if there may be more. What raises is taken again."""
        if self._position is None:
            self._position = await self.outbox.progress(self.consumer)
        outgoing = await self._read()
        if not outgoing.events:
            self._position = outgoing.position
            return None
        await use(outgoing.events)
        await self.outbox.advance(self.consumer, outgoing.position)
        self._position = outgoing.position
        return 0.0

    async def _read(self) -> Outgoing:
        try:
            return await self.outbox.read(after=self._position, limit=BATCH)
        except InvalidEvent as error:
            # A node that knows nothing of this consumer has removed what it had yet to read.
            self.telemetry.error("outbox.gap", consumer=self.consumer, error=str(error))
            return await self.outbox.read(after=None, limit=BATCH)

    def forget(self) -> None:
        """Read anew how far it has come: another node may have gone on."""
        self._position = None


@dataclass(slots=True, kw_only=True)
class Relay:
    """
    Triggers what the outbox lets out: all that handlers publish, and facts that a handler's name matches.

    An event that cannot be taken is told of and stepped over: at once where it fails, and after `PATIENCE` rounds where
    the store does not answer to it and yet takes others. While it takes none, all of them wait.
    """

    outbox: Outbox
    events: Events
    telemetry: Telemetry
    _reading: Reading = field(init=False)
    _turns: Turns[Event] = field(init=False)
    _strikes: Counter[UUID] = field(default_factory=Counter, init=False)
    _lost: set[UUID] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        """Begin where the consumer of this name has come to."""
        self._reading = Reading(outbox=self.outbox, consumer=RELAY, telemetry=self.telemetry)
        self._turns = Turns(key=lambda event: event.id)

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
        if meant and (self._turns.late or not await self._trigger_together(meant)):
            await self._trigger_in_turns(meant)
        self._turns.forget()
        self._strikes.clear()
        self._lost.clear()

    def _concerns(self, event: Event) -> bool:
        return self.events.resolver.concerns(event)

    async def _trigger_together(self, events: Sequence[Event]) -> bool:
        try:
            await self.events.take(events)
        except Exception:  # noqa: BLE001 - each is tried alone: one event that cannot be taken must not hold up the rest
            return False
        return True

    async def _trigger_in_turns(self, events: Sequence[Event]) -> None:
        """
        Take events one by one.

        Raises:
            Unavailable: the store did not answer to some, which are to be taken again.
        """
        done = await self._turns.take([event for event in events if event.id not in self._lost], self._trigger_alone)
        # Otherwise nothing tells these from what comes when the store is away.
        is_answering = any(is_taken for _, is_taken in done.taken)
        for event in done.missed if is_answering else ():
            self._strikes[event.id] += 1
            if self._strikes[event.id] >= PATIENCE:
                self._lose(event, done.error)
        if done.error is not None and not self._lost.issuperset(event.id for event in (*done.missed, *done.waiting)):
            raise done.error

    async def _trigger_alone(self, event: Event) -> bool:
        """Take one event, or tell that it is lost."""
        try:
            await self.events.take([event])
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            self._lose(event, error)
            return False
        return True

    def _lose(self, event: Event, error: Exception | None) -> None:
        self._lost.add(event.id)
        self.telemetry.error("event.lost", event_id=str(event.id), name=event.name, exc_info=error)


@dataclass(slots=True, kw_only=True)
class Exporter:
    """Tells others what the outbox lets out, over a stream; while that is away, it waits, and nothing is lost."""

    outbox: Outbox
    export: EventExport
    clock: Clock
    telemetry: Telemetry
    _reading: Reading = field(init=False)
    _listened_at: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Begin where the consumer of this name has come to."""
        self._reading = Reading(outbox=self.outbox, consumer=EXPORT, telemetry=self.telemetry)

    async def run_once(self) -> float | None:
        """Keep listening to facts, and take one batch out; answer 0 if there may be more."""
        now = self.clock.monotonic()
        if self._listened_at is None or now - self._listened_at >= RENEWAL_SECONDS:
            await self.outbox.listen(EXPORT, tenant_id=None, pattern=EVERY_FACT, lease=LISTENING)
            self._listened_at = now
        return await self._reading.take(self.export.publish)

    def forget(self) -> None:
        """Read anew how far it has come: another node may have gone on."""
        self._reading.forget()
        self._listened_at = None
