"""The executor: the loop that claims dispatched work, runs it under a lease, and writes how it ended."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from ..domain.attempt import Attempt, Finish, Outcome, hand_back, settle
from ..domain.execution import ExecutionStatus
from ..ports.clock import Clock
from ..ports.dispatcher import Dispatcher
from ..ports.handlers import HandlerContext, Handlers
from ..ports.ledger import Hold, Ledger
from ..ports.telemetry import Metric, Telemetry
from .bell import Bell
from .ends import Ends
from .figures import measure_claims
from .held_attempt import Disposition, HeldAttempt
from .journal import Journal
from .outcomes import failure, outcome_of, timeout
from .running import run
from .spans import attempt_trace

CAPACITY: Final = 200
RECEIVE_WAIT: Final = 0.25
"""Seconds; dispatches wake the wait at once, so this is only how late a stop may be noticed."""

STUCK_SECONDS: Final = 5.0


@dataclass(slots=True, kw_only=True)
class Executor:
    """
    Runs what this process has handlers for, `capacity` attempts at a time, those whose end is unwritten included.

    Three loops drive it: `run_once` takes work in, `Heartbeat` keeps or gives up leases, `Finisher` writes
    ends in batches. A handler's task that has ended is the only sign that its work has really ended.
    """

    ledger: Ledger
    dispatcher: Dispatcher
    handlers: Handlers
    clock: Clock
    telemetry: Telemetry
    worker_id: str
    capacity: int = CAPACITY
    receive_wait: float = RECEIVE_WAIT
    holds: dict[Hold, HeldAttempt] = field(default_factory=dict)
    finished: Bell = field(default_factory=Bell)
    retrying: Bell = field(default_factory=Bell)
    journal: Journal = field(init=False)
    ends: Ends = field(init=False)
    _unanswered: dict[UUID, float] = field(default_factory=dict, init=False)
    _room: Bell = field(default_factory=Bell, init=False)

    def __post_init__(self) -> None:
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

    @property
    def running(self) -> int:
        """How many handlers are not yet gone, those past their time-out included."""
        return len(self.holds)

    @property
    def held(self) -> Collection[HeldAttempt]:
        """The attempts that are running, or whose end the ledger does not know yet."""
        return {held.hold: held for held in (*self.ends.held, *self.holds.values())}.values()

    @property
    def stuck(self) -> Sequence[HeldAttempt]:
        """Attempts that should have ended `STUCK_SECONDS` ago and whose handlers go on regardless."""
        before = self.clock.monotonic() - STUCK_SECONDS
        return [held for held in self.holds.values() if held.decided_at is not None and held.decided_at <= before]

    async def run_once(self) -> float | None:
        """Take in as much work as there is room for, and start it; waits a moment for the first piece."""
        await self._take_up_unanswered()
        room = self.capacity - len(self.held)
        if room <= 0:
            await self._room.wait(self.receive_wait)
            return 0.0
        batch = await self.dispatcher.receive(
            capabilities=self.handlers.capabilities(), limit=room, wait=self.receive_wait
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
        for attempt in attempts:
            self._start(attempt, sent)
        measure_claims(self.telemetry, attempts)
        await self.dispatcher.acknowledge(batch)
        return 0.0

    async def _take_up_unanswered(self) -> None:
        """Start what claims got that were committed though no answer came, rather than let its leases lapse."""
        if not self._unanswered:
            return
        known = {held.attempt.execution_id for held in self.held}
        for attempt in await self.ledger.claimed(list(self._unanswered), worker_id=self.worker_id):
            if attempt.execution_id not in known:
                self._start(attempt, self._unanswered[attempt.execution_id])
        self._unanswered.clear()

    def _start(self, attempt: Attempt, sent: float) -> None:
        held = HeldAttempt(attempt=attempt, started=self.clock.monotonic(), renewed_at=sent)
        if self._is_fenced(held):
            return
        try:
            handler = self.handlers.resolve(attempt.handler_type, attempt.handler_name)
            context = self._context(held)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a handler is its execution's failure
            held.end(Disposition.ENDED, self.clock.monotonic())
            self._settle(held, failure(error, 0))
            return
        self.holds[held.hold] = held
        loop = asyncio.get_running_loop()
        held.task = loop.create_task(run(handler, context, held=held, telemetry=self.telemetry))
        held.deadline = loop.call_later(attempt.timeout_ms / 1000, self._time_out, held)
        held.task.add_done_callback(lambda task: self._ended(held, task))

    def _context(self, held: HeldAttempt) -> HandlerContext:
        attempt = held.attempt
        return HandlerContext(
            execution_id=attempt.execution_id,
            job_id=attempt.job_id,
            job_name=attempt.job_name,
            tenant_id=attempt.tenant_id,
            handler_name=attempt.handler_name,
            attempt=attempt.attempt,
            scheduled_at=attempt.scheduled_at,
            deadline=attempt.started_at + timedelta(milliseconds=attempt.timeout_ms),
            payload=attempt.payload,
            idempotency_key=attempt.idempotency_key or str(attempt.execution_id),
            logger=self.journal.logger_of(attempt),
            cancellation=held.cancellation,
            report_progress=self.journal.reporter_of(attempt),
            event_id=attempt.event_id,
            trace=attempt_trace(attempt),
        )

    def _time_out(self, held: HeldAttempt) -> None:
        if not held.end(Disposition.TIMED_OUT, self.clock.monotonic()):
            return
        finish = self._finish(held, timeout(held.attempt.timeout_ms, self._elapsed_ms(held)))
        if finish.status is ExecutionStatus.PENDING:
            # The next attempt would use the slot that this handler still fills.
            held.deferred = finish
        else:
            self.ends.add(finish, held)

    def _write_deferred(self, held: HeldAttempt) -> None:
        if held.deferred is not None:
            self.ends.add(held.deferred, held)
            held.deferred = None

    def _ended(self, held: HeldAttempt, task: asyncio.Task[object]) -> None:
        del self.holds[held.hold]
        self._room.ring()
        ended_by_itself = held.end(Disposition.ENDED, self.clock.monotonic())
        # Asking for the exception also keeps asyncio from reporting one that no longer matters.
        succeeded = not task.cancelled() and task.exception() is None
        if ended_by_itself or (held.disposition is Disposition.HANDED_BACK and succeeded):
            self._settle(held, outcome_of(task, self._elapsed_ms(held)))
        elif held.disposition is Disposition.HANDED_BACK:
            self._hand_back(held)
        elif held.deferred is not None:
            self._write_deferred(held)
        else:
            self.ends.free(held)

    def _elapsed_ms(self, held: HeldAttempt) -> int:
        return int((self.clock.monotonic() - held.started) * 1000)

    def _settle(self, held: HeldAttempt, outcome: Outcome) -> None:
        self.ends.add(self._finish(held, outcome), held)

    def _finish(self, held: HeldAttempt, outcome: Outcome) -> Finish:
        return settle(held.attempt, outcome, chance=random.random())  # noqa: S311 - spreads retries, guards nothing

    def _hand_back(self, held: HeldAttempt) -> None:
        # By the store's clock, which an attempt began by: this node's may be hours away from it.
        now = held.attempt.started_at + timedelta(milliseconds=self._elapsed_ms(held))
        self.ends.add(hand_back(held.attempt, now), held)

    async def flush(self) -> None:
        """Write what has ended by now; what the failing store does not take is kept (`Ends.flush`)."""
        await self.ends.flush()

    async def heartbeat(self) -> None:
        """Stop what was cancelled elsewhere, renew the leases that are due, give up those that are gone."""
        self.telemetry.gauge(Metric.RUNNING, self.running)
        self.fence()
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
        for held in [self.holds[hold] for hold in lost if hold in self.holds]:
            held.end(Disposition.STOPPED, self.clock.monotonic())

    def _wait_no_longer(self) -> None:
        """Let the next attempt begin beside a handler that has ignored its time-out for a whole lease."""
        now = self.clock.monotonic()
        for held in self.holds.values():
            if held.deferred_until is not None and held.deferred_until <= now:
                self._write_deferred(held)

    def fence(self) -> None:
        """Stop attempts whose lease is gone by this node's own reckoning: a successor may be running."""
        for held in self.holds.values():
            self._is_fenced(held)

    def _is_fenced(self, held: HeldAttempt) -> bool:
        """Give an attempt up if its lease is gone; answers whether it was given up now."""
        if held.lease_until > self.clock.monotonic() or not held.end(Disposition.FENCED, self.clock.monotonic()):
            return False
        execution_id, attempt = held.hold
        self.telemetry.warning("execution.fenced", execution_id=str(execution_id), attempt=attempt)
        self.telemetry.add(Metric.LEASE_LOSSES, seen="fenced")
        return True

    async def drain(self, *, limit: float, grace: float) -> None:
        """
        Let running work finish for `limit` seconds, hand the rest back, and write everything down.

        Handlers that are asked to stop, and those that another attempt waits for, have `grace` seconds for it.
        What goes on regardless is handed back as well, since the process is about to end; what else ignores an
        earlier order to end is not waited for. A drain that was cancelled may be begun again.
        """
        await self._until_decided(limit)
        for held in self.holds.values():
            held.end(Disposition.HANDED_BACK, self.clock.monotonic())
        awaited = [
            held
            for held in self.holds.values()
            if held.disposition is Disposition.HANDED_BACK or held.deferred is not None
        ]
        if tasks := [held.task for held in awaited if held.task is not None]:
            await asyncio.wait(tasks, timeout=grace)
        for held in awaited:
            if held.hold in self.holds and held.disposition is Disposition.HANDED_BACK:
                self._hand_back(held)
            self._write_deferred(held)
        await self.flush()
        while self.ends.unwritten:
            await self.flush()

    async def _until_decided(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for held in list(self.holds.values()):
                    await held.decided.wait()


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
