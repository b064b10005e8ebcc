"""The executor: the loop that claims dispatched work, runs it under a lease, and writes how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from typing import Final
from uuid import UUID

from ..ports.clock import Clock
from ..ports.dispatcher import Dispatcher
from ..ports.handlers import Handlers
from ..ports.ledger import Hold, Ledger
from ..ports.telemetry import Metric, Telemetry
from .attempts import Attempts
from .bell import Bell
from .ends import Ends
from .figures import measure_claims, measure_starts
from .held_attempt import Disposition, HeldAttempt
from .journal import Journal

CAPACITY: Final = 200
CLAIM_BATCH: Final = 500
RECEIVE_WAIT: Final = 0.25
"""Seconds; dispatches wake the wait at once, so this is only how late a stop may be noticed."""

STUCK_SECONDS: Final = 5.0


@dataclass(slots=True, kw_only=True)
class Executor:
    """
    Runs what this process has handlers for, `capacity` handlers at a time.

    What has ended and is not written takes up places as well. Attempts that fired ahead of their time are claimed
    ahead too, and begin on their instant; and as many more as lately ended (`Pace`) wait here for a place. Three
    loops drive it: `run_once` takes work in, `Heartbeat` keeps or gives up leases, `Finisher` writes ends in batches.
    """

    ledger: Ledger
    dispatcher: Dispatcher
    handlers: Handlers
    clock: Clock
    telemetry: Telemetry
    worker_id: str
    capacity: InitVar[int]
    receive_wait: float = RECEIVE_WAIT
    finished: Bell = field(default_factory=Bell)
    retrying: Bell = field(default_factory=Bell)
    journal: Journal = field(init=False)
    ends: Ends = field(init=False)
    attempts: Attempts = field(init=False)
    _unanswered: dict[UUID, float] = field(default_factory=dict, init=False)
    _room: Bell = field(default_factory=Bell, init=False)

    def __post_init__(self, capacity: int) -> None:
        """Give handlers a journal on this node's clock, and their ends a place to wait in."""
        self.journal = Journal(self.clock.now)
        self.ends = Ends(
            ledger=self.ledger,
            dispatcher=self.dispatcher,
            telemetry=self.telemetry,
            journal=self.journal,
            bell=self.finished,
            written=self._room,
            retrying=self.retrying,
        )
        self.attempts = Attempts(
            handlers=self.handlers,
            clock=self.clock,
            telemetry=self.telemetry,
            journal=self.journal,
            ends=self.ends,
            room=self._room,
            capacity=capacity,
        )

    @property
    def holds(self) -> Mapping[Hold, HeldAttempt]:
        """The attempts whose handlers are not yet gone, those past their time-out included."""
        return self.attempts.running

    @property
    def running(self) -> int:
        """How many `holds` there are."""
        return len(self.attempts.running)

    @property
    def held(self) -> Collection[HeldAttempt]:
        """The attempts that are claimed, running, or whose end the ledger does not know yet."""
        return self.attempts.held

    @property
    def stuck(self) -> Sequence[HeldAttempt]:
        """Attempts that should have ended `STUCK_SECONDS` ago and whose handlers go on regardless."""
        before = self.clock.monotonic() - STUCK_SECONDS
        return [held for held in self.holds.values() if held.decided_at is not None and held.decided_at <= before]

    async def run_once(self) -> float | None:
        """Take in as much work as there is room for, and start it; waits a moment for the first piece."""
        await self._take_up_unanswered()
        self.attempts.begin_due()
        room = self.attempts.places()
        if room <= 0:
            await self._room.wait(self.receive_wait)
            return 0.0
        batch = await self.dispatcher.receive(
            capabilities=self.handlers.capabilities(), limit=min(room, CLAIM_BATCH), wait=self.receive_wait
        )
        if not batch:
            return 0.0
        sent = self.clock.monotonic()
        try:
            attempts = await self.ledger.claim([item.execution_id for item in batch], worker_id=self.worker_id)
        except Exception:
            self._unanswered |= {item.execution_id: sent for item in batch}
            # Kept, it would come again only once the pipe takes its receiver for dead.
            await self.ends.hand_on(batch)
            raise
        # What is claimed runs even if the pipe fails now: no other node could take it before its lease is gone.
        self.attempts.take_in(attempts, sent)
        measure_claims(self.telemetry, attempts)
        self._measure_starts()
        await self.dispatcher.acknowledge(batch)
        return 0.0

    async def _take_up_unanswered(self) -> None:
        """Start what claims got that were committed though no answer came, rather than let its leases lapse."""
        if not self._unanswered:
            return
        known = {held.attempt.execution_id for held in self.held}
        for attempt in await self.ledger.claimed(list(self._unanswered), worker_id=self.worker_id):
            if attempt.execution_id not in known:
                self.attempts.take_in([attempt], self._unanswered[attempt.execution_id])
        self._unanswered.clear()

    def _measure_starts(self) -> None:
        if begun := self.attempts.take_begun():
            measure_starts(self.telemetry, begun)

    async def flush(self) -> None:
        """Write what has ended by now; what the failing store does not take is kept (`Ends.flush`)."""
        await self.ends.flush()

    async def heartbeat(self) -> None:
        """Stop what was cancelled elsewhere, renew the leases that are due, give up those that are gone."""
        self.telemetry.gauge(Metric.RUNNING, self.running)
        self._measure_starts()
        self.fence()
        self.attempts.hand_back_waiting(overdue=True)
        self._wait_no_longer()
        # A lease that was given up must lapse, even while its handler ignores that: only then is it recovered.
        kept = [held for held in self.held if held.disposition is not Disposition.FENCED]
        if not kept:
            return
        now = self.clock.monotonic()
        if any(held.renewal_due <= now for held in kept):
            lost = await self.ledger.renew({held.hold: held.lease for held in kept}, worker_id=self.worker_id)
            for held in kept:
                held.renewed_at = now
        else:
            lost = await self.ledger.stopped([held.hold for held in kept])
        self.attempts.stop(lost)

    def _wait_no_longer(self) -> None:
        """Let the next attempt begin beside a handler that has ignored its time-out for a whole lease."""
        now = self.clock.monotonic()
        for held in self.holds.values():
            if held.deferred_until is not None and held.deferred_until <= now:
                self.attempts.write_deferred(held)

    def fence(self) -> None:
        """Stop attempts whose lease is gone by this node's own reckoning: a successor may be running."""
        self.attempts.fence()

    def hand_back_waiting(self) -> None:
        """Let other nodes have what has not begun here."""
        self.attempts.hand_back_waiting(overdue=False)

    async def drain(self, *, limit: float, grace: float) -> None:
        """
        Let running work finish for `limit` seconds, hand the rest back, and write everything down.

        What has not begun is handed back at once. Handlers that are asked to stop, and those that another attempt waits
        for, have `grace` seconds for it. What goes on regardless is handed back as well, since the process is about to
        end; what else ignores an earlier order to end is not waited for. A drain that was cancelled may be begun again.
        """
        self.hand_back_waiting()
        await self._until_decided(limit)
        for held in self.holds.values():
            self.attempts.decide(held, Disposition.HANDED_BACK)
        awaited = [
            held
            for held in self.holds.values()
            if held.disposition is Disposition.HANDED_BACK or held.deferred is not None
        ]
        if tasks := [held.task for held in awaited if held.task is not None]:
            await asyncio.wait(tasks, timeout=grace)
        for held in awaited:
            if held.hold in self.holds and held.disposition is Disposition.HANDED_BACK:
                self.attempts.hand_back(held)
            self.attempts.write_deferred(held)
        await self.flush()
        while self.ends.unwritten:
            await self.flush()

    async def _until_decided(self, seconds: float) -> None:
        """Wait until of every handler it is decided what becomes of it: by its end, a time-out, a cancellation."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(held.disposition is Disposition.RUNNING for held in self.holds.values()):
                    await self.attempts.decided.wait(None)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The agent that keeps an executor's leases and hears of cancellations, each second."""

    executor: Executor

    async def run_once(self) -> float | None:
        """Beat once."""
        await self.executor.heartbeat()
        return None


@dataclass(frozen=True, slots=True)
class Finisher:
    """The agent that writes an executor's ends as they come, as many at once as have gathered."""

    executor: Executor

    async def run_once(self) -> float | None:
        """Write what has gathered."""
        await self.executor.flush()
        return None


@dataclass(frozen=True, slots=True)
class Fence:
    """The agent that gives leases up in time even while the store does not answer: it asks only the clock."""

    executor: Executor

    async def run_once(self) -> float | None:
        """Look once."""
        self.executor.fence()
        return None
