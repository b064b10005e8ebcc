"""The attempts that this node holds, from their claim until the ledger knows how they ended."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from ..domain.attempt import Attempt, Finish, Outcome, hand_back, settle
from ..domain.execution import ExecutionStatus
from ..ports.clock import Clock
from ..ports.handlers import Handlers
from ..ports.ledger import Hold
from ..ports.telemetry import Metric, Telemetry
from .alarm import Alarm, call_in
from .bell import Bell
from .claimed import Claimed, Pace
from .ends import Ends
from .held_attempt import Disposition, HeldAttempt
from .journal import Journal
from .outcomes import failure, outcome_of, timeout
from .running import run
from .store_time import StoreTime

TIMED_AFTER: Final = 0.05
"""Seconds that a handler may run before a timer is set for its time-out: most are gone by then, and never need one."""

NEGLIGIBLE_SECONDS: Final = 0.001
"""A start this much later than the claim said is what the claim said."""


@dataclass(slots=True, kw_only=True)
class Attempts:
    """
    Begins handlers, `capacity` at a time, and turns their ends into what is written.

    What was claimed begins on its instant, and once there is a place. A handler's task that has ended is the only sign
    that its work has really ended; `room` rings when one has, and `decided` when it is decided what becomes of one.
    """

    handlers: Handlers
    clock: Clock
    telemetry: Telemetry
    journal: Journal
    ends: Ends
    room: Bell
    capacity: int
    decided: Bell = field(default_factory=Bell, init=False)
    running: dict[Hold, HeldAttempt] = field(default_factory=dict, init=False)
    _claimed: Claimed = field(default_factory=Claimed, init=False)
    _pace: Pace = field(default_factory=Pace, init=False)
    _begun: list[Attempt] = field(default_factory=list, init=False)
    _untimed: list[HeldAttempt] = field(default_factory=list, init=False)
    _store_time: StoreTime = field(default_factory=StoreTime, init=False)
    _alarm: Alarm = field(init=False)

    def __post_init__(self) -> None:
        self._alarm = Alarm(clock=self.clock, ring=self._begin_due_at)

    @property
    def held(self) -> Collection[HeldAttempt]:
        """All that is claimed, running, or whose end the ledger does not know yet."""
        return {held.hold: held for held in (*self.ends.held, *self._claimed, *self.running.values())}.values()

    def places(self) -> int:
        """
        Tell how many attempts may be claimed now.

        Those whose end is unwritten take up places too. Those whose instant is to come do not, `capacity` of them, so
        that nobody waits while nothing runs.
        """
        taken = len(self.running) + self._claimed.waiting + self.ends.unwritten
        early = max(0, self._claimed.coming - self.capacity)
        return self.capacity + self._pace.ahead(self.clock.monotonic(), self.ends.ended) - taken - early

    def take_begun(self) -> Sequence[Attempt]:
        """Give, once, the attempts whose handlers have begun."""
        begun, self._begun = self._begun, []
        return begun

    def take_in(self, attempts: Sequence[Attempt], sent: float) -> None:
        """Hold attempts whose claim was sent at `sent`, and begin those that may begin."""
        now = self.clock.monotonic()
        for attempt in attempts:
            held = HeldAttempt(
                attempt=attempt,
                hold=(attempt.execution_id, attempt.attempt),
                begins_at=self._begins_at(attempt, now),
                started=now,
                renewed_at=sent,
            )
            self._claimed.add(held, now)
        self._begin_due_at(now)

    def _begins_at(self, attempt: Attempt, now: float) -> float:
        """Tell when an attempt of which the store told `now` may begin: at its time as `StoreTime` knows it."""
        told = attempt.claimed_at
        if told is None or attempt.started_at <= told:
            return now
        return max(now, self._store_time.learn(told, now) + attempt.started_at.timestamp())

    def begin_due(self) -> None:
        """Begin what may begin by now."""
        self._begin_due_at(self.clock.monotonic())

    def _begin_due_at(self, now: float) -> None:
        """Begin what may begin by `now`, as far as there are places, and come back at the next instant."""
        self._claimed.ripen(now)
        while len(self.running) < self.capacity and (held := self._claimed.take()) is not None:
            self._begin(held, now)
        instant = self._claimed.next_instant
        if instant is not None and instant < self._alarm.instant:
            self._alarm.at(instant)

    def _begin(self, held: HeldAttempt, now: float) -> None:
        if self.is_fenced(held):
            return
        late = now - held.begins_at
        if late > NEGLIGIBLE_SECONDS:
            held.attempt.started_at += timedelta(seconds=late)
        held.started = now
        attempt = held.attempt
        try:
            handler = self.handlers.resolve(attempt.definition.handler_type, attempt.definition.handler_name)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a handler is its execution's failure
            self.decide(held, Disposition.ENDED)
            self._settle(held, failure(error, 0))
            return
        self.running[held.hold] = held
        self._begun.append(attempt)
        task = asyncio.get_running_loop().create_task(
            run(handler, held=held, records=self.journal, telemetry=self.telemetry)
        )
        held.task = task
        task.add_done_callback(partial(self._ended, held))
        self._set_timer(held)

    def _set_timer(self, held: HeldAttempt) -> None:
        """See to it that a handler is timed out: by a timer of its own, unless it is gone before it would need one."""
        seconds = held.attempt.definition.timeout_ms / 1000
        if seconds <= TIMED_AFTER:
            held.deadline = call_in(seconds, partial(self._time_out, held))
            return
        if not self._untimed:
            call_in(TIMED_AFTER, self._set_timers)
        self._untimed.append(held)

    def _set_timers(self) -> None:
        untimed, self._untimed = self._untimed, []
        now = self.clock.monotonic()
        for held in untimed:
            if not held.is_gone and held.disposition is Disposition.RUNNING:
                held.deadline = call_in(held.times_out_at - now, partial(self._time_out, held))

    def _time_out(self, held: HeldAttempt) -> None:
        if not self.decide(held, Disposition.TIMED_OUT):
            return
        finish = self._finish(held, timeout(held.attempt.definition.timeout_ms, self._elapsed_ms(held)))
        if finish.status is ExecutionStatus.PENDING:
            # The next attempt would use the slot that this handler still fills.
            held.deferred = finish
        else:
            self.ends.add(finish, held)

    def write_deferred(self, held: HeldAttempt) -> None:
        """Write an end that waited for its handler to go."""
        if held.deferred is not None:
            self.ends.add(held.deferred, held)
            held.deferred = None

    def _ended(self, held: HeldAttempt, task: asyncio.Task[object]) -> None:
        del self.running[held.hold]
        self.room.ring()
        ended_by_itself = self.decide(held, Disposition.ENDED)
        # Asking for the exception also keeps asyncio from reporting one that no longer matters.
        succeeded = not task.cancelled() and task.exception() is None
        if ended_by_itself or (held.disposition is Disposition.HANDED_BACK and succeeded):
            self._settle(held, outcome_of(task, self._elapsed_ms(held)))
        elif held.disposition is Disposition.HANDED_BACK:
            self.hand_back(held)
        elif held.deferred is not None:
            self.write_deferred(held)
        else:
            self.ends.free(held)
        # A task that failed holds its frames, and these hold what holds the task.
        held.task = None
        if self._claimed:
            self.begin_due()

    def _settle(self, held: HeldAttempt, outcome: Outcome) -> None:
        self.ends.add(self._finish(held, outcome), held)

    def _finish(self, held: HeldAttempt, outcome: Outcome) -> Finish:
        return settle(held.attempt, outcome, chance=random.random())  # noqa: S311 - spreads retries, guards nothing

    def hand_back(self, held: HeldAttempt) -> None:
        """Write that the work of an attempt goes to another, begun or not."""
        self.ends.add(hand_back(held.attempt, self._now_for(held), begun=held.task is not None), held)

    def _now_for(self, held: HeldAttempt) -> datetime:
        """Tell the time by the store's clock, which claimed the attempt: this node's may be hours away from it."""
        attempt = held.attempt
        since = attempt.started_at if held.task is not None else attempt.claimed_at or attempt.started_at
        return since + timedelta(milliseconds=self._elapsed_ms(held))

    def hand_back_waiting(self, *, overdue: bool) -> None:
        """Hand back what has not begun: all of it, or what has waited for a place for too long."""
        now = self.clock.monotonic()
        for held in self._claimed.overdue(now) if overdue else self._claimed:
            self._claimed.drop(held)
            self.decide(held, Disposition.HANDED_BACK)
            self.hand_back(held)

    def stop(self, holds: Sequence[Hold]) -> None:
        """Stop what others have ended or taken over; a slot that it held meanwhile is given back once it is gone."""
        for hold in holds:
            if (held := self.running.get(hold)) is not None:
                self.decide(held, Disposition.STOPPED)
            elif (held := self._claimed.get(hold)) is not None:
                self._claimed.drop(held)
                self.decide(held, Disposition.STOPPED)
                self.ends.free(held)

    def fence(self) -> None:
        """Give up attempts whose lease is gone by this node's own reckoning: a successor may be running."""
        for held in list(self._without_end()):
            if self.is_fenced(held):
                self._claimed.drop(held)

    def _without_end(self) -> Iterator[HeldAttempt]:
        yield from self.running.values()
        yield from self._claimed

    def is_fenced(self, held: HeldAttempt) -> bool:
        """Give an attempt up if its lease is gone; answers whether it was given up now."""
        if held.lease_until > self.clock.monotonic() or not self.decide(held, Disposition.FENCED):
            return False
        execution_id, attempt = held.hold
        self.telemetry.warning("execution.fenced", execution_id=str(execution_id), attempt=attempt)
        self.telemetry.add(Metric.LEASE_LOSSES, seen="fenced")
        return True

    def decide(self, held: HeldAttempt, disposition: Disposition) -> bool:
        """Decide what becomes of an attempt; False if it was decided before."""
        is_first = held.end(disposition, self.clock.monotonic())
        self.decided.ring()
        return is_first

    def _elapsed_ms(self, held: HeldAttempt) -> int:
        return int((self.clock.monotonic() - held.started) * 1000)
