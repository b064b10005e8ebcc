"""The arrivals: the loop that takes events from a stream which any service may add to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ..domain.errors import InvalidEvent, TocsinError, Unavailable
from ..domain.json import clean_text
from ..ports.event_streams import Arrival, EventIntake
from ..ports.events import HandlersChanged
from ..ports.telemetry import Metric, Telemetry
from .events import Events
from .noted_fan_out import NotedFanOut
from .turns import Turns

BATCH: Final = 200
MOST_DELIVERIES: Final = 5
"""How often an event may be handed out before it is set aside."""

RECEIVE_WAIT: Final = 0.25
"""Seconds; events wake the wait at once, so this is only how late a stop may be noticed."""

REASON_LIMIT: Final = 1024


@dataclass(slots=True, kw_only=True)
class Arrivals:
    """
    Triggers what arrives, and acknowledges it once all that it does is committed.

    So an event comes at least once, and its idempotency key has it happen once. What can never be an event is set
    aside at once; what fails is left to come again, to any node, and set aside when it has come `MOST_DELIVERIES`
    times. While the store does not answer nothing is received, and what was is kept: an outage, however long, counts
    as no failure. An event to which alone the store does not answer, while it takes others, has failed.
    """

    intake: EventIntake
    events: Events
    telemetry: Telemetry
    receive_wait: float = RECEIVE_WAIT
    _waiting: Sequence[Arrival] = field(default=(), init=False)
    _done: Sequence[Arrival] = field(default=(), init=False)
    _turns: Turns[Arrival] = field(init=False)

    def __post_init__(self) -> None:
        """Know entries by their ids."""
        self._turns = Turns(key=lambda arrival: arrival.id)

    async def run_once(self) -> float | None:
        """
        Take one batch in; waits a moment for the first.

        Raises:
            Unavailable: the store or the stream did not answer; the next round goes on with what is left.
        """
        await self._acknowledge()
        if self._waiting:
            await self._knock()
        room = BATCH - len(self._waiting)
        more = await self.intake.receive(limit=room, wait=self.receive_wait) if room else ()
        batch, is_again = [*self._waiting, *more], bool(self._waiting)
        self._waiting = batch
        dealt_with = await (self._in_turns(batch) if is_again else self._together(batch))
        self._waiting = [arrival for arrival, answer in dealt_with if isinstance(answer, _UNANSWERED)]
        self._done = [arrival for arrival, answer in dealt_with if answer is None]
        await self._acknowledge()
        await self._set_aside([(arrival, answer) for arrival, answer in dealt_with if isinstance(answer, str)])
        for _, answer in dealt_with:
            if isinstance(answer, Unavailable):
                raise answer
        return 0.0

    async def _knock(self) -> None:
        """
        Ask the store for what storing events asks it for, without any.

        Raises:
            StoreUnavailable: it is away, so nothing that waits is to blame.
        """
        with suppress(HandlersChanged):
            revision = await self.events.resolver.revision()
            await self.events.store.trigger((), NotedFanOut(self.events.planning), revision=revision)

    async def _together(self, batch: Sequence[Arrival]) -> Sequence[_DealtWith]:
        # Each by itself, so that one's failure is no other's; they are stored together all the same (`Intake`).
        answers = await asyncio.gather(*map(self._deal_with, batch), return_exceptions=True)
        return list(zip(batch, answers, strict=True))

    async def _in_turns(self, batch: Sequence[Arrival]) -> Sequence[_DealtWith]:
        """Deal with arrivals one after another, because the store did not answer to some of them together."""
        done = await self._turns.take(batch, self._answered)
        if done.error is None:
            return done.taken
        is_answering = any(answer is None for _, answer in done.taken)
        missed = [
            (arrival, self._missed(arrival, done.error) if is_answering else done.error) for arrival in done.missed
        ]
        return [*done.taken, *missed, *((arrival, done.error) for arrival in done.waiting)]

    async def _answered(self, arrival: Arrival) -> str | BaseException | None:
        # What is cancelled below is not this loop.
        [answer] = await asyncio.gather(self._deal_with(arrival), return_exceptions=True)
        if isinstance(answer, Unavailable):
            raise answer
        return answer

    def _missed(self, arrival: Arrival, error: Unavailable) -> str | BaseException:
        """Count it as a failure of an event that the store does not answer to it and takes others."""
        self._tell(arrival, error)
        if arrival.deliveries < MOST_DELIVERIES:
            return _Missed(arrival.id)
        return f"failed {arrival.deliveries} times: the store takes other events, and too long for this one"

    async def _deal_with(self, arrival: Arrival) -> str | None:
        """
        Trigger one event; answer why it is to be set aside, or None.

        Raises:
            Exception: whatever went wrong; the event is to come again.
        """
        if arrival.event is None:
            return f"malformed: {arrival.malformed}"
        if arrival.deliveries > MOST_DELIVERIES:
            return f"came {MOST_DELIVERIES} times and nobody lived to say what became of it"
        try:
            await self.events.accept(arrival.tenant_id, [arrival.event])
        except InvalidEvent as error:
            return f"malformed: {error.message}"
        except Unavailable:
            raise
        except Exception as error:
            self._tell(arrival, error)
            if arrival.deliveries < MOST_DELIVERIES:
                raise
            return f"failed {arrival.deliveries} times: {_reason(error)}"
        return None

    async def _acknowledge(self) -> None:
        """Say which events happened; where that does not get through, the next round says it again."""
        if self._done:
            await self.intake.acknowledge(self._done)
            self._done = ()

    async def _set_aside(self, hopeless: Sequence[tuple[Arrival, str]]) -> None:
        if not hopeless:
            return
        reasons = [clean_text(reason, limit=REASON_LIMIT) for _, reason in hopeless]
        await self.intake.set_aside([arrival for arrival, _ in hopeless], reasons)
        self.telemetry.add(Metric.EVENTS, len(hopeless), outcome="set_aside")
        newest, _ = hopeless[-1]
        self.telemetry.warning("events.set_aside", entries=len(hopeless), newest=newest.id, reason=reasons[-1])

    def _tell(self, arrival: Arrival, error: Exception) -> None:
        self.telemetry.warning(
            "event.failed",
            entry=arrival.id,
            deliveries=arrival.deliveries,
            error=f"{type(error).__name__}: {error}",
            exc_info=error,
        )


_DealtWith: TypeAlias = tuple[Arrival, str | BaseException | None]
"""An arrival with why it is to be set aside, or what went wrong, or None."""


class _Missed(Exception):
    """An event is to come again, because the store did not answer to it in time."""


_UNANSWERED: Final = (Unavailable, asyncio.CancelledError)
"""After these nobody knows whether an event was stored; its key tells when it is triggered again."""


def _reason(error: Exception) -> str:
    """Say what publishers may read: a driver's words are only for the log."""
    return error.message if isinstance(error, TocsinError) else f"unexpected {type(error).__name__}; the log says more"
